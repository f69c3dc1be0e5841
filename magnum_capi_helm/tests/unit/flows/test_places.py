# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Several management clusters: which one a cluster is on, and goes to."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock
import uuid

from magnum import objects
from magnum.common import exception

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm import runtime
from magnum_capi_helm.management import kinds
from magnum_capi_helm.planes import home_options
from magnum_capi_helm.planes import places
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.flows import base


class PlacesTestCase(base.FlowTestCase):
    """Two management clusters: a for zone az1, b for zone az2."""

    def setUp(self) -> None:
        super().setUp()
        self.configure("a", "b")
        for name, zone in (("a", "az1"), ("b", "az2")):
            self.option(name, "availability_zones", [zone])
        store = conf.CONF.capi_helm.chart_store
        self.start()
        self.planes = {
            home.name: plane.Plane(store, home)
            for home in runtime.configured()
        }
        self.restart()

    def option(self, name: str, option: str, value: Any) -> None:
        group = f"capi_helm_management_{name}"
        conf.CONF.register_opts(home_options.OPTIONS, group=group)
        conf.CONF.set_override(option, value, group)

    def configure(self, *names: str) -> None:
        """The operator's list."""
        conf.CONF.set_override("management_clusters", [*names], "capi_helm")
        for each in names:
            self.option(each, "kubeconfig_file", f"/kube/{each}")

    def start(self) -> None:
        """A process that knows nothing yet."""
        runtime.reset()
        self.addCleanup(runtime.reset)

    def restart(self, **planes: str) -> None:
        """The conductor starts again.

        :param planes: name in the configuration -> management cluster; as
            they were by default
        """
        self.start()
        for name, key in (planes or {"a": "a", "b": "b"}).items():
            self.planes[key].home = runtime.home_of(name)
            runtime.use(self.planes[key].runtime())

    def make(self, zone: str = "az2", **fields: Any) -> Any:
        labels = {"availability_zone": zone} if zone else {}
        return self.create(labels=labels, **fields)

    def settle(self, name: str = "b") -> None:
        """Cluster API of one of them makes what is wanted."""
        self.planes[name].cluster_api(base.NAMESPACE, base.RELEASE).settle()

    def made(self) -> None:
        """A complete cluster on b, known to the process."""
        self.make()
        self.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def recorded(self) -> str:
        """What the row of the control plane says."""
        return str(self.groups()["default-master"].stack_id)

    def overwrite(self) -> None:
        """Magnum's handler puts the bare release over the record."""
        master = self.groups()["default-master"]
        master.stack_id = base.RELEASE
        master.save()

    def there(self, name: str) -> bool:
        """Whether one of them has anything of the cluster."""
        server = self.planes[name].server
        return bool(
            server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
            or server.get(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        )

    def stop(self, name: str) -> None:
        """No answer from one of them."""
        self.planes[name].management.fail(
            exceptions.ManagementUnreachable(
                f"the management cluster {name} does not answer"
            )
        )

    def forget_silence(self) -> None:
        """The time for which one that was silent is not asked is over."""
        runtime.places().clock = lambda: time.monotonic() + 10

    def requests(self, name: str) -> int:
        return len(self.planes[name].management.requests)


class CreateTest(PlacesTestCase):
    def test_a_cluster_goes_where_its_zone_is(self) -> None:
        for zone, name, other in (("az1", "a", "b"), ("az2", "b", "a")):
            self.uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, zone))
            release = names.release("web", self.uuid)
            self.make(zone)
            has, has_not = (self.planes[each].server for each in (name, other))
            where = (kinds.CLUSTER, base.NAMESPACE, release)
            self.assertIsNotNone(has.get(*where))
            self.assertIsNone(has_not.get(*where))

    def test_a_zone_of_none_is_refused_with_nothing_written(self) -> None:
        self.assertRaises(exception.InvalidParameterValue, self.make, "az3")
        row = self.row()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn(
            "in the availability zone az3: a takes those whose label "
            "availability_zone is az1; b",
            row.status_reason,
        )
        self.assertIsNone(row.stack_id)

    def test_a_template_may_name_it(self) -> None:
        self.option("b", "availability_zones", [])
        self.restart()
        template = {"labels": {"capi_management_cluster": "b"}}
        self.create(template)
        self.assertTrue(self.there("b"))

    def test_of_those_that_take_it_one_that_answers_is_taken(self) -> None:
        self.option("a", "availability_zones", ["az2"])
        for silent, other in (("a", "b"), ("b", "a")):
            self.uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, silent))
            self.restart()
            self.stop(silent)
            row = self.make()
            self.assertEqual("CREATE_IN_PROGRESS", row.status)
            release = names.release("web", self.uuid)
            found = self.planes[other].server.get(
                kinds.CLUSTER, base.NAMESPACE, release
            )
            self.assertIsNotNone(found)
            self.planes[silent].management.recover()

    def test_where_only_one_takes_it_that_one_has_to_answer(self) -> None:
        self.stop("b")
        self.assertRaises(exception.MagnumException, self.make)
        row = self.row()
        self.assertEqual("CREATE_FAILED", row.status)
        self.assertIn("management cluster b does not", row.status_reason)
        self.assertIsNone(row.stack_id)

    def test_the_record_names_it_from_the_claim_on(self) -> None:
        there = self.planes["b"].management
        there.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.make)
        there.recover()
        self.assertEqual(
            f"{base.RELEASE}@{there.identity()}@b", self.recorded()
        )

    def test_an_interrupted_create_goes_on_where_it_began(self) -> None:
        there = self.planes["b"].management
        there.kill_before("list", kinds.SECRET)
        self.assertRaises(management.Killed, self.make)
        there.recover()
        expired = {"spec": {"holderIdentity": ""}}
        self.planes["b"].server.patch(
            kinds.LEASE, base.NAMESPACE, base.RELEASE, expired
        )
        # By now it would go elsewhere.
        self.option("a", "availability_zones", [])
        self.option("b", "weight", 0)
        for lost in (False, True):
            if lost:
                self.overwrite()
            self.restart()
            self.poll()
            self.assertFalse(self.there("a"))
        self.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_one_that_was_never_claimed_leaves_no_lease(self) -> None:
        there = self.planes["b"].management
        there.kill_before("apply", kinds.SECRET)
        self.assertRaises(management.Killed, self.make)
        there.recover()
        row = self.row()
        row.stack_id = None
        row.save()
        self.delete()
        self.poll()
        self.assertFalse(self.there("b"))


