# SPDX-License-Identifier: Apache-2.0

"""The records of runs."""

from __future__ import annotations

import json
import re
import unittest

from tools import compatibility

_OUTPUT = """
======
Totals
======
Ran: 12 tests in 3.0000 sec.
 - Passed: 9
 - Skipped: 2
 - Expected Fail: 0
 - Unexpected Success: 0
 - Failed: 1
Sum of execute time for each test: 2.0000 sec.
"""


class CountsTest(unittest.TestCase):
    def test_the_last_totals_of_stestr_count(self) -> None:
        first = _OUTPUT.replace("Passed: 9", "Passed: 4")
        self.assertEqual(
            {"passed": 9, "skipped": 2, "failed": 1},
            compatibility.counts(first + _OUTPUT),
        )

    def test_a_run_of_no_test_says_its_last_lines(self) -> None:
        none = re.sub(r": \d+$", ": 0", _OUTPUT, flags=re.MULTILINE)
        for output, said in (
            ("ERROR: no such package\n", "no such package"),
            (none, "Passed: 0"),
        ):
            with self.assertRaisesRegex(compatibility.NoCounts, said):
                compatibility.counts(output)


class RecordTest(unittest.TestCase):
    def test_each_set_of_versions_shows_its_last_line(self) -> None:
        lab = {"helm": "4", "cluster_api": "1.13"}
        lines = [
            {"environment": name, "packages": {"magnum": magnum}, **beside}
            for name, magnum, beside in (
                ("b", "23.0.0", {}),
                ("a", "23.0.0", {}),
                ("b", "23.0.0", {}),
                ("b", "22.0.0", {}),
                ("lab", "23.0.0", {**lab, "helm": "3"}),
                ("lab", "23.0.0", lab),
                ("lab", "23.0.0", {**lab, "cluster_api": "1.14"}),
                ("lab", "23.0.0", lab),
            )
        ]
        record = "\n".join(
            json.dumps({**each, "passed": number})
            for number, each in enumerate(lines)
        )
        self.assertEqual(
            [1, 3, 2, 4, 7, 6],
            [each["passed"] for each in compatibility.newest(record)],
        )
