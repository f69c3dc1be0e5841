# SPDX-License-Identifier: Apache-2.0

"""What is kept of runs, and the environments that are run."""

from __future__ import annotations

import json
import pathlib
import re
import tempfile
from typing import Any
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
    def test_the_totals_of_stestr_are_read(self) -> None:
        self.assertEqual(
            {"passed": 9, "skipped": 2, "failed": 1},
            compatibility.counts(_OUTPUT),
        )

    def test_the_last_of_several_totals_counts(self) -> None:
        first = _OUTPUT.replace("Passed: 9", "Passed: 4")
        self.assertEqual(9, compatibility.counts(first + _OUTPUT)["passed"])

    def test_a_run_without_totals_says_its_last_lines(self) -> None:
        with self.assertRaisesRegex(compatibility.NoCounts, "no such package"):
            compatibility.counts("ERROR: no such package\n")

    def test_a_run_of_no_test_is_no_run(self) -> None:
        output = re.sub(r": \d+$", ": 0", _OUTPUT, flags=re.MULTILINE)
        with self.assertRaises(compatibility.NoCounts):
            compatibility.counts(output)


class RecordTest(unittest.TestCase):
    def _line(
        self, environment: str, day: str, passed: int, **beside: str
    ) -> dict[str, Any]:
        return compatibility.line(
            environment,
            {"python": "3.11.7", "packages": {"magnum": "23.0.0"}} | beside,
            {"passed": passed, "skipped": 0, "failed": 0},
            day,
        )

    def test_a_line_has_date_versions_and_counts(self) -> None:
        self.assertEqual(
            {
                "date": "2026-11-22",
                "environment": "compat-magnum23",
                "python": "3.11.7",
                "packages": {"magnum": "23.0.0"},
                "passed": 7,
                "skipped": 0,
                "failed": 0,
            },
            self._line("compat-magnum23", "2026-11-22", 7),
        )

    def test_the_last_line_of_each_environment_is_shown(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            record = pathlib.Path(folder) / "record.jsonl"
            for found in (
                self._line("b", "2026-11-20", 1),
                self._line("a", "2026-11-21", 2),
                self._line("b", "2026-11-22", 3),
            ):
                compatibility.add(found, record)
            shown = compatibility.newest(record.read_text())
        self.assertEqual(
            [("a", 2), ("b", 3)],
            [(each["environment"], each["passed"]) for each in shown],
        )

    def test_each_helm_and_each_cluster_api_has_a_line_of_its_own(
        self,
    ) -> None:
        lines = [
            self._line("lab", "2026-11-20", 1, helm="3", cluster_api="1.13"),
            self._line("lab", "2026-11-20", 2, helm="4", cluster_api="1.13"),
            self._line("lab", "2026-11-20", 3, helm="4", cluster_api="1.14"),
            self._line("lab", "2026-11-21", 4, helm="4", cluster_api="1.13"),
        ]
        record = "\n".join(map(json.dumps, lines))
        self.assertEqual(
            [1, 4, 3],
            [each["passed"] for each in compatibility.newest(record)],
        )

    def test_each_magnum_of_one_environment_has_a_line_of_its_own(
        self,
    ) -> None:
        lines = [
            self._line("lab", f"2026-11-2{day}", day)
            | {"packages": {"magnum": f"{magnum}.0.0"}}
            for day, magnum in enumerate((21, 22, 21), start=1)
        ]
        record = "\n".join(map(json.dumps, lines))
        self.assertEqual(
            [3, 2], [each["passed"] for each in compatibility.newest(record)]
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
        self.assertEqual(
            ["a1", "a1-x", "a2", "a2-x"],
            list(compatibility.expand("a{1,2}{,-x}")),
        )

    def test_a_plain_name_is_itself(self) -> None:
        self.assertEqual(["pep8"], list(compatibility.expand("pep8")))

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
