# SPDX-License-Identifier: Apache-2.0

"""The effect of each label on a living cluster, as a chart renders it."""

from __future__ import annotations

from collections.abc import Iterable
import functools
import json
import pathlib

from magnum_capi_helm import features
from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.unit.features import rows

#: The label reference shows the same effects.
TABLE = (
    pathlib.Path(__file__).parents[3]
    / "doc/source/reference/label-changes.json"
)
_REPLACED = {
    (): "in place",
    ("rel-control-plane",): "control plane",
    ("rel-default-worker",): "workers",
    ("rel-control-plane", "rel-default-worker"): "all machines",
}
#: The chart renders these only with a Secret of a live management cluster.
ENCRYPTION = "etcd_encryption_"


def effects(version: str, chart: str | pathlib.Path) -> dict[str, str]:
    """Return the effect of each label: its name -> the effect.

    :param version: of the chart
    :param chart: its folder or package
    """
    return {
        label.name: _effect(label.name, version, chart)
        for label in features.LABELS
        if label.becomes
        and label.scope is not labels.Scope.TEMPLATE
        and not label.name.startswith(ENCRYPTION)
    }


def _effect(name: str, version: str, chart: str | pathlib.Path) -> str:
    """Return what an upgrade does that changes a label."""
    changed, needs = rows.CHANGES[name]
    # Some labels need a chart that is to come.
    needs = {"capi_helm_chart_version": version, **needs}
    old = values.build(rows.resolved(needs))
    cluster = upgrade_rules.living(
        rows.resolved({**needs, name: changed}), old
    )
    version = cluster.chart.version
    new = upgrade_rules.keep_fields(values.build(cluster), old, version, None)
    if new == old:
        return "fixed"
    before, after = (
        _rendered(json.dumps(paths.spelled(each, version)), chart)
        for each in (old, new)
    )
    replaced = diff.remade(before, after)
    if not replaced and _is_for_new_machines(before, after):
        return "new machines"
    return _REPLACED[replaced]


@functools.cache
def _rendered(wanted: str, chart: str | pathlib.Path) -> rendering.Rendered:
    return rendering.render(json.loads(wanted), chart=chart)


def _is_for_new_machines(
    before: Iterable[diff.Object], after: rendering.Rendered
) -> bool:
    """Return whether only the source of new control plane machines changes.

    kubeadm reads files from Secrets when a machine starts, and Cluster API
    reads the zones when it makes one.
    """
    [control_plane] = after.of("KubeadmControlPlane")
    read = {
        each["contentFrom"]["secret"]["name"]
        for each in control_plane["spec"]["kubeadmConfigSpec"]["files"]
        if "contentFrom" in each
    }
    return any(
        change.name in read
        or (
            change.kind == "OpenStackCluster"
            and any(
                path.startswith("spec.controlPlane") for path in change.paths
            )
        )
        for change in diff.changes(before, after)
    )
