# SPDX-License-Identifier: Apache-2.0

"""``test``: the tests of the project, from style to the whole cloud.

The cloud is new, and the demo is the first to use it. Without ``--all``, the
tests are those of common operations, which take half of the time.
"""

from collections.abc import Mapping, Sequence
from concurrent import futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

from lab import debian
from lab import environment
from lab import layout
from lab import predecessor
from lab import second_lab
from lab import stamps
from lab import steps
from lab import unpacked
from lab import virtualenv

_TOX = "tox~=4.30"
_LOG = layout.log("tox")
_START_LOG = layout.log("start")
_MACHINES_LOG = layout.log("machines")
# Rows of OpenStack's services before the tests.
_ROWS = layout.STATE / "rows.json"
# The quick one first, then those that need the lab.
_QUICK = "quick"
_COMMON = "functional"
_FURTHER = "further"
_ALONE = "alone"
_AGAIN = "again"
_CONFORMANCE = "conformance"
_FUNCTIONAL_PYTHON = layout.CHECKOUT / ".tox" / _COMMON / "bin" / "python"
# In the environment of the functional tests, which tox would make anew.
_CONFORMANCE_TESTS = (
    *(str(_FUNCTIONAL_PYTHON), "-W", "ignore", "-m", "lab.conformance"),
)
# The management cluster's version: most of it is compiled already.
_VERSION = {"LAB_KUBERNETES": "1.35"}
# So many failed tests on the lab may be its own slowness; more are not.
_FEW = 3
_COUNT = re.compile(r"^ - (Passed|Failed): (\d+)", re.MULTILINE)
# The output of stestr for a failed test, up to the next test.
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
    """Return the passed and the failed tests in the output of stestr."""
    numbers = {"Passed": 0, "Failed": 0}
    for word, number in _COUNT.findall(text):
        numbers[word] += int(number)
    return numbers["Passed"], numbers["Failed"]


def failures(text: str) -> tuple[str, ...]:
    """Return failed commands, and failed tests with reasons, from output."""
    failed = [f"the command {command}" for command in _ENDED.findall(text)]
    for name, printed in _FAILED.findall(text):
        reason = printed.partition(_TRACEBACK)[2].partition(_SECTION)[0]
        lines = reason.strip("~\n").splitlines()
        failed.append("\n".join([name, *lines[-_SHOWN:]]))
    return tuple(failed)


def worth_another_try(results: Sequence[Result]) -> bool:
    """Return whether a few tests failed, and nothing else did.

    On the lab real controllers back off after what a test did to them, for as
    long as sixteen minutes. Such a test passes the second time, and its name
    is printed in the end all the same, so that somebody looks at it.
    """
    failed = [result for result in results if result.code]
    named = all(0 < len(each.tests) == each.failed for each in failed)
    return named and 0 < sum(each.failed for each in failed) <= _FEW


def second_try(first: Result, again: Result) -> Result:
    """Return a result after its failed tests ran once more."""
    if again.code:
        return dataclasses.replace(
            first, failures=first.failures + again.failures
        )
    return dataclasses.replace(
        first,
        code=0,
        passed=first.passed + len(first.tests),
        failed=0,
        unsteady=first.tests,
    )


def run(*, everything: bool = False, alone: bool = False) -> int:
    """Run the tests; 0 only when all passed.

    :param everything: run those of less common operations, too
    :param alone: run only the tests that need a lab for themselves
    """
    # Whoever was here before would hide what a new lab lacks.
    code = _lab("wipe", "--keep-built")
    if code:
        return _report([Result("lab wipe", code)])
    _set_up()
    if alone:
        return _report(_alone())
    environments = [_COMMON, *([_FURTHER, _ALONE] if everything else [])]
    with futures.ThreadPoolExecutor() as pool:
        installing = pool.submit(_tox, _QUICK, "--notest")
        starting = pool.submit(_start, installing, environments)
        installing.result()
        results = [_tox(_QUICK)]
        code = starting.result()
    print(_START_LOG.read_text())
    try:
        if code:
            results.append(Result("lab up", code))
        else:
            results += _functional(everything=everything)
    finally:
        _lab("down")
    return _report(results)


def _start(
    installing: futures.Future[Result], environments: Sequence[str]
) -> int:
    """Build and start the lab while the quick tests run; return exit code.

    The build takes minutes the first time, and the quick tests leave half of
    a small machine idle. The build has a lower priority; services must not
    inherit it.

    :param installing: the environment of the quick tests gets the driver;
        environments get it from one folder, so not two at once
    :param environments: those of tests on the lab
    """
    _START_LOG.parent.mkdir(parents=True, exist_ok=True)
    lab = [sys.executable, "-m", "lab"]
    later = [str(_program()), "-e", ",".join(environments), "--notest"]
    with _START_LOG.open("wb") as sink:
        for words in (["nice", *lab, "build"], later, [*lab, "up"]):
            if words is later:
                futures.wait([installing])
            code = subprocess.run(
                words,
                cwd=layout.CHECKOUT,
                env=environment.outside(),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
            if code:
                return code
    return 0


def _set_up() -> None:
    value = stamps.fingerprint(_TOX, sys.version)
    if stamps.fresh("tox", value) and _program().exists():
        return

    def install() -> None:
        python = virtualenv.create(layout.TOX_VENV, _LOG)
        virtualenv.pip(python, _LOG, _TOX)

    steps.run([steps.step("tox", install)])
    stamps.write("tox", value)


def _program() -> pathlib.Path:
    return layout.TOX_VENV / "bin" / "tox"


def _lab(*words: str, **environ: str) -> int:
    print(f"\n=== lab {' '.join(words)} ===", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "lab", *words],
        cwd=layout.CHECKOUT,
        env=environment.outside(**environ),
        check=False,
    ).returncode


