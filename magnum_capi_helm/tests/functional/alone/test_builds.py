# SPDX-License-Identifier: Apache-2.0

"""The chart store gets another build of the chart that a cluster has."""

from __future__ import annotations

from collections.abc import Callable
import io
import json
import os
import tarfile
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_VERSION = "0.27.0"
_FILE = f"openstack-cluster-{_VERSION}.tgz"
#: A file on every machine, control plane or not, and a text in it.
_MEMBER = "openstack-cluster/templates/kubeadm/_containerd.tpl"
_BEFORE = b"# Here so that the directory is."
_AFTER = b"# Another build of the chart wrote this."
_REFUSAL = "would replace machines"


class BuildTest(base.LabCase):
    """Two builds of one version, as an operator's patch makes them."""

    def setUp(self) -> None:
        super().setUp()
        programs.refuse_in_company("another chart in the chart store")
        labels = {"capi_helm_chart_version": _VERSION}
        self.uuid = self.cluster(self.template(labels=labels))
        made = self.until_status(
            self.uuid, ("CREATE_COMPLETE", "CREATE_FAILED")
        )
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        self.release = str(made["stack_id"])
        self.groups = f"/clusters/{self.uuid}/nodegroups"
        self._add("extra")
        self.until(lambda: self._group("extra").get("node_addresses"), 360)
        self.until_status(self.uuid, ("UPDATE_COMPLETE",))
        self.stored = programs.LAB / "chart-store" / _FILE
        self.former = self.stored.read_bytes()
        # Whatever happens: other tests get the chart of the lab.
        self.addCleanup(self._store, self.former)

    def test_no_machine_is_replaced(self) -> None:
        machines, made_from = self._machines(), self._made_from()
        self._store(rebuilt(self.former))
        self._assert_rollout_names_the_machines()
        self._assert_resize_refused()
        self._assert_create_refused()
        self._assert_delete_refused()
        self.assertEqual(made_from, self._made_from())
        self.assertEqual(machines, self._machines())

        self._store(self.former)
        self.resize(self.uuid, 2)
        self.assertEqual(made_from, self._made_from())
        self.assertLess(machines, self._machines())
        self.assertEqual(len(machines) + 1, len(self._machines()))
        groups = self.magnum.nodegroups(self.uuid)
        self.assertEqual(2, groups["default-worker"]["node_count"])
        self.assertEqual("UPDATE_COMPLETE", groups["extra"]["status"])

    # What is refused

    def _assert_rollout_names_the_machines(self) -> None:
        """The way out that the refusal names; nothing is written."""
        shown = programs.command(
            "cluster",
            "apply",
            "--chart-version",
            _VERSION,
            "--allow-replacement",
            self.uuid,
            "-f",
            "json",
        )
        (line,) = json.loads(shown)
        self.assertEqual("would change", line["Result"], str(line))
        self.assertIn("3 machines to be replaced", line["Detail"])

    def _assert_resize_refused(self) -> None:
        path = f"/clusters/{self.uuid}/actions/resize"
        self.magnum.call("POST", path, {"node_count": 2})
        failed = self.until_status(self.uuid, ("UPDATE_FAILED",), 60)
        reason = failed["status_reason"]
        for each in (
            _REFUSAL,
            "(control-plane, default-worker, extra)",
            f"openstack-cluster {_VERSION}",
            "another build",
            "sha256",
            "magnum-capi-helm cluster apply",
        ):
            self.assertIn(each, reason)
        workers = self._group("default-worker")
        self.assertEqual(1, workers["node_count"])

    def _assert_create_refused(self) -> None:
        self._add("more")
        group = self._until_group("more", "CREATE_FAILED")
        self.assertIn(_REFUSAL, group["status_reason"])

    def _assert_delete_refused(self) -> None:
        self.magnum.call("DELETE", f"{self.groups}/extra")
        group = self._until_group("extra", "DELETE_FAILED")
        self.assertIn(_REFUSAL, group["status_reason"])

    # Asking

    def _add(self, name: str) -> None:
        """``openstack coe nodegroup create``; waits for the row."""
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        self.magnum.call("POST", self.groups, body)
        self.until(lambda: self._group(name), 30)

    def _group(self, name: str) -> dict[str, Any]:
        """A nodegroup as Magnum shows it; empty: there is none yet."""
        return self.magnum.nodegroups(self.uuid).get(name) or {}

    def _until_group(self, name: str, status: str) -> dict[str, Any]:
        """A nodegroup, once it has a status that a poll may replace soon."""
        last: dict[str, Any] = {}

        def reached() -> dict[str, Any]:
            last.update(self._group(name))
            return last if last.get("status") == status else {}

        found: dict[str, Any] = self.until(
            reached, 60, lambda: f"{name} {status}: {last}"
        )
        return found

    # Looking

    def _machines(self) -> set[str]:
        """UIDs of the machines: a new one has another."""
        return {
            each["metadata"]["uid"]
            for each in self.plane.list(
                kinds.MACHINE,
                self.namespace,
                f"{view.CLUSTER_NAME_LABEL}={self.release}",
            )
        }

    def _made_from(self) -> dict[str, Any]:
        """What each group's machines are made from."""
        ours = f"{view.CHART_CLUSTER_LABEL}={self.release}"
        spec_of: dict[kinds.Kind, Callable[[Any], Any]] = {
            kinds.CONTROL_PLANE: lambda spec: (
                spec["version"],
                spec["machineTemplate"],
                spec["kubeadmConfigSpec"],
            ),
            kinds.MACHINE_DEPLOYMENT: lambda spec: spec["template"],
        }
        return {
            view.name_of(each): made_from(view.spec_of(each))
            for kind, made_from in spec_of.items()
            for each in self.plane.list(kind, self.namespace, ours)
        }

    # The chart store

    def _store(self, package: bytes) -> None:
        """Put a build there as an operator does."""
        staged = self.stored.with_name(f"staged-{_FILE}.part")
        staged.write_bytes(package)
        os.replace(staged, self.stored)


def rebuilt(package: bytes) -> bytes:
    """Another build of a packaged chart: of that name and version."""
    made = io.BytesIO()
    changed = 0
    with (
        tarfile.open(fileobj=io.BytesIO(package)) as old,
        tarfile.open(fileobj=made, mode="w:gz") as new,
    ):
        for member in old.getmembers():
            file = old.extractfile(member)
            content = file.read() if file else b""
            if member.name == _MEMBER:
                changed = content.count(_BEFORE)
                content = content.replace(_BEFORE, _AFTER)
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    if not changed:
        raise AssertionError(f"{_MEMBER} has no {_BEFORE.decode()!r} any more")
    return made.getvalue()
