# SPDX-License-Identifier: Apache-2.0

"""Users read which need of a new server is gone.

CAPO 0.14 tells of flavors in its log alone: the driver asks OpenStack a minute
later. Nova tells of images and server groups, because charts give their IDs.
"""

from __future__ import annotations

from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional.cloud import fault_case

#: Seconds after which the driver asks.
_MUTE = 60


class NeedsTest(fault_case.OneCluster):
    """A cluster that grows again and again."""

    project = "demo"

    def test_a_growing_cluster_meets_each_need_that_is_gone(self) -> None:
        self.off("hidden-image", "flavor")
        template = self.template(
            image_id=faults.HIDDEN_IMAGE, flavor_id=faults.FLAVOR
        )
        # A group that lives is not deleted.
        self.addCleanup(self.off, "hidden-image", "flavor")
        labels = {"server_group_policies": "soft-anti-affinity"}
        self.make(template, labels=labels, node_count=0)
        self.complete("CREATE")
        self._image()
        self._flavor()
        self._server_group()

    def _image(self) -> None:
        owner = f"{self.name}-default-worker"
        self.on("hidden-image")
        self.ask(self.uuid, 1)
        watch = self.watch(
            "the image is gone",
            self.refused(owner, "find requested image"),
            "image does not exist",
        )
        self.until_named(watch)
        self.off("hidden-image")
        self.replace(owner)
        self.finish(watch, how=f", with {fault_case.AGAIN}")
        self.complete("UPDATE")
        self.resize(self.uuid, 0)

    def _flavor(self) -> None:
        self.on("flavor")
        owner = f"{self.name}-default-worker"
        said = self.mute(owner, "[Ff]lavor")
        self.ask(self.uuid, 1)
        watch = self.watch(
            "the flavor is gone",
            said,
            r"flavor \S+ does not exist",
            silent=_MUTE,
        )
        self.until_named(watch, seconds=180)
        self.off("flavor")
        self.look_again(kinds.OPENSTACK_SERVER, self.name)
        self.finish(watch)
        self.complete("UPDATE")
        self.resize(self.uuid, 0)

    def _server_group(self) -> None:
        """Delete the server group: none can have its ID again."""
        compute = self.mine.compute
        for each in compute.server_groups():
            if self.name in each.name and "worker" in each.name:
                compute.delete_server_group(each)
        self.ask(self.uuid, 1)
        watch = self.watch(
            "the server group is gone",
            self.refused(f"{self.name}-default-worker", "Instance group"),
            r"server group \S+ does not exist",
        )
        self.until_named(watch)
        self.ask(self.uuid, 0)
        self.finish(watch, how=", after a resize back")
        self.complete("UPDATE")
