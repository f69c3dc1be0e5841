# SPDX-License-Identifier: Apache-2.0

"""All nodes get another Kubernetes while a workload answers."""

from __future__ import annotations

import time

from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional.nodes import base


class UpgradeTest(base.NodesCase):
    """A control plane node and two workers."""

    record_name = "nodes-upgrade"

    def test_kubelets_and_etcd_are_replaced_under_load(self) -> None:
        newer = self.template(image_id=base.NEWER)
        self.make(node_count=2)
        self.record(f"a cluster with {base.OLDER} is complete")
        client, api = self.serve(), self.ask_api()
        old = self.nodes()
        self.assertEqual({self.version_of(base.OLDER)}, versions(old))
        control_plane = self.control_plane_nodes()
        self.assertEqual(control_plane, self.etcd_members())
        client.take()
        api.take()

        began = time.monotonic()
        path = f"/clusters/{self.uuid}/actions/upgrade"
        body = {"cluster_template": newer, "max_batch_size": 1}
        self.magnum.call("POST", path, body)
        done = self.complete(2 * base.PATIENCE)
        self.record(
            f"upgraded to {base.NEWER} in {time.monotonic() - began:.0f} s"
        )
        served, answered = client.take(), api.take()
        self.record(f"requests to the workload: {served}")
        self.record(f"requests to the Kubernetes API: {answered}")

        wanted = self.version_of(base.NEWER)
        self.assertEqual(wanted, done["coe_version"])
        new = self.nodes()
        self.assertEqual({wanted}, versions(new))
        self.assertEqual(3, len(new))
        self.assertEqual(set(), old.keys() & new.keys())
        # The member of the old machine has left.
        self.assertEqual(self.control_plane_nodes(), self.etcd_members())
        self.assertEqual(set(), control_plane & self.etcd_members())
        self.until_health(self.uuid, "HEALTHY")
        self.assert_served(served)

    # Helpers

    def version_of(self, image: str) -> str:
        """Return the Kubernetes of an image."""
        return image.removeprefix("ubuntu-")


def versions(nodes: dict[str, view.Object]) -> set[str]:
    """Return the versions that kubelets report."""
    return {
        str(view.status_of(each)["nodeInfo"]["kubeletVersion"])
        for each in nodes.values()
    }
