# SPDX-License-Identifier: Apache-2.0

"""What is kept of runs, and the environments that are run."""

from __future__ import annotations

import json
import re
import unittest

from tools import archives
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
        lines = [
            {
                "environment": environment,
                "packages": {"magnum": magnum},
                "passed": number,
                **beside,
            }
            for number, (environment, magnum, beside) in enumerate(
                (
                    ("b", "23.0.0", {}),
                    ("a", "23.0.0", {}),
                    ("b", "23.0.0", {}),
                    ("b", "22.0.0", {}),
                    ("lab", "23.0.0", {"helm": "3", "cluster_api": "1.13"}),
                    ("lab", "23.0.0", {"helm": "4", "cluster_api": "1.13"}),
                    ("lab", "23.0.0", {"helm": "4", "cluster_api": "1.14"}),
                    ("lab", "23.0.0", {"helm": "4", "cluster_api": "1.13"}),
                )
            )
        ]
        record = "\n".join(map(json.dumps, lines))
        self.assertEqual(
            [1, 3, 2, 4, 7, 6],
            [each["passed"] for each in compatibility.newest(record)],
        )

    def test_what_is_recorded_is_of_environments_that_there_are(self) -> None:
        known = compatibility.environments()
        lines = compatibility.newest(compatibility.RECORD.read_text())
        self.assertGreater(len(lines), 0)
        for each in lines:
            self.assertIn(each["environment"], known)
            self.assertRegex(each["date"], r"^20\d\d-\d\d-\d\d$")
            self.assertGreater(each["passed"], 0)


class EnvironmentsTest(unittest.TestCase):
    def test_a_generative_name_is_all_that_it_stands_for(self) -> None:
        for name, expected in (
            ("a{1,2}{,-x}", ["a1", "a1-x", "a2", "a2-x"]),
            ("pep8", ["pep8"]),
        ):
            self.assertEqual(expected, list(compatibility.expand(name)))

    def test_each_supported_magnum_meets_each_python(self) -> None:
        pairs = {
            tuple(name.removeprefix("compat-magnum").split("-"))
            for name in compatibility.environments()
            if name.startswith("compat-magnum")
        }
        pythons = {python for _, *last in pairs for python in last}
        self.assertLessEqual({"20", "23"}, {magnum for magnum, *_ in pairs})
        self.assertEqual(
            {(magnum, each) for magnum, *_ in pairs for each in pythons},
            {pair for pair in pairs if len(pair) == 2},
        )

    def test_the_pythons_are_those_of_the_classifiers(self) -> None:
        text = (archives.CHECKOUT / "setup.cfg").read_text()
        promised = re.findall(r"Python :: 3\.(\d+)$", text, re.MULTILINE)
        tried = {
            name.partition("-py3")[2] for name in compatibility.environments()
        }
        self.assertEqual(set(promised), tried - {""})