class WindowTest(PlacesTestCase):
    """Magnum has overwritten the record, and there was no poll yet."""

    def setUp(self) -> None:
        super().setUp()
        self.make()
        self.assertEqual(base.RELEASE, self.recorded())

    def test_the_first_poll_finds_it_and_records_it(self) -> None:
        self.restart()
        self.poll()
        here = self.planes["b"].management.identity()
        self.assertEqual(f"{base.RELEASE}@{here}@b", self.recorded())

    def test_it_is_found_while_another_is_down(self) -> None:
        self.stop("a")
        self.settle()
        self.restart()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def test_while_it_is_down_it_is_waited_for(self) -> None:
        self.stop("b")
        self.restart()
        self.poll()
        row = self.row()
        self.assertEqual("CREATE_IN_PROGRESS", row.status)
        self.assertIn("still to answer: b: ", row.status_reason)
        self.assertFalse(self.there("a"))
        self.planes["b"].management.recover()
        self.forget_silence()
        self.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)

    def test_a_deletion_waits_for_it(self) -> None:
        self.stop("b")
        self.restart()
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn(
            "deletion waits: the cluster is on none", self.row().status_reason
        )
        self.assertEqual(1, len(self.openstack.credentials))

    def test_one_that_is_nowhere_is_not_gone(self) -> None:
        for kind in (kinds.CLUSTER, kinds.LEASE):
            self.planes["b"].server.delete(kind, base.NAMESPACE, base.RELEASE)
            self.planes["b"].server.release(kind, base.NAMESPACE, base.RELEASE)
        for each in self.planes["b"].server.list(kinds.SECRET, None):
            self.planes["b"].server.delete(
                kinds.SECRET, base.NAMESPACE, each["metadata"]["name"]
            )
        self.delete()
        self.poll()
        self.assertIn(
            "none of the management clusters a, b has the Cluster or the "
            f"Lease {base.RELEASE}",
            self.row().status_reason,
        )


