# SPDX-License-Identifier: Apache-2.0

"""``test``: every test of the project, from style to the whole cloud."""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

from lab import environment
from lab import layout
from lab import processes
from lab import progress
from lab import stamps
from lab import steps
from lab import tools
from lab import unpacked
from lab import virtualenv

_TOX = "tox~=4.30"
_LOG = layout.log("tox")
_BUILD_LOG = layout.log("build")
# The quick one first, then the one that needs the lab.
_QUICK = "quick"
_SLOW = "functional"
_AGAIN = "again"
# So many failed tests on the lab may be its own slowness; more are not.
_FEW = 3
_COUNT = re.compile(r"^ - (Passed|Failed): (\d+)", re.MULTILINE)
# What stestr prints of a failed test as it goes, up to the next test.
_FAILED = re.compile(
    r"^\{\d+\} (\S+)[^\n]* FAILED$(.*?)(?=^\{\d+\} |^=+$)",
    re.MULTILINE | re.DOTALL,
)
# A command of tox, with its folder and process.
_ENDED = re.compile(
    r"^\S+: exit (?!0 )\d+ \([\d.]+ seconds\) \S+> (.*?)(?: pid=\d+)?$",
    re.MULTILINE,
)
_TRACEBACK = "Captured traceback:"
_SECTION = "\nCaptured "
# Lines of a traceback that are shown again: its end is what counts.
_SHOWN = 25


@dataclasses.dataclass(frozen=True)
class Result:
    """How one environment ended, and the tests it counted."""

    name: str
    code: int
    passed: int = 0
    failed: int = 0
    failures: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Those of ``failures`` that are tests, by name."""
    unsteady: tuple[str, ...] = ()
    """Tests that passed the second time only."""


def count(text: str) -> tuple[int, int]:
    """Passed and failed tests in what stestr printed."""
    numbers = {"Passed": 0, "Failed": 0}
    for word, number in _COUNT.findall(text):
        numbers[word] += int(number)
    return numbers["Passed"], numbers["Failed"]


def failures(text: str) -> tuple[str, ...]:
    """What failed, in what tox printed: commands, and tests with reasons."""
    found = [f"the command {command}" for command in _ENDED.findall(text)]
    for name, printed in _FAILED.findall(text):
        reason = printed.partition(_TRACEBACK)[2].partition(_SECTION)[0]
        lines = reason.strip("~\n").splitlines()
        found.append("\n".join([name, *lines[-_SHOWN:]]))
    return tuple(found)


def worth_another_try(result: Result) -> bool:
    """Whether a few tests failed, and nothing else did.

    On the lab real controllers back off after what a test did to them, for as
    long as sixteen minutes. Such a test is right the second time, and is named
    in the end all the same: somebody has to look at it.
    """
    return 0 < len(result.tests) == result.failed <= _FEW


def together(first: Result, second: Result) -> Result:
    """What it amounts to: the failed tests of the first were run again."""
    if second.code:
        return dataclasses.replace(
            first, failures=first.failures + second.failures
        )
    return dataclasses.replace(
        first,
        code=0,
        passed=first.passed + len(first.tests),
        failed=0,
        unsteady=first.tests,
    )


def run() -> int:
    """Run everything; 0 only when everything passed."""
    _set_up()
    building = _build()
    try:
        results = [_tox(_QUICK)]
    finally:
        built = building.wait()
    if built:
        print(_BUILD_LOG.read_text())
    was_up = _any_service()
    try:
        results.append(_functional())
    finally:
        if not was_up:
            _lab("down")
    return _report(results)


def _build() -> subprocess.Popen[bytes]:
    """Build the lab while the quick tests run.

    It takes minutes the first time, and they leave half of a small machine
    idle. They go first: what is built is nicer than they.
    """
    _BUILD_LOG.parent.mkdir(parents=True, exist_ok=True)
    with _BUILD_LOG.open("wb") as sink:
        return subprocess.Popen(
            ["nice", sys.executable, "-m", "lab", "build"],
            cwd=layout.CHECKOUT,
            env=environment.outside(),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )


def _set_up() -> None:
    value = stamps.fingerprint(_TOX, sys.version)
    if stamps.fresh("tox", value) and _program().exists():
        return

    def install(say: steps.Say) -> None:
        python = virtualenv.create(layout.TOX_VENV, _LOG)
        tools.run(
            [python, "-m", "pip", "install", "-q", _TOX],
            log=_LOG,
            env=environment.outside(),
        )

    board = progress.Board(sys.stdout, 1)
    steps.run([steps.Step("tox", install)], board)
    stamps.write("tox", value)


def _program() -> pathlib.Path:
    return layout.TOX_VENV / "bin" / "tox"


def _any_service() -> bool:
    records = layout.RUN.glob("*.pid")
    return any(processes.alive(processes.read(path)) for path in records)


def _lab(command: str) -> int:
    print(f"\n=== lab {command} ===", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "lab", command],
        cwd=layout.CHECKOUT,
        env=environment.outside(),
        check=False,
    ).returncode


def _functional() -> Result:
    code = _lab("up")
    if code:
        return Result("lab up", code)
    result = _tox(_SLOW)
    if worth_another_try(result):
        return together(result, _tox(_AGAIN, *result.tests))
    return result


def _tox(name: str, *arguments: str) -> Result:
    """One environment, shown as it runs."""
    print(f"\n=== tox -e {name} ===", flush=True)
    child = subprocess.Popen(
        [_program(), "-e", name, "--", *arguments],
        cwd=layout.CHECKOUT,
        env=environment.outside(LAB_DIR=str(layout.STATE), PATH=_path()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = []
    for line in child.stdout or ():
        print(line, end="", flush=True)
        lines.append(line)
    text = "".join(lines)
    tests = tuple(name for name, _ in _FAILED.findall(text))
    return Result(name, child.wait(), *count(text), failures(text), tests)


def _path() -> str:
    """Return the user's PATH with the programs from Debian packages."""
    folders = [each.folder() for each in unpacked.PROGRAMS]
    known = os.environ.get("PATH", "")
    return os.pathsep.join([*map(str, filter(None, folders)), known])


def _report(results: list[Result]) -> int:
    """Failures once more: thousands of lines may lie behind them."""
    for result in results:
        for failure in result.failures:
            print(f"\n=== failed in {result.name}: {failure}")
        for name in result.unsteady:
            print(f"\n=== passed the second time only: {name}")
    print()
    for result in results:
        verdict = "failed" if result.code else "passed"
        tests = f"{result.passed} passed, {result.failed} failed"
        print(f"  {result.name:12} {verdict:8} {tests}")
    passed = sum(result.passed for result in results)
    # A run that broke without a failed test counts as one.
    failed = sum(
        result.failed or min(abs(result.code), 1) for result in results
    )
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
