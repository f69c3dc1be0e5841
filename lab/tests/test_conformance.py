# SPDX-License-Identifier: Apache-2.0

"""What is read from a run of the conformance tests."""

import pathlib
import tempfile
import unittest

from lab.conformance import results

_REPORT = """\
<testsuites><testsuite>
  <testcase name="[SynchronizedBeforeSuite]" status="passed" time="9"/>
  <testcase
    name="[It] [sig-node] Pods should be updated [LinuxOnly] [Conformance]"
    status="passed" time="4.2"/>
  <testcase
    name="[It] [sig-apps] Job should run [Conformance] [sig-apps, Conformance]"
    status="failed" time="300.04">
    <failure message="timed out
        waiting"/></testcase>
  <testcase
    name="[It] [sig-node] Pods should be old [LinuxOnly] [Conformance]"
    status="timedout" time="2"><error message="suite timed out"/></testcase>
  <testcase name="[It] [sig-node] Pods [Slow]" status="skipped" time="0"/>
</testsuite></testsuites>
"""
_JOB = "[sig-apps] Job should run"
_OLD = "[sig-node] Pods should be old"
_UPDATED = "[sig-node] Pods should be updated"
_ROWS = [
    results.Row(_JOB, "failed", 300.04, "timed out waiting"),
    results.Row(_OLD, "failed", 2.0, "suite timed out"),
    results.Row(_UPDATED, "passed", 4.2),
]


class ResultsTest(unittest.TestCase):
    def test_each_test_of_conformance_is_a_row(self) -> None:
        self.assertEqual(_ROWS, results.read(_REPORT))

    def test_others_did_not_run(self) -> None:
        self.assertEqual(_ROWS[2:], results.read(_REPORT, [_UPDATED]))

    def test_a_known_reason_takes_the_place_of_the_message(self) -> None:
        known = {_OLD: "it wants a disk"}
        self.assertEqual(_ROWS[:1], results.unexplained(_ROWS, known))
        self.assertEqual(
            f"""\
failed: {_JOB}
    timed out waiting
failed: {_OLD}
    it wants a disk
 - Passed: 1
 - Failed: 2
 - Skipped: 0""",
            results.summary(_ROWS, known),
        )

    def test_the_table_has_seconds(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, "table.csv")
            results.write(_ROWS[:1], target)
            self.assertEqual(
                f"result,seconds,test\nfailed,300,{_JOB}\n",
                target.read_text(),
            )
