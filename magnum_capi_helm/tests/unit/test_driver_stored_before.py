# SPDX-License-Identifier: Apache-2.0

"""What commit 88455e2 stored is read, and goes on as it was meant to."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import gzip
import json
import pathlib
from typing import Any

from magnum import objects
from magnum.conductor.handlers.common import cert_manager

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
from magnum_capi_helm.tests.unit.lifecycle import upgrading

_FOLDER = pathlib.Path(data.__file__).parent / "golden"
_KINDS = {
    kind.name: kind for kind in (kinds.SECRET, kinds.LEASE, kinds.NAMESPACE)
}
_STAMP = "magnum.openstack.org/intent"


def _encoded(form: Mapping[str, Any]) -> str:
    """Return an entry of a Secret's data as Kubernetes has it."""
    [(how, content)] = form.items()
    if how == "base64":
        return str(content)
    text = content if how == "text" else json.dumps(content, sort_keys=True)
    raw = text.encode()
    if how == "gzip":
        raw = gzip.compress(raw, mtime=0)
    return base64.b64encode(raw).decode()


class StoredTestCase(base.FlowTestCase):
    """A test loads one file of ``tests/data/golden``."""

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """Images of several versions of Kubernetes."""
        return upgrading.UpgradeTestCase.catalogue(self, session)

    def load(self, name: str, on: plane.Plane | None = None) -> None:
        """Write the rows and objects of a file, and let helm deploy it.

        :param on: the management cluster; by default the only one
        """
        on = on or self.plane
        text = (_FOLDER / f"{name}.json").read_text()
        self.stored = json.loads(text)
        identity = _identity(self.stored)
        if identity:
            text = text.replace(identity, on.management.identity())
            self.stored = json.loads(text)
        self._write_rows()
        self.release = self.row().stack_id
        self.openstack.credentials.update(self.stored["keystone"])
        self.openstack.server_groups.groups.update(
            self.stored.get("server_groups", {})
        )
        self._write_objects(on)
        self.capi = on.cluster_api(base.NAMESPACE, self.release)
        if self.stored["cluster_object"]:
            self._deploy(on)
        on.management.requests.clear()
        on.helm.upgrades.clear()

    def _write_rows(self) -> None:
        for uuid, fields in self.stored.get("templates", {}).items():
            if uuid != self.stored["template"]["uuid"]:
                self.template(**fields)
        cluster = self.cluster(self.stored["template"])
        for key, value in self.stored["cluster"].items():
            setattr(cluster, key, value)
        cluster.create()
        for fields in self.stored["nodegroups"]:
            group = objects.NodeGroup(
                self.context,
                cluster_id=self.uuid,
                project_id=cluster.project_id,
                **fields,
            )
            group.create()
        cert_manager.generate_certificates_to_cluster(
            cluster, context=self.context
        )
        cluster.save()

    def _write_objects(self, on: plane.Plane) -> None:
        on.server.create(
            kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
        )
        for stored in self.stored["stored"]:
            kind = _KINDS[stored["kind"]]
            meta = {
                key: value
                for key, value in stored["metadata"].items()
                if key != "uid"
            }
            obj = {**stored, "metadata": meta}
            obj.pop("management_cluster", None)
            if kind is kinds.NAMESPACE:
                on.server.patch(kind, "", meta["name"], {"metadata": meta})
                continue
            if "data" in obj:
                obj["data"] = {
                    key: _encoded(form) for key, form in obj["data"].items()
                }
            on.server.create(kind, obj)

    def _deploy(self, on: plane.Plane) -> None:
        annotations = self.stored["cluster_object"]["annotations"]
        where = self.stored["deployed"]
        values = json.loads(
            json.dumps(self.values(where) if isinstance(where, str) else where)
        )
        values.setdefault("clusterAnnotations", {})[_STAMP] = annotations[
            _STAMP
        ]
        chart = self.head()["chart"]
        if where == "before-values.json.gz":
            chart = self.data()["before.json"]["json"]["chart"]
        on.helm.upgrade(
            self.release,
            base.NAMESPACE,
            f"/store/{chart['name']}-{chart['version']}.tgz",
            values,
        )
        self.capi.settle()

    # What the file says

    def data(self, name: str = "") -> dict[str, Any]:
        """Return the data of a Secret in the file.

        :param name: by default that with the desired state
        """
        name = name or f"{self.release}-intent"
        [secret] = [
            each
            for each in self.stored["stored"]
            if each["kind"] == "Secret" and each["metadata"]["name"] == name
        ]
        decoded: dict[str, Any] = secret["data"]
        return decoded

    def head(self) -> dict[str, Any]:
        """Return the desired state without its values."""
        head: dict[str, Any] = self.data()["intent.json"]["json"]
        return head

    def values(self, key: str = "values.json.gz") -> dict[str, Any]:
        """Return the values of the desired state."""
        values: dict[str, Any] = self.data()[key]["gzip"]
        return values


def _identity(stored: Mapping[str, Any]) -> str:
    """Return the UID that the control plane's row records."""
    for group in stored["nodegroups"]:
        if group["role"] == "master":
            return str((*group["stack_id"].split("@"), "")[1])
    return ""


def unmarked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without the driver's own marks."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    plain.pop("clusterAnnotations", None)
    return plain


