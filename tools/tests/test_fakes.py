# SPDX-License-Identifier: Apache-2.0

"""The fakes have the methods of what they stand for."""

from __future__ import annotations

import inspect
from typing import Any

from oslotest import base

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management

SPACE = "magnum-p"


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults."""
    return [
        (each.name, each.kind, each.default)
        for each in inspect.signature(function).parameters.values()
    ]


def public(cls: type) -> dict[str, Any]:
    """Public methods of a class."""
    found = inspect.getmembers(cls, inspect.isfunction)
    return {name: each for name, each in found if not name.startswith("_")}


class SignatureTest(base.BaseTestCase):
    """A method that the real one gets, the fake must get too."""

    def test_public_methods_are_the_same(self) -> None:
        for real, fake in (
            (client.Client, management.FakeManagement),
            (helm_client.Helm, fake_helm.FakeHelm),
            (catalogue.Cloud, fake_cloud.FakeCloud),
        ):
            theirs = public(fake)
            for name, method in public(real).items():
                self.assertIn(name, theirs, str(real))
                self.assertEqual(
                    parameters(method), parameters(theirs[name]), name
                )


class ApiServerTest(base.BaseTestCase):
    """The API server's rules."""

    def setUp(self) -> None:
        super().setUp()
        self.server = api_server.ApiServer()
        self.server.create(kinds.NAMESPACE, {"metadata": {"name": SPACE}})

    def make(self, name: str = "a", **body: Any) -> api_server.Object:
        meta = {"name": name, "namespace": SPACE, **body.pop("meta", {})}
        return {"metadata": meta, **body}

    def test_a_name_is_taken_once(self) -> None:
        self.server.create(kinds.SECRET, self.make())
        self.assertRaises(
            errors.Conflict,
            self.server.create,
            kinds.SECRET,
            self.make(),
        )

    def test_a_namespace_must_exist(self) -> None:
        lost = {"metadata": {"name": "a", "namespace": "nowhere"}}
        self.assertRaises(
            errors.ManagementError, self.server.create, kinds.SECRET, lost
        )

    def test_a_stale_object_is_a_conflict(self) -> None:
        first = self.server.create(kinds.LEASE, self.make(spec={"n": 1}))
        self.server.replace(kinds.LEASE, {**first, "spec": {"n": 2}})
        self.assertRaises(
            errors.Conflict,
            self.server.replace,
            kinds.LEASE,
            {**first, "spec": {"n": 3}},
        )

    def test_only_the_spec_moves_the_generation(self) -> None:
        self.server.create(kinds.CLUSTER, self.make(spec={"n": 1}))
        self.server.set_status(kinds.CLUSTER, SPACE, "a", {"ready": True})
        found = self.server.get(kinds.CLUSTER, SPACE, "a")
        assert found is not None
        self.assertEqual(1, found["metadata"]["generation"])
        changed = self.server.patch(
            kinds.CLUSTER, SPACE, "a", {"spec": {"n": 2}}
        )
        assert changed is not None
        self.assertEqual(2, changed["metadata"]["generation"])

    def test_apply_removes_what_it_leaves_out_and_nothing_else(self) -> None:
        mine = {"a": "1", "b": "2"}
        self.server.apply(kinds.SECRET, self.make(data=mine))
        self.server.patch(kinds.SECRET, SPACE, "a", {"data": {"c": "3"}})
        found = self.server.apply(kinds.SECRET, self.make(data={"a": "1"}))
        self.assertEqual({"a": "1", "c": "3"}, found["data"])

    def test_finalizers_keep_an_object_until_they_go(self) -> None:
        self.server.create(
            kinds.CLUSTER, self.make(meta={"finalizers": ["x"]})
        )
        self.server.delete(kinds.CLUSTER, SPACE, "a")
        found = self.server.get(kinds.CLUSTER, SPACE, "a")
        assert found is not None
        self.assertIn("deletionTimestamp", found["metadata"])
        self.server.release(kinds.CLUSTER, SPACE, "a")
        self.assertIsNone(self.server.get(kinds.CLUSTER, SPACE, "a"))

    def test_owned_objects_go_with_their_owner(self) -> None:
        owner = self.server.create(kinds.CLUSTER, self.make())
        reference = {"uid": owner["metadata"]["uid"]}
        self.server.create(
            kinds.SECRET, self.make(meta={"ownerReferences": [reference]})
        )
        self.server.delete(kinds.CLUSTER, SPACE, "a")
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_lists_select_by_labels(self) -> None:
        for name, labels in (("a", {"x": "1", "y": "2"}), ("b", {"x": "1"})):
            self.server.create(
                kinds.SECRET, self.make(name, meta={"labels": labels})
            )
        found = self.server.list(kinds.SECRET, None, "x=1,y=2")
        self.assertEqual(["a"], [each["metadata"]["name"] for each in found])


class FakeHelmTest(base.BaseTestCase):
    """What helm leaves behind."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        self.server = api_server.ApiServer()
        self.server.create(kinds.NAMESPACE, {"metadata": {"name": SPACE}})
        self.client = management.FakeManagement(self.server)
        self.helm = fake_helm.FakeHelm(self.client)

    def upgrade(self, count: int) -> None:
        group = {"name": "w", "machineFlavor": "f", "machineCount": count}
        values = {
            "kubernetesVersion": "1.34.2",
            "controlPlane": {"machineFlavor": "f", "machineCount": 1},
            "nodeGroups": [group],
        }
        self.helm.upgrade(
            "r", SPACE, "/s/openstack-cluster-0.27.0.tgz", values
        )

    def test_the_driver_reads_its_records(self) -> None:
        self.upgrade(1)
        self.upgrade(2)
        found: Any = self.client
        history = helm_records.revisions(found, SPACE, "r")
        self.assertEqual(
            [(1, "superseded"), (2, "deployed")],
            [(each.version, each.status) for each in history],
        )
        whole = helm_records.read(found, SPACE, "r", 2)
        assert whole is not None
        self.assertEqual("0.27.0", whole.chart_version)
        self.assertEqual(2, whole.values["nodeGroups"][0]["machineCount"])
        self.assertIn("r-ccm-openstack", whole.names(kinds.HELM_RELEASE))

    def test_helm_does_not_compare_live_objects(self) -> None:
        self.upgrade(1)
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT, SPACE, "r-w", {"spec": {"replicas": 9}}
        )
        self.upgrade(1)
        found = self.server.get(kinds.MACHINE_DEPLOYMENT, SPACE, "r-w")
        assert found is not None
        self.assertEqual(9, found["spec"]["replicas"])

    def test_ten_revisions_are_kept(self) -> None:
        for count in range(12):
            self.upgrade(count)
        self.assertEqual(10, len(self.server.names(kinds.SECRET)))

    def test_a_pending_revision_is_busy(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.KILLED]
        self.assertRaises(management.Killed, self.upgrade, 1)
        self.client.recover()
        self.assertRaises(errors.HelmBusy, self.upgrade, 1)
