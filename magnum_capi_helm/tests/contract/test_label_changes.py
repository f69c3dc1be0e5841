# SPDX-License-Identifier: Apache-2.0

"""What each label changes in a living cluster, as the chart renders it.

The label reference shows the same table.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
import pathlib
from typing import Any

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.unit.features import outcome
from magnum_capi_helm.tests.unit.features import rows

_TABLE = (
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
_ENCRYPTION = "etcd_encryption_"


class LabelChangesTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.rendered: dict[str, rendering.Rendered] = {}
        self.table: dict[str, str] = json.loads(_TABLE.read_text())

    def test_the_table_is_what_the_chart_does(self) -> None:
        self.assertEqual(
            {
                name: change
                for name, change in self.table.items()
                if not name.startswith(_ENCRYPTION)
            },
            {
                label.name: self._change(label.name)
                for label in features.LABELS
                if label.becomes
                and label.scope is not labels.Scope.TEMPLATE
                and not label.name.startswith(_ENCRYPTION)
            },
        )

    def _change(self, name: str) -> str:
        """The change that an upgrade makes for a label."""
        changed, needs = rows.merged("CHANGES")[name]
        old = values.build(outcome.resolved(needs))
        cluster = upgrade_rules.living(
            outcome.resolved({**needs, name: changed}), old
        )
        new = upgrade_rules.keep_fields(
            values.build(cluster), old, cluster.chart.version, None
        )
        if new == old:
            return "fixed"
        before, after = self._render(old), self._render(new)
        replaced = diff.remade(before, after)
        if not replaced and _is_for_new_machines(before, after):
            return "new machines"
        return _REPLACED[replaced]

    def _render(self, wanted: dict[str, Any]) -> rendering.Rendered:
        key = json.dumps(wanted, sort_keys=True)
        if key not in self.rendered:
            self.rendered[key] = rendering.render(wanted)
        return self.rendered[key]


def _is_for_new_machines(
    before: Iterable[diff.Object], after: rendering.Rendered
) -> bool:
    """Whether only what new control plane machines are made from changes.

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
