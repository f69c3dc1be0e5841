# SPDX-License-Identifier: Apache-2.0

"""A living cluster keeps what it was made with."""

from __future__ import annotations

import io
import json
import os
import tarfile
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.unit.features import rows

#: Other options than the defaults, for the whole of [capi_helm] that could
#: reach values.
_OPTIONS = {
    "api_load_balancer": "requested",
    "csi_cinder_allowed_topologies": "elsewhere",
    "default_helm_chart_version": "0.26.1",
    "minimum_flavor_ram": "65536",
    "registry_mirror": "registry.example.org/all",
    "addon_repository": "https://charts.example.org",
    "server_metadata": "cost-centre:4711",
    "unknown_labels": "reject",
}
_CHART = programs.LAB / "chart-store" / "openstack-cluster-0.27.0.tgz"
#: A file on every machine, control plane or not, and a text in it.
_MEMBER = "openstack-cluster/templates/kubeadm/_containerd.tpl"
_BEFORE = b"# Here so that the directory is."
_AFTER = b"# Another build of the chart wrote this."


class FrozenTest(base.LabCase):
    """Every default is changed under a cluster, and its chart."""

    def test_defaults_and_charts_replace_no_machine(self) -> None:
        cluster = self.cluster(self.template())
        made = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        machines = self._machines(made["stack_id"])
        templates = self._templates(made["stack_id"])

        self.configure_sections(
            {"capi_helm": _OPTIONS, "capi_helm_cluster_labels": _labels()}
        )
        self.assertEqual([], self._diff(cluster))
        self.resize(cluster, 2)
        self.assertEqual([], self._diff(cluster))
        self.assertEqual(templates, self._templates(made["stack_id"]))
        self.assertLessEqual(machines, self._machines(made["stack_id"]))
        machines = self._machines(made["stack_id"])
        self._another_build_is_refused(cluster)
        self.resize(cluster, 3)
        self.assertEqual(templates, self._templates(made["stack_id"]))
        self.assertLess(machines, self._machines(made["stack_id"]))

    def _another_build_is_refused(self, cluster: str) -> None:
        """An operator patches the chart, and puts the former one back."""
        former = _CHART.read_bytes()
        # Whatever happens: other tests get the chart of the lab.
        self.addCleanup(_store, former)
        _store(_rebuilt(former))
        path = f"/clusters/{cluster}/actions/resize"
        self.magnum.call("POST", path, {"node_count": 3})
        failed = self.until_status(cluster, ("UPDATE_FAILED",), 60)
        for each in (
            "would replace machines",
            "(control-plane, default-worker)",
            "another build",
            "magnum-capi-helm cluster apply",
        ):
            self.assertIn(each, failed["status_reason"])
        _store(former)

    def _diff(self, cluster: str) -> list[dict[str, Any]]:
        """What ``magnum-capi-helm diff`` finds."""
        found: list[dict[str, Any]] = json.loads(
            programs.command("diff", cluster, "-f", "json")
        )
        return found

    def _machines(self, release: str) -> set[str]:
        """UIDs of the machines: a new one has another."""
        return {
            each["metadata"]["uid"]
            for each in self.plane.list(
                kinds.MACHINE,
                self.namespace,
                f"cluster.x-k8s.io/cluster-name={release}",
            )
        }

    def _templates(self, release: str) -> set[str]:
        """Names of all that machines are made from."""
        return {
            each["metadata"]["name"]
            for kind in (
                kinds.OPENSTACK_MACHINE_TEMPLATE,
                kinds.CONFIG_TEMPLATE,
            )
            for each in self.plane.list(
                kind, self.namespace, f"capi.stackhpc.com/cluster={release}"
            )
        }


def _labels() -> dict[str, str]:
    """Another default for every label, and what those need."""
    changes = rows.CHANGES
    wanted: dict[str, str] = {}
    for label in features.LABELS:
        if label.scope is labels.Scope.TEMPLATE:
            continue
        value, needs = changes[label.name]
        wanted = {**needs, **wanted, label.name: value}
    return {
        name: value
        for name, value in wanted.items()
        if name not in ("capi_helm_chart_version", "network_driver")
    }


def _store(package: bytes) -> None:
    """Put a build into the chart store as an operator does."""
    staged = _CHART.with_name(f"staged-{_CHART.name}.part")
    staged.write_bytes(package)
    os.replace(staged, _CHART)


def _rebuilt(package: bytes) -> bytes:
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
