# SPDX-License-Identifier: Apache-2.0

"""What other programs print is understood."""

import pathlib
import tempfile
import unittest

from lab import definitions
from lab import golang
from lab import programs
from lab.commands import test as test_command
from lab.demo import timing


class VersionsTest(unittest.TestCase):
    def test_go(self) -> None:
        cases = {
            "go version go1.26.8 linux/amd64": (1, 26),
            "go version go1.9 linux/arm64": (1, 9),
            "go version devel +a1b2": None,
            "": None,
        }
        for text, version in cases.items():
            with self.subTest(text):
                self.assertEqual(version, golang.parse(text))

    def test_go_mod(self) -> None:
        text = (
            "module x\n\ngo 1.25.0\n\nrequire k8s.io/a v0.1.2\n\n"
            "require (\n\tk8s.io/b/v2 v2.0.0-rc.1 // indirect\n)\n"
        )
        self.assertEqual(
            {"k8s.io/a": "v0.1.2", "k8s.io/b/v2": "v2.0.0-rc.1"},
            programs.versions(text),
        )

    def test_every_program_has_a_version(self) -> None:
        required = programs.versions((programs.PLANE / "go.mod").read_text())
        for module, _ in definitions.CONFIGS.values():
            self.assertIn(module, required)


def _result(
    code: int, failed: int, tests: tuple[str, ...]
) -> test_command.Result:
    return test_command.Result(
        "functional", code, 7, failed, failures=tests, tests=tests
    )


class StestrTest(unittest.TestCase):
    def test_all_runs_are_counted(self) -> None:
        text = (
            "Totals\n - Passed: 12\n - Skipped: 1\n - Failed: 2\n"
            "Totals\n - Passed: 3\n - Failed: 0\n"
        )
        self.assertEqual((15, 2), test_command.count(text))

    def test_failed_tests_are_found_with_the_end_of_their_reason(self) -> None:
        text = (
            "{0} a.B.test_fine [0.1s] ... ok\n\nCaptured stderr:\n~~\n"
            "    Traceback (most recent call last):\n    Noise\n\n"
            "{1} a.B.test_bad [0.2s] ... FAILED\n\nCaptured stdout:\n~~\n"
            "    much\n\nCaptured traceback:\n~~~~\n"
            "    AssertionError: 1 != 2\n\nCaptured pythonlogging:\n~~\n"
            "    DEBUG much more\n\n"
            "{1} a.B.test_worse [0.2s] ... FAILED\n\n"
            "======\nTotals\n"
        )
        self.assertEqual(
            (
                "a.B.test_bad\n    AssertionError: 1 != 2",
                "a.B.test_worse",
            ),
            test_command.failures(text),
        )

    def test_commands_that_failed_are_found(self) -> None:
        text = (
            "quick: exit 1 (2.40 seconds) /src/x> doc8 README.rst pid=12241\n"
            "quick: exit 0 (0.20 seconds) /src/x> ruff check . pid=12242\n"
        )
        self.assertEqual(
            ("the command doc8 README.rst",), test_command.failures(text)
        )

    def test_a_few_failed_tests_are_run_again(self) -> None:
        one = ("a.B.test_bad",)
        four = tuple(f"a.B.test_{n}" for n in range(4))
        cases = {
            "nothing failed": ([_result(0, 0, ())], False),
            "a test failed": ([_result(1, 1, one)], True),
            "a test failed on one lab": (
                [_result(0, 0, ()), _result(1, 1, one)],
                True,
            ),
            "a broken command": ([_result(1, 0, ())], False),
            "a broken command on one lab": (
                [_result(1, 1, one), _result(1, 0, ())],
                False,
            ),
            "a test without a name": ([_result(1, 2, one)], False),
            "too many": ([_result(1, 4, four)], False),
            "too many on both labs": (
                [_result(1, 2, four[:2]), _result(1, 2, four[2:])],
                False,
            ),
        }
        for name, (results, expected) in cases.items():
            with self.subTest(name):
                self.assertIs(
                    expected, test_command.worth_another_try(results)
                )

    def test_what_passes_the_second_time_is_named(self) -> None:
        first = _result(1, 1, ("a.B.test_bad",))
        again = test_command.Result("again", 0)
        result = test_command.second_try(first, again)
        self.assertEqual(
            (0, 8, 0, ("a.B.test_bad",)),
            (result.code, result.passed, result.failed, result.unsteady),
        )

    def test_what_fails_twice_has_failed(self) -> None:
        first = _result(1, 1, ("a.B.test_bad",))
        again = test_command.Result("again", 1, failures=("the command x",))
        result = test_command.second_try(first, again)
        self.assertEqual(
            (1, 7, 1, ("a.B.test_bad", "the command x"), ()),
            (
                result.code,
                result.passed,
                result.failed,
                result.failures,
                result.unsteady,
            ),
        )

    def test_nothing_was_run(self) -> None:
        self.assertEqual((0, 0), test_command.count("ruff: all fine\n"))


class TimingTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "log"
        self.path.write_text("release a in ns-1: helm 9.0 s\n")
        self.log = timing.Log(self.path)

    def test_only_this_release_and_only_new_lines_count(self) -> None:
        with self.path.open("a") as stream:
            stream.write(
                "release a in ns-1: helm 1.5 s\n"
                "release b in ns-1: helm 7.0 s\n"
            )
        part = self.log.part("create", "a", 10.0)
        self.assertEqual(timing.Part("create", 10.0, 1.5), part)
        self.assertEqual(
            timing.Part("delete", 2.0, None),
            self.log.part("delete", "a", 2.0),
        )

    def test_the_table_has_the_rest_for_cluster_api(self) -> None:
        parts = [
            timing.Part("create", 10.0, 1.5),
            timing.Part("delete", 2.0, None),
        ]
        self.assertEqual(
            "               helm  Cluster API    total\n"
            "create        1.5 s        8.5 s   10.0 s\n"
            "delete            ?        2.0 s    2.0 s",
            timing.table(parts),
        )
