# SPDX-License-Identifier: Apache-2.0

"""``cluster hibernate`` and ``cluster wake``: their lines and their effect."""

from __future__ import annotations

import io
import json
import pathlib

import fixtures

from magnum_capi_helm.cli import cluster
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import rolling


class HibernateCommandTest(rolling.RolloutTestCase):
    def line(self, kind: type[cluster.Hibernate], *argv: str) -> str:
        """Return result and detail of the one cluster."""
        case = self

        class Polled(kind):  # type: ignore[valid-type,misc]
            @property
            def pause(self) -> float:
                """Machines go and Magnum polls while the command waits."""
                case.settle()
                return 0.0

        _, [line] = command_case.run_json(
            Polled, "web", *argv, err=io.StringIO()
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
