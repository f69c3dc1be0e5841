# SPDX-License-Identifier: Apache-2.0

"""Which desired state may be applied to which release, without a cluster."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import template_guard

_RELEASE = "web-1"
_COUNTER = "magnum.openstack.org/upgrade"
_STAMP = "magnum.openstack.org/intent"
_CHART = cluster_spec.Chart("repo", "openstack-cluster", "0.27.0")

_Permission = desired_state.Permission


def _values(
    generation: int | str, version: str = "", stamp: str = "v1-a"
) -> Any:
    notes = {_COUNTER: str(generation)} if generation else {}
    if stamp:
        notes[_STAMP] = stamp
    groups = [{"name": "default-worker"}, {"name": "gpu"}]
    return {
        "clusterAnnotations": notes,
        "controlPlane": {"kubernetesVersion": version},
        "nodeGroups": groups,
    }


def _desired(
    generation: int = 1,
    version: str = "1.35.1",
    permission: desired_state.Permission | None = None,
    **fields: Any,
) -> desired_state.DesiredState:
    values = {**_values(generation, version, ""), **fields}
    return desired_state.DesiredState(
        _CHART, values, "v1-a", 0.0, may_replace=permission
    )


def _object(kind: str, name: str, machine: str) -> dict[str, Any]:
    template = {"spec": {"infrastructureRef": {"name": machine}}}
    spec: dict[str, Any] = {"template": template}
    if kind == "KubeadmControlPlane":
        spec = {"machineTemplate": template["spec"]}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": {"name": f"{_RELEASE}-{name}"},
        "spec": spec,
    }


def _objects(**machines: str) -> tuple[dict[str, Any], ...]:
    """Return a manifest: ``_`` in the name of a group stands for ``-``."""
    return tuple(
        _object(
            "KubeadmControlPlane"
            if name == "control_plane"
            else "MachineDeployment",
            name.replace("_", "-"),
            machine,
        )
        for name, machine in machines.items()
    )


def _record(
    generation: int | str = 1, stamp: str = "v1-a", version: int = 4
) -> helm_records.RevisionContent:
    return helm_records.RevisionContent(
        version=version,
        status="deployed",
        chart_name="openstack-cluster",
        chart_version="0.27.0",
        values=_values(generation, stamp=stamp),
        manifest="",
        objects=_objects(control_plane="a", default_worker="a", gpu="a"),
        record={},
    )


class OutdatedTest(base.BaseTestCase):
    """Generation, owner and version of the stored state."""

    #: Desired state, generation of record and of live Cluster, version of the
    #: live control plane -> reason.
    rows: tuple[tuple[Any, int | str, int | str, str, str], ...] = (
        (_desired(), 1, 1, "v1.35.1", ""),
        # Somebody wrote another annotation: the other number counts.
        (_desired(), 1, "many", "v1.35.1", ""),
        (
            _desired(),
            2,
            "many",
            "v1.35.1",
            "the stored desired state is of upgrade 1, the release of upgrade "
            "2",
        ),
        # An older version of the driver accepted a rollback.
        (_desired(generation=2, version="1.34.2"), 1, 1, "v1.35.1", ""),
        (_desired(generation=2), 1, 1, "v1.34.2", ""),
        (_desired(), 0, 0, "v1.34.2", ""),
        (_desired(), 1, 1, "", ""),
        (
            _desired(),
            2,
            1,
            "v1.35.1",
            "the stored desired state is of upgrade 1, the release of upgrade "
            "2",
        ),
        (
            _desired(),
            1,
            2,
            "v1.35.1",
            "the stored desired state is of upgrade 1, the release of upgrade "
            "2",
        ),
        (
            _desired(),
            1,
            1,
            "v1.36.0",
            "the stored desired state has Kubernetes v1.35.1, the control "
            "plane v1.36.0",
        ),
        (
            _desired(permission=_Permission(4, None)),
            0,
            0,
            "v1.35.2",
            "the stored desired state has Kubernetes v1.35.1, the control "
            "plane v1.35.2",
        ),
        (
            _desired(permission=_Permission(4, None, back=True)),
            1,
            1,
            "v1.36.0",
            "",
        ),
        (
            _desired(permission=_Permission(3, None, back=True)),
            1,
            1,
            "v1.36.0",
            "the stored desired state has Kubernetes v1.35.1, the control "
            "plane v1.36.0",
        ),
        (
            _desired(cloudCredentialsSecretName="web-2-cloud-credentials"),
            1,
            1,
            "v1.35.1",
            "the stored desired state is of another cluster "
            "(web-2-cloud-credentials)",
        ),
        (
            _desired(cloudCredentialsSecretName="web-1-cloud-credentials"),
            1,
            1,
            "v1.35.1",
            "",
        ),
    )

    def test_an_older_or_foreign_state_has_a_reason(self) -> None:
        for desired, recorded, live, version, reason in self.rows:
            cluster = {"metadata": {"annotations": {_COUNTER: str(live)}}}
            control_plane = {"spec": {"version": version}}
            self.assertEqual(
                reason,
                template_guard.outdated(
                    _RELEASE,
                    desired,
                    _record(recorded),
                    cluster,
                    control_plane,
                ),
            )


class UnaskedTest(base.BaseTestCase):
    """Groups that other machines would be made for."""

    #: Permission, generation of the state, record, objects after -> groups.
    rows: tuple[tuple[Any, int, Any, dict[str, str], tuple[str, ...]], ...] = (
        # Nothing differs.
        (None, 1, _record(), {}, ()),
        (None, 1, _record(), {"gpu": "b"}, ("gpu",)),
        (
            None,
            1,
            _record(),
            {"control_plane": "b", "gpu": "b"},
            ("control-plane", "gpu"),
        ),
        # The permission is for the revision that helm compares with.
        (_Permission(4, None), 2, _record(), {"control_plane": "b"}, ()),
        (
            _Permission(3, None),
            2,
            _record(),
            {"control_plane": "b"},
            ("control-plane",),
        ),
        (_Permission(4, frozenset({"gpu"})), 2, _record(), {"gpu": "b"}, ()),
        (
            _Permission(4, frozenset({"gpu"})),
            2,
            _record(),
            {"gpu": "b", "default_worker": "b"},
            ("default-worker",),
        ),
        # An older version of the driver names no groups.
        (None, 2, _record(), {"gpu": "b"}, ()),
        (None, 2, _record(stamp=""), {"gpu": "b"}, ("gpu",)),
    )

    def test_groups_without_permission_are_named(self) -> None:
        rows_now = _rows("default-worker", "gpu")
        for permission, generation, record, changed, groups in self.rows:
            machines = {"control_plane": "a", "default_worker": "a"}
            after = _objects(**{**machines, "gpu": "a", **changed})
            self.assertEqual(
                groups,
                template_guard.unasked(
                    _RELEASE,
                    _desired(generation, permission=permission),
                    rows_now,
                    record,
                    after,
                ),
            )

    def test_a_group_goes_only_with_its_row(self) -> None:
        after = _objects(control_plane="a", default_worker="a")
        for names, groups in (
            (("default-worker", "gpu"), ("gpu",)),
            (("default-worker",), ()),
        ):
            self.assertEqual(
                groups,
                template_guard.unasked(
                    _RELEASE, _desired(), _rows(*names), _record(), after
                ),
            )


def _rows(*names: str) -> requested_groups.Rows:
    groups = tuple(
        requested_groups.Group(name, name, name, False, 1) for name in names
    )
    return requested_groups.Rows("u", _RELEASE, groups)
