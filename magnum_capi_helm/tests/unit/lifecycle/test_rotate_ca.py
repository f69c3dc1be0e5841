# SPDX-License-Identifier: Apache-2.0

"""``coe ca rotate``: six steps, each of which any conductor resumes."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import functools
import time
from typing import Any
from unittest import mock

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
import fixtures
from magnum import objects
from magnum.common.x509 import operations
from magnum.conductor.handlers import ca_conductor
from magnum.conductor.handlers.common import cert_manager

from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.status import replacement
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import conductor

#: Trusted and signing CAs of the Secrets, and machines that are replaced.
_STEPS = (
    ("old new", "old", "control-plane"),
    ("old new", "old", "default-worker"),
    ("new old", "new", "control-plane"),
    ("new old", "new", "default-worker"),
    ("new", "new", "control-plane"),
    ("new", "new", "default-worker"),
)

#: Writes, before each of which a conductor dies once in each step.
_WRITES = (
    ("patch", kinds.SECRET, "-ca"),
    ("patch", kinds.SECRET, "-sa"),
    ("patch", kinds.SECRET, "-intent"),
    ("delete", kinds.SECRET, "-kubeconfig"),
    ("patch", kinds.DEPLOYMENT, "-autoscaler"),
    ("patch", kinds.CONTROL_PLANE, "-control-plane"),
    ("patch", kinds.MACHINE_DEPLOYMENT, "-default-worker"),
)
_CAS = "patch ca, patch sa"
_FORGET = f"{_CAS}, patch intent, delete kubeconfig, patch control-plane"
#: The writes that were met, by the step that the row showed before the poll:
#: a poll that ends a step begins the next one.
_KILLED = {
    "": "patch ca",
    "1": f"{_CAS}, patch intent, patch control-plane",
    "2": "patch intent, patch default-worker, patch ca",
    "3": f"{_FORGET}, patch autoscaler",
    "4": "patch intent, patch default-worker, patch ca, patch autoscaler",
    "5": _FORGET,
    "6": "patch intent, patch default-worker",
}

#: The key of all that is new: making keys takes most of a test's time.
_new_key = functools.lru_cache(rsa.generate_private_key)
_REAL = {
    name: getattr(operations, name)
    for name in ("generate_ca_certificate", "generate_client_certificate")
}


@functools.lru_cache
def _generated(name: str, number: int, *args: Any, **options: Any) -> Any:
    """Certificates of one rotation; those of the next one are newer."""
    later = _now() + datetime.timedelta(hours=number)
    clock = mock.Mock(timedelta=datetime.timedelta)
    clock.datetime.today.return_value = later.replace(tzinfo=None)
    with mock.patch.object(operations, "datetime", clock):
        return _REAL[name](*args, **options)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


class RotationTestCase(base.NodegroupTestCase):
    """A cluster that is complete; its rotation makes other keys."""

    def setUp(self) -> None:
        super().setUp()
        self.before = {each: self.pair(each) for each in ("ca", "proxy", "sa")}
        self.etcd = self.pair("etcd")
        self.references = conductor.references(self.row())
        self.kubeconfig()
        self.rotations = 0
        for name in _REAL:
            self.useFixture(
                fixtures.MockPatchObject(
                    operations, name, functools.partial(self.generated, name)
                )
            )
        self.useFixture(
            fixtures.MockPatchObject(rsa, "generate_private_key", _new_key)
        )

    def generated(self, name: str, *args: Any, **options: Any) -> Any:
        """Certificates of this rotation."""
        return _generated(name, self.rotations, *args, **options)

    def pair(self, purpose: str) -> tuple[str, str]:
        """Certificates, or public keys, and the key of a Secret."""
        data = self.live(kinds.SECRET, f"{base.RELEASE}-{purpose}")["data"]
        crt, key = (
            base64.b64decode(data[each]).decode().strip()
            for each in ("tls.crt", "tls.key")
        )
        return crt, key

    def first(self, purpose: str = "ca") -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.pair(purpose)[0].encode())

    def kubeconfig(self) -> str:
        """Cluster API makes it if there is none; its UID."""
        name = names.kubeconfig(base.RELEASE)
        meta = {"name": name, "namespace": base.NAMESPACE}
        live = self.server.get(kinds.SECRET, base.NAMESPACE, name)
        live = live or self.server.create(kinds.SECRET, {"metadata": meta})
        return str(live["metadata"]["uid"])

    def rotate_ca(self) -> None:
        """``coe ca rotate``, through Magnum's handler."""
        self.rotations += 1
        ca_conductor.Handler().rotate_ca_certificate(self.context, self.row())

    def tick(self) -> list[str]:
        """A poll, then Cluster API; the groups that it replaced."""
        self.poll()
        self.kubeconfig()
        return [
            each.removeprefix(f"{base.RELEASE}-") for each in self.capi.roll()
        ]

    def until_complete(self, ticks: int = 60) -> list[str]:
        """Groups in the order in which they were replaced."""
        rolled: list[str] = []
        for _ in range(ticks):
            if self.row().status != "UPDATE_IN_PROGRESS":
                break
            rolled += self.tick()
        return rolled

    def trusted(self, purpose: str = "ca") -> str:
        """Which of old and new are trusted, in this order."""
        crt, _ = self.pair(purpose)
        old = self.before[purpose][0]
        place = crt.find(old)
        if place < 0:
            return "new"
        if crt == old:
            return "old"
        return "old new" if place == 0 else "new old"

    def signer(self, purpose: str = "ca") -> str:
        same = self.pair(purpose)[1] == self.before[purpose][1]
        return "old" if same else "new"

    def shown(self) -> bytes:
        shown = cert_manager.get_cluster_ca_certificate(
            self.row(), context=self.context
        ).get_certificate()
        return shown.encode() if isinstance(shown, str) else bytes(shown)

    def certificate(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.shown())

    def rotation(self) -> ca_rotation.Rotation:
        data = self.live(kinds.SECRET, base.INTENT)["data"]
        rotation = ca_rotation.Rotation.from_secret(data)
        assert rotation is not None
        return rotation

    def change_stored(self, **fields: Any) -> None:
        """The rotation as it would be at another time."""
        changed = dataclasses.replace(self.rotation(), **fields)
        change = {"data": changed.to_secret()}
        self.edit(kinds.SECRET, base.INTENT, change)

    def control_plane(self) -> dict[str, Any]:
        """What helm was last told of machines of the control plane."""
        told = self.helm.upgrades[-1].values["controlPlane"]
        spec: dict[str, Any] = told["kubeadmConfigSpec"]
        return spec

    def bridge(self) -> x509.Certificate:
        """The bridge of new machines of the control plane."""
        spec = self.control_plane()
        [bridge] = [e for e in spec["files"] if "bridge" in e["path"]]
        return x509.load_pem_x509_certificate(bridge["content"].encode())

    def assert_rotated(self) -> None:
        """The rotation ends, and nothing is left of it."""
        self.until_complete()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(("new", "new"), (self.trusted(), self.signer()))
        used = set(conductor.references(self.row()).values())
        self.assertEqual(used, self.stored())

    def stored(self) -> set[str]:
        """References of all certificates in Magnum's store."""
        return {each.uuid for each in objects.X509KeyPair.list(self.admin)}


