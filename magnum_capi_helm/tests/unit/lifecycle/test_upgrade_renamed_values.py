# SPDX-License-Identifier: Apache-2.0

"""Upgrades to a chart that renames values: they move, and none is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.chart import renamed
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling
from magnum_capi_helm.tests.unit.lifecycle import upgrading

_PATHS = (
    "apiServer.loadBalancerProvider",
    "apiServer.provider",
    "addons.reloader.enabled",
    "addons.restarts.enabled",
)
#: Values at these paths, and the counts of a nodegroup under both keys.
_BEFORE = (["ovn", None, True, None], [2, None])
_AFTER = ([None, "ovn", None, True], [None, 2])


def _render(
    release: str,
    namespace: str,
    values: dict[str, Any],
    build: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Render the chart whose groups have replicas, or the one before it."""
    groups = [
        {**each, "machineCount": each["replicas"]}
        if "replicas" in each
        else each
        for each in values["nodeGroups"]
    ]
    values = {**values, "nodeGroups": groups}
    return _FORMER(release, namespace, values, build)


_FORMER = fake_chart.render


class RenamedValuesTest(upgrading.UpgradeTestCase):
    """A cluster of the newest chart, and a template with the next one."""

    def setUp(self) -> None:
        base.FlowTestCase.setUp(self)
        renamed.add_source(self)
        self.useFixture(
            fixtures.MockPatchObject(fake_chart, "render", _render)
        )
        self.created({"labels": {"octavia_provider": "ovn"}})
        self.new = self.template(
            labels={"capi_helm_chart_version": renamed.VERSION}
        )

    def stored(self) -> dict[str, Any]:
        """The values in the Secret."""
        name = names.desired_state(base.RELEASE)
        secret = self.server.get(kinds.SECRET, base.NAMESPACE, name)
        assert secret is not None
        found: dict[str, Any] = encoding.unpack(
            secret["data"]["values.json.gz"]
        )
        return found

    def check(self, expected: object) -> None:
        """Compare what helm got, and what is stored."""
        for values in (self.helm.upgrades[-1].values, self.stored()):
            [group] = values["nodeGroups"]
            counts = [group.get(key) for key in ("machineCount", "replicas")]
            found = [paths.value_at(values, path) for path in _PATHS]
            self.assertEqual(expected, (found, counts))

    def test_an_upgrade_moves_values_and_keeps_the_immutable_one(self) -> None:
        self.check(_BEFORE)
        self.upgrade(self.new)
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual(renamed.VERSION, self.helm.upgrades[-1].chart_version)
        self.check(_AFTER)

    def test_a_resize_keeps_the_paths_of_the_cluster(self) -> None:
        self.resize(4)
        self.check((_BEFORE[0], [4, None]))
        self.settle()
        self.upgrade(self.new)
        self.settle()
        self.resize(5)
        self.check((_AFTER[0], [None, 5]))
        self.assertEqual(5, self.replicas())

    def test_a_lost_secret_is_read_from_the_record_of_helm(self) -> None:
        self.upgrade(self.new)
        self.settle()
        name = names.desired_state(base.RELEASE)
        self.server.delete(kinds.SECRET, base.NAMESPACE, name)
        self.resize(3)
        self.check((_AFTER[0], [None, 3]))

    def test_a_rollback_returns_to_the_former_paths(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.REFUSED] * 2
        self.upgrade(self.new)
        self.poll()
        self.assertEqual("UPDATE_FAILED", self.row().status)
        self.check(_AFTER)
        rollback.rollback(
            cluster_operation.Operation(self.admin, self.row(), runtime.get())
        )
        self.settle()
        self.assertEqual(renamed.LAST, self.helm.upgrades[-1].chart_version)
        self.check(_BEFORE)


class RolloutTest(rolling.RolloutTestCase):
    """``cluster apply`` with another chart."""

    def test_values_and_files_of_the_operator_move(self) -> None:
        renamed.add_source(self)
        self.useFixture(
            fixtures.MockPatchObject(fake_chart, "render", _render)
        )
        self.all.write_text("addons: {restarts: {enabled: false}}")
        self.rolled_out(files=True)
        self.assertIs(False, self.told()["addons"]["reloader"]["enabled"])
        self.rolled_out(chart=renamed.VERSION)
        self.assertNotIn("reloader", self.told()["addons"])
        self.assertIs(False, self.told()["addons"]["restarts"]["enabled"])
        self.assertEqual("amphora", self.told()["apiServer"]["provider"])