def decoded(text: str) -> bytes:
    """Return an entry of a Secret's data as its writer had it."""
    raw = base64.b64decode(text)
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


#: Files in which nothing waits to be done.
QUIET = [
    "adopted",
    "complete",
    "delivered",
    "record_rewritten",
    "rotated",
    "upgraded",
]


class QuietTest(StoredTestCase):
    def check_a_poll_changes_nothing(self, name: str) -> None:
        self.load(name)
        rows = self.rows()
        self.poll()
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(rows, self.rows())
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, set(management.READS))

    def rows(self) -> list[Any]:
        groups = self.groups().values()
        return [
            (each.name, each.status, each.status_reason, each.stack_id)
            for each in (self.row(), *groups)
        ]

    def check_a_resize_keeps_the_rest(self, name: str) -> None:
        self.load(name)
        expected = self.values()
        for group in expected["nodeGroups"]:
            if group["name"] == "default-worker":
                group["machineCount"] = 5
        before = self.head()
        self.resize(5)
        self.assertEqual(
            unmarked(expected),
            unmarked(self.helm.upgrades[-1].values),
        )
        self.assertEqual(before["chart"], self.now("intent.json")["chart"])
        self.assert_updated()

    def now(self, key: str) -> Any:
        secret = self.live(kinds.SECRET, f"{self.release}-intent")
        return json.loads(decoded(secret["data"][key]))

    def check_a_deletion_leaves_nothing(self, name: str) -> None:
        self.load(name)
        self.vanish()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual({}, self.openstack.server_groups.groups)
        self.assertEqual([], self.server.names(kinds.LEASE))
        self.assertEqual([], self.server.names(kinds.SECRET))


def _add(check: str, name: str) -> None:

    def test(self: QuietTest) -> None:
        getattr(self, f"check_{check}")(name)

    setattr(QuietTest, f"test_{check}_{name}", test)


for _name in QUIET:
    for _check in (
        "a_poll_changes_nothing",
        "a_resize_keeps_the_rest",
        "a_deletion_leaves_nothing",
    ):
        _add(_check, _name)


class UnfinishedTest(StoredTestCase):
    def names(self) -> list[str]:
        return [each["name"] for each in self.node_groups()]

    def machines(self) -> set[tuple[str, str]]:
        values = self.helm.upgrades[-1].values
        return {
            (each["kubernetesVersion"], each["machineImageId"])
            for each in (values["controlPlane"], *values["nodeGroups"])
        }

    def test_the_lease_of_another_conductor_is_respected(self) -> None:
        self.load("working")
        self.poll()
        self.resize(4)
        self.assertEqual([], self.helm.upgrades)
        # It died: its Lease is not renewed any more.
        self.poll_after(31)
        self.assertEqual(4, self.replicas())
        self.assert_updated()

    def test_requests_that_wait_are_done(self) -> None:
        self.load("requests")
        self.poll()
        self.assertEqual(["default-worker", "old", "new"], self.names())
        counts = {
            each["name"]: each["machineCount"] for each in self.node_groups()
        }
        self.assertEqual({"default-worker": 4, "old": 1, "new": 2}, counts)
        self.assert_updated()
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())

    def test_an_interrupted_upgrade_is_finished(self) -> None:
        self.load("upgrade_interrupted")
        self.poll()
        self.assertEqual({("1.35.1", "i-2")}, self.machines())
        moves = self.data()["moves.json"]["json"]
        self.assertEqual(moves["template"], self.row().cluster_template_id)
        self.assert_updated()
        self.assertEqual("v1.35.1", self.row().coe_version)

    def test_a_failed_upgrade_can_be_taken_back(self) -> None:
        self.load("upgrade_failed")
        before = self.data()["before.json"]["json"]["moves"]
        self.template(uuid=before["template"])
        self.roll_back()
        self.assertEqual(
            self.values("before-values.json.gz"),
            unmarked(self.helm.upgrades[-1].values),
        )
        self.assert_updated()
        self.assertEqual(before["template"], self.row().cluster_template_id)

    def test_a_deletion_goes_on(self) -> None:
        self.load("deleting")
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone())
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_a_frozen_management_cluster_stays_frozen(self) -> None:
        self.load("frozen")
        self.assertIn("another disk", self.error_of(self.resize, 5))
        self.assertEqual([], self.helm.upgrades)

    def test_a_nodegroup_whose_deletion_waits_goes(self) -> None:
        self.load("deleted_group")
        self.poll()
        self.assertEqual(["default-worker"], self.names())
        self.capi.remove_group("old")
        self.settle()
        self.assertNotIn("old", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class SeveralTest(placing.LocationTestCase, StoredTestCase):
    def test_the_record_says_which_one_it_is_on(self) -> None:
        self.load("several", self.planes["b"])
        self.planes["a"].management.requests.clear()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)
        self.resize(5)
        self.assertEqual(1, len(self.planes["b"].helm.upgrades))
        # The other one is asked for its identity at most.
        asked = {each.kind for each in self.planes["a"].management.requests}
        self.assertLessEqual(asked, {"Namespace"})

    def test_a_cluster_accepted_as_gone_is_deleted(self) -> None:
        self.load("gone", self.planes["b"])
        self.poll()
        self.assertTrue(self.gone())
        self.assertFalse(self.there("b"))