class LifeTest(PlacesTestCase):
    """A complete cluster on b."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def test_every_call_goes_there(self) -> None:
        before = self.requests("a")
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.add("extra")
        self.settle()
        self.poll()
        self.change("extra", max_node_count=5)
        self.poll()
        self.remove("extra")
        self.settle()
        self.poll()
        self.rotate()
        self.poll()
        self.delete()
        self.poll()
        self.planes["b"].cluster_api(base.NAMESPACE, base.RELEASE).finish()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
        self.assertEqual(before, self.requests("a"))

    def test_a_known_one_costs_a_poll_nothing(self) -> None:
        self.health_poll()
        row = self.row()
        before = self.requests("a"), self.requests("b")
        with mock.patch.object(objects.NodeGroup, "list", self.fail):
            self.assertEqual("b", places.of(row).home.name)
        self.assertEqual(before, (self.requests("a"), self.requests("b")))

    def test_it_stays_whatever_the_configuration_says_now(self) -> None:
        self.option("b", "availability_zones", ["az9"])
        self.option("b", "weight", 0)
        self.restart()
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_it_is_found_under_another_name(self) -> None:
        self.configure("a", "west")
        self.restart(a="a", west="b")
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.assertTrue(self.recorded().endswith("@west"))
        self.stop("b")
        self.restart(a="a", west="b")
        self.assertIn(
            "does not answer", str(self.health_poll().health_status_reason)
        )

    def test_it_is_found_when_kubeconfigs_changed_places(self) -> None:
        self.restart(a="b", b="a")
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertFalse(self.there("a"))

    def test_it_is_found_again_where_another_one_was(self) -> None:
        row = self.row()
        another = plane.Plane(
            conf.CONF.capi_helm.chart_store, self.planes["b"].home
        )
        self.restart()
        runtime.use(another.runtime())
        self.assertRaises(places.UnknownPlaceError, places.of, row)
        # No restart: behind the same address is the right one again.
        runtime.use(self.planes["b"].runtime())
        self.assertEqual("b", places.of(row).home.name)

    def test_one_that_is_deleted_is_forgotten(self) -> None:
        self.health_poll()
        self.assertEqual("b", runtime.places().place(self.uuid))
        self.delete()
        self.poll()
        self.planes["b"].cluster_api(base.NAMESPACE, base.RELEASE).finish()
        self.poll()
        self.assertIsNone(runtime.places().place(self.uuid))

    def test_while_it_is_down_the_last_state_stays_and_health_says_why(
        self,
    ) -> None:
        self.stop("b")
        for restarted in (False, True):
            if restarted:
                self.restart()
            row = self.health_poll()
            self.assertEqual("CREATE_COMPLETE", row.status)
            self.assertEqual("UNKNOWN", row.health_status)
            self.assertIn(
                "the management cluster b does not answer",
                row.health_status_reason["api"],
            )
        self.planes["b"].management.recover()
        self.forget_silence()
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_while_it_is_down_what_is_in_progress_says_why(self) -> None:
        self.resize(3)
        self.stop("b")
        for restarted in (False, True):
            if restarted:
                self.restart()
            self.poll()
            self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
            self.assertIn(
                "the management cluster b does not answer",
                self.row().status_reason,
            )
        self.planes["b"].management.recover()
        self.forget_silence()
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIsNone(self.row().status_reason)

    def test_a_rebuilt_one_is_none(self) -> None:
        store = conf.CONF.capi_helm.chart_store
        home = self.planes["b"].home
        self.planes["b"] = plane.Plane(store, home)
        runtime.use(self.planes["b"].runtime())
        self.delete()
        self.poll()
        self.assertEqual({"DELETE_IN_PROGRESS"}, self.statuses())
        self.assertIn("the operator has to", self.row().status_reason)
        self.restart()
        self.poll()
        self.assertIn(
            "none of the management clusters a, b is the one",
            self.row().status_reason,
        )
        self.assertEqual(1, len(self.openstack.credentials))


class SwitchTest(base.FlowTestCase):
    """From one management cluster without a name to several."""

    several = PlacesTestCase.configure
    option = PlacesTestCase.option

    def start(self, down: bool = False) -> plane.Plane:
        """The old one is called old, and there is a new one."""
        self.several("new", "old")
        runtime.reset()
        self.addCleanup(runtime.reset)
        new = plane.Plane(
            conf.CONF.capi_helm.chart_store, runtime.home_of("new")
        )
        self.plane.home = runtime.home_of("old")
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

    def test_those_without_a_record_are_where_their_cluster_is(self) -> None:
        self.complete()
        master = self.groups()["default-master"]
        master.stack_id = base.RELEASE
        master.save()
        self.start()
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        master = self.groups()["default-master"]
        self.assertTrue(master.stack_id.endswith("@old"), master.stack_id)

    def test_and_back_to_one_without_a_name(self) -> None:
        self.complete()
        self.start()
        self.health_poll()
        conf.CONF.clear_override("management_clusters", "capi_helm")
        runtime.reset()
        self.plane.home = runtime.home_of("")
        runtime.use(self.plane.runtime())
        self.assertEqual("HEALTHY", self.health_poll().health_status)
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_what_1_4_0_left_nowhere_can_be_deleted(self) -> None:
        self.saved(stack_id="web-xq3k7w2m5n8p", status="CREATE_FAILED")
        new = self.start()
        for each in (new, self.plane):
            each.server.create(
                kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
            )
        self.delete()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)
