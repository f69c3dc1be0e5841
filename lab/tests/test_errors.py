# SPDX-License-Identifier: Apache-2.0

"""A failure says what, where to look, and what to do."""

import pathlib
import tempfile
import unittest

from lab import errors


class RenderTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"

    def test_the_end_of_the_log_is_shown(self) -> None:
        lines = [f"line {number}" for number in range(40)]
        self.log.write_text("\n".join(lines))
        error = errors.LabError("etcd ended with 1", log=self.log, hint="x")
        shown = errors.render("etcd", error).splitlines()
        self.assertEqual("FAILED: etcd: etcd ended with 1", shown[0])
        self.assertEqual(f"  log: {self.log}", shown[1])
        self.assertEqual([f"  | {line}" for line in lines[-15:]], shown[2:17])
        self.assertEqual(["  do: x"], shown[17:])

    def test_the_log_tells_what_to_do(self) -> None:
        cases = {
            "write /x: no space left on device": "",
            "write: No space left on device": "disk",
            "dial tcp: lookup x: no such host": "network",
            "Temporary failure in name resolution": "network",
            "link: signal: killed": "memory",
            "listen: address already in use": "port",
        }
        for text, word in cases.items():
            with self.subTest(text):
                self.log.write_text(text)
                error = errors.LabError("it failed", log=self.log)
                shown = errors.render("step", error)
                self.assertEqual(bool(word), "\n  do: " in shown)
                self.assertIn(word, shown)

    def test_a_log_that_is_not_there_does_no_harm(self) -> None:
        error = errors.LabError("it failed", log=self.log)
        self.assertEqual(
            f"FAILED: step: it failed\n  log: {self.log}",
            errors.render("step", error),
        )
