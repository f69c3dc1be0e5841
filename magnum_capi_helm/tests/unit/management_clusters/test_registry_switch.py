# SPDX-License-Identifier: Apache-2.0

"""From one management cluster without a name to several, and back."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


class SwitchTest(base.FlowTestCase):
    """From one management cluster without a name to several."""

    several = placing.LocationTestCase.configure

    def start(self, down: bool = False) -> plane.Plane:
        """The old one is called old, and there is a new one."""
        self.several("new", "old")
        runtime.reset()
        self.addCleanup(runtime.reset)
        new = plane.Plane(
            conf.CONF.capi_helm.chart_store, runtime.settings_of("new")
        )
        self.plane.home = runtime.settings_of("old")
        runtime.use(new.runtime())
        runtime.use(self.plane.runtime())
        return new

    def test_clusters_keep_their_management_cluster(self) -> None:
        self.complete()
        master = self.groups()["default-master"]
        self.assertNotIn("old", master.stack_id)
        self.start()
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        master = self.groups()["default-master"]
        self.assertTrue(master.stack_id.endswith("@old"), master.stack_id)
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_clusters_without_a_record_are_found_by_their_object(self) -> None:
        self.complete()
        master = self.groups()["default-master"]
        master.stack_id = base.RELEASE
        master.save()
        self.start()
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        master = self.groups()["default-master"]
        self.assertTrue(master.stack_id.endswith("@old"), master.stack_id)

    def test_clusters_go_back_to_one_without_a_name(self) -> None:
        self.complete()
        self.start()
        self.health_poll()
        conf.CONF.clear_override("management_clusters", "capi_helm")
        runtime.reset()
        self.plane.home = runtime.settings_of("")
        runtime.use(self.plane.runtime())
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_cluster_that_1_4_0_left_nowhere_can_be_deleted(self) -> None:
        self.saved(stack_id="web-xq3k7w2m5n8p", status="CREATE_FAILED")
        new = self.start()
        for each in (new, self.plane):
            each.server.create(
                kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
            )
        self.delete()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
