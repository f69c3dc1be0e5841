# SPDX-License-Identifier: Apache-2.0

"""``cluster apply`` of a chart, files or labels; ``hibernate``, ``wake``."""

from __future__ import annotations

import io
import json
import pathlib

import fixtures

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import cluster
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import rolling

_LOOKS = 9


class RolloutCommandTest(rolling.RolloutTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        self.looks = 0

    def wait(self) -> None:
        """Machines come up and Magnum polls while the command waits."""
        self.looks += 1
        assert self.looks < _LOOKS, "it waits for ever"
        self.settle()

    def line(self, *argv: str) -> tuple[int, str, str]:
        polled = command_case.polled(cluster.Apply, self.wait)
        code, [found] = command_case.run_json(polled, *argv, err=self.err)
        self.assertEqual("web", found["Cluster"])
        return code, found["Result"], found["Detail"]

    def test_a_chart_is_shown_then_applied_and_waited_for(self) -> None:
        order = ("--all", "--chart-version", rolling.NEW)
        before = self.written()
        detail = (
            "chart 0.26.1 to 0.27.0: nothing changes; no machine is replaced"
        )
        self.assertEqual((0, "would change", detail), self.line(*order))
        self.assertEqual(before, self.written())
        self.assertEqual((0, "changed", detail), self.line(*order, "--apply"))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertGreater(self.looks, 0)
        call = self.helm.upgrades[-1]
        self.assertEqual(
            (rolling.NEW, str(commands.operator("cluster apply"))),
            (call.chart_version, call.asked),
        )
        self.assertEqual(
            (0, "nothing to do", ""), self.line(*order, "--apply")
        )

    def test_machines_are_replaced_only_when_that_is_allowed(self) -> None:
        self.all.write_text(rolling.MACHINES)
        order = ("web", "--values-files", "--apply")
        before = self.written()
        self.assertEqual(
            (
                1,
                "refused",
                "machines would be replaced, in control-plane (1): "
                "--allow-replacement lets them be",
            ),
            self.line(*order),
        )
        self.assertEqual(before, self.written())
        self.assertEqual(
            (
                0,
                "changed",
                "chart 0.26.1: 1 object to change; 1 machine to be replaced",
            ),
            self.line(*order, "--allow-replacement"),
        )

    def test_an_earlier_rollout_is_waited_for(self) -> None:
        self.all.write_text(rolling.ADDON)
        self.roll_out()
        detail = "changed already, not complete yet"
        order = ("web", "--values-files")
        self.assertEqual((0, "would change", detail), self.line(*order))
        self.assertEqual((0, "changed", detail), self.line(*order, "--apply"))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_rollout_that_helm_left_is_shown_and_waited_for(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.all.write_text(rolling.ADDON)
        code, result, _ = self.line("web", "--values-files", "--apply")
        self.assertEqual((0, "changed"), (code, result))
        self.assertIn("web: helm ", self.err.getvalue())

    def test_a_label_is_shown_then_applied(self) -> None:
        order = ("web", "--label", "cert_manager_enabled=true")
        self.assertEqual("would change", self.line(*order)[1])
        self.assertEqual("changed", self.line(*order, "--apply")[1])
        addons = self.told()["addons"]
        self.assertEqual({"enabled": True}, addons["certManager"])
        self.assertEqual((0, "nothing to do", ""), self.line(*order))
        back = ("web", "--label", "cert_manager_enabled", "--apply")
        self.assertEqual("changed", self.line(*back)[1])
        self.assertNotIn("certManager", self.told()["addons"])


class HibernateCommandTest(rolling.RolloutTestCase):
    def line(self, kind: type[cluster.Hibernate], *argv: str) -> str:
        polled = command_case.polled(kind, self.settle)
        _, [line] = command_case.run_json(
            polled, "web", *argv, err=io.StringIO()
        )
        return f"{line['Result']}: {line['Detail']}"

    def test_the_lines_name_the_counts_of_the_workers(self) -> None:
        rows = (
            (cluster.Hibernate, (), "would change: default-worker 2 to 0"),
            (
                cluster.Hibernate,
                ("--apply",),
                "changed: default-worker 2 to 0",
            ),
            (cluster.Hibernate, ("--apply",), "nothing to do: "),
            (cluster.Wake, ("--apply",), "changed: default-worker 0 to 2"),
            (cluster.Wake, (), "nothing to do: "),
        )
        for kind, argv, expected in rows:
            self.assertEqual(expected, self.line(kind, *argv))

    def test_the_record_counts_the_machines_that_went(self) -> None:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = home / "record"
        for kind in (cluster.Hibernate, cluster.Wake):
            self.line(kind, "--apply", "--record", str(file))
        lines = map(json.loads, file.read_text().splitlines())
        self.assertEqual(
            [("begun", None), ("changed", 2), ("begun", None), ("changed", 0)],
            [(each["result"], each.get("machines")) for each in lines],
        )