class RotationTest(RotationTestCase):
    def test_each_step_has_its_cas_and_replaces_its_machines(self) -> None:
        count, uids, steps = len(self.stored()), [self.kubeconfig()], []
        self.rotate_ca()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        while self.row().status == "UPDATE_IN_PROGRESS":
            # Magnum shows the certificate of the key that signs.
            self.assertEqual(self.first(), self.certificate())
            reason = self.why()
            for group in self.tick():
                steps.append((self.trusted(), self.signer(), group))
                self.assertEqual(self.trusted(), self.trusted("proxy"))
                self.assertEqual(self.trusted(), self.trusted("sa"))
                self.assertEqual(self.signer(), self.signer("sa"))
                number = f"CA rotation, step {len(steps)} of 6: "
                self.assertTrue(reason.startswith(number), reason)
            for purpose in ("ca", "proxy"):
                # kubeadm and Cluster API sign with both.
                key = serialization.load_pem_private_key(
                    self.pair(purpose)[1].encode(), None
                )
                first = self.first(purpose)
                self.assertEqual(first.public_key(), key.public_key())
            if self.kubeconfig() != uids[-1]:
                uids.append(self.kubeconfig())
                self.assertEqual("new", self.signer())
        self.assertEqual(list(_STEPS), steps)
        self.assertEqual(("UPDATE_COMPLETE", None), self.state())
        self.assertEqual(self.first(), self.certificate())
        self.assertEqual(3, len(uids))
        self.assertEqual(self.etcd, self.pair("etcd"))
        self.assertNotIn(ca_rotation.Rotation.KEY, self.intent_keys())
        now = conductor.references(self.row())
        self.assertEqual(set(now.values()), self.stored())
        self.assertEqual(count, len(self.stored()))
        kept = [e for e in now if now[e] == self.references[e]]
        self.assertEqual(["etcd_ca_cert_ref"], kept)

    def test_a_deletion_takes_all_certificates_along(self) -> None:
        """It reads no desired state, be it of a newer version."""
        self.rotate_ca()
        for _ in range(6):
            self.tick()
        head = {"data": {"intent.json": encoding.plain({"format": "99"})}}
        self.edit(kinds.SECRET, base.INTENT, head)
        self.vanish()
        self.assertTrue(self.gone())
        self.assertEqual(set(), self.stored())

    def test_the_machines_get_a_signer_and_a_bridge(self) -> None:
        self.rotate_ca()
        self.until_complete()
        manager = self.control_plane()["clusterConfiguration"][
            "controllerManager"
        ]
        self.assertEqual(
            "/etc/kubernetes/pki/ca-signer.crt",
            manager["extraArgs"]["cluster-signing-cert-file"],
        )
        crossed, new = self.bridge(), self.first()
        old = x509.load_pem_x509_certificate(self.before["ca"][0].encode())
        self.assertEqual(old.public_key(), crossed.public_key())
        crossed.verify_directly_issued_by(new)
        basic = new.extensions.get_extension_for_class(x509.BasicConstraints)
        self.assertIsNone(basic.value.path_length)
        usage = crossed.extensions.get_extension_for_class(
            x509.ExtendedKeyUsage
        )
        self.assertEqual([x509.OID_SERVER_AUTH], list(usage.value))

    def test_commands_of_an_earlier_version_are_replaced(self) -> None:
        before = "sed 1q ca.crt > /etc/kubernetes/pki/ca-signer.crt; more"
        spec = {"preKubeadmCommands": ["modprobe x", before]}
        values: dict[str, Any] = {"controlPlane": {"kubeadmConfigSpec": spec}}
        for each in ("first", "second"):
            values = ca_rotation.with_machines_prepared(values, each)
            found = values["controlPlane"]["kubeadmConfigSpec"]
            first, *own = found["preKubeadmCommands"]
            self.assertEqual(("modprobe x", 1), (first, len(own)))
            self.assertNotEqual([before], own)
            # Of the bridge before there is nothing left.
            bridge, _ = found["files"]
            self.assertEqual(each, bridge["content"])
            self.assertEqual(1, len(found["postKubeadmCommands"]))

    def test_a_bridge_that_ends_soon_is_replaced(self) -> None:
        for days, groups in ((13.0, 8), (15.0, 6)):
            self.rotate_ca()
            self.change_stored(bridge=pki.Authority("x", days).pem)
            self.assertEqual(
                ["control-plane", "default-worker"] * (groups // 2),
                self.until_complete(),
            )
            if groups == 8:
                left = self.bridge().not_valid_after_utc - _now()
                self.assertGreater(left.days, 14)
                self.bridge().verify_directly_issued_by(self.certificate())

    def test_a_label_with_files_takes_the_commands_away(self) -> None:
        """It replaces the list of files, and a command needs its file."""
        self.rotate_ca()
        self.until_complete()
        for name, text, files, commands in (
            ("node_taints", "slow:NoExecute", 2, 1),
            ("audit_log_enabled", "true", 0, 0),
        ):
            order = rollout.Order(labels={name: text}, replacing=True)
            rollout.apply(self.new_operation(), order)
            spec = self.control_plane()
            mine = [e for e in spec["files"] if "/ca-" in e["path"]]
            self.assertEqual(files, len(mine), name)
            for each in ("preKubeadmCommands", "postKubeadmCommands"):
                self.assertEqual(commands, len(spec.get(each, [])), each)
            manager = spec.get("clusterConfiguration", {}).get(
                "controllerManager", {}
            )
            self.assertEqual(commands, len(manager.get("extraArgs", {})))
            self.settle()

    def test_a_step_has_its_time_from_its_begin_on(self) -> None:
        """The machines that it replaces may be old."""
        self.rotate_ca()
        for _ in range(20):
            if self.signer() == "new":
                break
            self.tick()
        self.tick()
        name = names.control_plane(base.RELEASE)
        plane = self.live(kinds.CONTROL_PLANE, name)
        age = time.time() - replacement.renewal_time(plane)
        self.assertLess(age, 120)
        self.assertGreater(age, 55)

    def test_a_machine_that_does_not_come_stops_it(self) -> None:
        self.rotate_ca()
        self.poll()
        self.capi.fail_machine("control-plane")
        for _ in range(5):
            self.poll()
        self.assertEqual(("old new", "old"), (self.trusted(), self.signer()))
        step = (
            "CA rotation, step 1 of 6: the control plane gets to trust both "
            "CAs: nodegroup default-master: "
        )
        self.assertIn(step, self.why())
        state = observed_state.ObservedState
        with mock.patch.object(state, "is_overdue", True):
            self.capi.fail_machine("control-plane", "no quota")
            self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        reason = self.why()
        self.assertTrue(reason.startswith(f"not done in time: {step}"), reason)
        # As a change of a nodegroup leaves it.
        self.save(status="UPDATE_IN_PROGRESS")
        self.capi.fail_machine("control-plane", "no host")
        self.poll()
        self.assertTrue(self.why().startswith(step), reason)


class KilledTest(RotationTestCase):
    """The conductor dies in each step, at each kind of write."""

    def test_polls_of_another_conductor_resume_each_step(self) -> None:
        self.rotate_ca()
        killed: dict[str, set[str]] = {}
        while self.row().status == "UPDATE_IN_PROGRESS":
            number = (self.why() or "")[18:19]
            write = self._poll_that_dies(killed.setdefault(number, set()))
            if write:
                killed[number].add(write)
            else:
                self.kubeconfig()
                self.capi.roll()
        self.assert_rotated()
        self.assertEqual(
            {key: set(text.split(", ")) for key, text in _KILLED.items()},
            killed,
        )

    def _poll_that_dies(self, before: set[str]) -> str:
        """A poll that is killed at a write it was not killed at before.

        :returns: the write; empty: it was not killed
        """
        for verb, kind, name in _WRITES:
            if f"{verb} {name[1:]}" not in before:
                self.management.kill_before(verb, kind, name)
        alive: list[bool] = []
        with self.dies():
            self.poll()
            alive.append(True)
        if alive:
            return ""
        verb, _, name = self.management.requests[-1]
        return f"{verb} {name.removeprefix(base.RELEASE)[1:]}"

    def test_killed_after_the_rotation_is_stored(self) -> None:
        name = "magnum_capi_helm.cloud.certificates.delete"
        with mock.patch(name, side_effect=management.Killed), self.dies():
            self.rotate_ca()
        self.assert_rotated()
