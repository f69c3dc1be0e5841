# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re
from typing import Any
import unittest

from bench import report


def _line(driver: str, mode: str, **figures: Any) -> dict[str, Any]:
    zero = (
        *("bytes", "cold", "handshakes", "hook_wall", "in_progress"),
        *("own_cpu", "peak_kb", "process_cpu", "requests", "run", "wall"),
        "wrong_count",
    )
    case = {"driver": driver, "kind": "health", "clusters": 1000, "mode": mode}
    return {**dict.fromkeys(zero, 0), **case, **figures}


class MediansTest(unittest.TestCase):
    def test_ticks_and_hooks_are_kept_apart(self) -> None:
        """A cold tick is left out, but not what it got wrong."""
        found = report.costs(
            [
                _line("new", "tick", cold=True, own_cpu=99.0, wrong_count=4),
                _line("new", "tick", own_cpu=3.0, requests=30),
                _line("new", "tick", own_cpu=1.0, requests=10, run=1),
                _line("new", "tick", own_cpu=2.0, requests=90),
                _line("new", "hooks", own_cpu=0.5, hook_wall=7.0),
            ]
        )[report.Case("health", 1000, "new")]
        self.assertEqual(
            (2.0, 30.0, 0.5, 7.0),
            tuple(
                found.figures[each]
                for each in ("own_cpu", "requests", "hooks_cpu", "hooks_wall")
            ),
        )
        self.assertEqual((4, 2), (found.wrong, found.runs))

    def test_status_ticks_are_sorted_by_what_is_in_progress(self) -> None:
        line = _line("new", "tick", kind="status", in_progress=10)
        self.assertEqual(
            [report.Case("status", 10, "new")], list(report.costs([line]))
        )

    def test_times_less_is_as_exact_as_it_can_be_read(self) -> None:
        for new, old, written in (
            (2.0, 5.0, "2.5"),
            (1.0, 123.4, "123"),
            (0.0, 5.0, "all"),
            (5.0, 0.0, ""),
        ):
            self.assertEqual(written, report.times_less(new, old))


_ROWS = (
    "Clusters|Driver|Requests|MB|TLS|CPU, s|Wall, s|CPU in tick, s|Process, s"
    "|Peak, MB|Wrong",
    "1000|this driver|20|35.5|0|0.900|1.500|0.000|0.000|150|0",
    "1000|1.4.0|5000|0.0|1000|18.000|30.000|0.000|0.000|0|0",
    "1000|times less|250||all|20|20||||",
)


class TableTest(unittest.TestCase):
    def test_drivers_stand_below_each_other_and_are_compared(self) -> None:
        lines = [
            _line("1.4.0", "tick", requests=5000, handshakes=1000),
            _line("1.4.0", "hooks", own_cpu=18.0, hook_wall=30.0),
            _line("new", "tick", requests=20, peak_kb=150000, bytes=35.5e6),
            _line("new", "hooks", own_cpu=0.9, hook_wall=1.5),
        ]
        head, *rows = report.tables(report.costs(lines)).split("   * - ")
        self.assertEqual(
            ".. list-table:: Health tick over all clusters\n"
            "   :header-rows: 1\n\n",
            head,
        )
        self.assertEqual(
            list(_ROWS),
            [
                re.sub(r"\n     -( |$)", "|", row.rstrip("\n"), flags=re.M)
                for row in rows
            ],
        )