def _functional(*, everything: bool) -> list[Result]:
    """Run tests that need a lab, all of them on two labs where possible."""
    _lab("rows", "--keep", str(_ROWS))
    demo = _demo()
    predecessor.install()
    with futures.ThreadPoolExecutor() as pool:
        machines = debian.installable()
        if machines:
            pool.submit(_build_machines)
        if not everything:
            results = [_tox(_COMMON)]
        elif second_lab.available():
            results = _on_two_labs()
        else:
            results = [_tox(_COMMON), _tox(_FURTHER), _tox(_ALONE)]
        if worth_another_try(results):
            results = _again(results)
        results.append(_leftovers())
    if machines:
        results.append(_smoke())
    else:
        print(f"\n=== skipped: {_CONFORMANCE}; its machines need root")
    return [demo, *results]


def _demo() -> Result:
    """Run the command that newcomers run first."""
    code = _lab("demo")
    failures = ("the command python3 -m lab demo",) if code else ()
    return Result("demo", code, failures=failures)


def _build_machines() -> None:
    """Build what the conformance tests need while others wait for the lab.

    If it fails, the conformance tests do not start; ``machines.log`` says why.
    """
    with _MACHINES_LOG.open("wb") as sink:
        subprocess.run(
            ["nice", "-n", "19", *_CONFORMANCE_TESTS, "build"],
            cwd=layout.CHECKOUT,
            env=environment.outside(**_VERSION),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )


def _smoke() -> Result:
    """Run a few conformance tests where servers are machines that run."""
    code = _lab("up", "--nodes", **_VERSION)
    if code:
        return Result("lab up --nodes", code)
    try:
        result = _conformance()
        if result.code:
            # Its tests have limits of seconds. The cluster is there now.
            result = _conformance()
            if not result.code:
                result = dataclasses.replace(result, unsteady=(_CONFORMANCE,))
        return result
    finally:
        _lab("up", "--no-nodes")


def _conformance() -> Result:
    print("\n=== lab.conformance run ===", flush=True)
    return _watched(
        _CONFORMANCE,
        [*_CONFORMANCE_TESTS, "run"],
        layout.STATE,
        environ=environment.inside(**_VERSION),
    )


def _leftovers() -> Result:
    """Fail if OpenStack has rows that came with the tests."""
    code = _lab("rows", "--since", str(_ROWS))
    failures = ("rows that came with the tests",) if code else ()
    return Result("rows", code, failures=failures)


def _on_two_labs() -> list[Result]:
    """Run the tests on the lab that is up, and on a copy of what it built."""
    second_lab.prepare()
    words = second_lab.command(sys.executable, "-m", "lab", "test", "--alone")
    with futures.ThreadPoolExecutor() as pool:
        alone = pool.submit(_watched, _ALONE, words, second_lab.STATE, "  | ")
        return [_tox(_COMMON), _tox(_FURTHER), alone.result()]


def _again(results: Sequence[Result]) -> list[Result]:
    """Run failed tests once more, one after the other."""
    names = [name for each in results if each.code for name in each.tests]
    again = _tox(_AGAIN, "--", *names)
    return [second_try(each, again) if each.code else each for each in results]


def _alone() -> list[Result]:
    """Start the lab, run the tests that need it alone, and stop it."""
    try:
        code = _lab("up")
        if code:
            return [Result("lab up", code)]
        _lab("rows", "--keep", str(_ROWS))
        return [_tox(_ALONE), _leftovers()]
    finally:
        _lab("down")


def _tox(name: str, *words: str) -> Result:
    """Run an environment of tox, and show its output."""
    print(f"\n=== tox -e {name} ===", flush=True)
    program = [str(_program()), "-e", name, *words]
    return _watched(name, program, layout.STATE)


def _watched(
    name: str,
    words: Sequence[str],
    state: pathlib.Path,
    margin: str = "",
    environ: Mapping[str, str] | None = None,
) -> Result:
    """Run a program that prints results of tests, and show its output.

    :param state: the folder of the lab for the tests
    :param margin: text before each line
    :param environ: without it, the user's own with the lab's programs
    """
    child = subprocess.Popen(
        words,
        cwd=layout.CHECKOUT,
        env=environ or environment.outside(LAB_DIR=str(state), PATH=_path()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = []
    for line in child.stdout or ():
        print(f"{margin}{line}", end="", flush=True)
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
