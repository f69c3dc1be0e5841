# SPDX-License-Identifier: Apache-2.0

"""``python3 -m lab.documents.reader user/quickstart``: a page on the lab.

Without a page, all of them. ``--tests user/quickstart`` shows the tests of
what the page says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import contextlib
import functools
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile

from keystoneauth1 import exceptions as ka_exceptions

from lab.documents import commands
from lab.documents import tables
from lab.documents import waiting
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs

_RC = {"demo": "openrc", "admin": "admin-openrc"}


@contextlib.contextmanager
def shell(
    env: Mapping[str, str], longest: float = 300
) -> Iterator[Callable[[str], tuple[int, str]]]:
    """Start one bash for a whole page in ``$HOME``, and kill it in the end.

    What is yielded runs a command, and returns its exit code and what it
    printed. It raises TimeoutError after ``longest`` seconds.
    """
    home = pathlib.Path(env["HOME"])
    step, printed = home / ".step", home / ".printed"
    with subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-o", "pipefail"],
        cwd=home,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as child:
        lines, codes = child.stdin, child.stdout
        assert lines and codes

        def run(command: str) -> tuple[int, str]:
            step.write_text(f"{command}\n")
            printed.write_text("")
            lines.write(f". '{step}' </dev/null >>'{printed}' 2>&1; echo $?\n")
            lines.flush()
            ended, _, _ = select.select([codes], [], [], longest)
            text = printed.read_text(errors="replace")
            if not ended:
                raise TimeoutError(f"{command}: {text[-2000:]}")
            code = codes.readline()
            if not code:
                raise RuntimeError(f"{command} ended the shell")
            return int(code), text

        try:
            yield run
        finally:
            os.killpg(child.pid, signal.SIGKILL)


class Reader:
    """One page: how many commands were run, and what was wrong.

    :param say: takes a text for who looks on
    """

    def __init__(self, page: str, say: Callable[[str], object]) -> None:
        self.run = self.not_run = 0
        self.wrong: list[str] = []
        self._steps = commands.steps(commands.read(page))
        self._say = say
        self._table = tables.load(page)
        self._waiting = waiting.Waiting(
            magnum_api.Magnum(magnum_api.keystone_session(self._table.user))
        )

    def read(self) -> None:
        """Run the page, and delete what it made."""
        with (
            tempfile.TemporaryDirectory() as folder,
            shell(_environment(pathlib.Path(folder))) as self._bash,
        ):
            for part in (self._go_through, self._leave):
                try:
                    part()
                except (
                    ka_exceptions.ClientException,
                    TimeoutError,
                    waiting.NotDone,
                ) as error:
                    self._note(str(error))

    def _go_through(self) -> None:
        login = f". '{programs.LAB / _RC[self._table.user]}'"
        given = (tables.GIVEN[name] for name in self._table.given)
        for script in (login, *given, self._table.before):
            self._prepare(script)
        for step in self._steps:
            self._step(step)
        self._waiting.settle()

    def _leave(self) -> None:
        self._waiting.clean_up()
        self._prepare(self._table.after)

    def _prepare(self, script: str) -> None:
        """Run commands that are not the page's own.

        :raises waiting.NotDone: one of them failed
        """
        for command, _ in commands.parse(script):
            self._waiting.before(command)
            self._say(f"# {command.strip()}\n")
            code, printed = self._bash(command)
            if code:
                raise waiting.NotDone(f"{command!r} gave {code}: {printed}")

    def _step(self, step: commands.Step) -> None:
        entry = self._table.entry(step.command)
        command = self._table.on_the_lab(step.command)
        if entry.not_run:
            self.not_run += 1
            self._say(f"# not run, {entry.not_run}: {command}\n")
            return
        self._prepare(entry.first)
        self._waiting.before(command)
        self._say(f"$ {command}\n")
        code, printed = self._bash(command)
        self._say(printed)
        self.run += 1
        if code != entry.code:
            self._note(f"{command!r} gave {code}: {printed[-2000:]}")
        if not re.search(entry.prints, printed, re.MULTILINE):
            self._note(f"{command!r}: no {entry.prints!r}: {printed[-2000:]}")
        wanted, found = columns(step.shown), columns(printed)
        # A command that finds nothing prints no table.
        if wanted and found and wanted != found:
            self._note(f"{command!r}: columns {found}, the page has {wanted}")

    def _note(self, wrong: str) -> None:
        self._say(f"WRONG: {wrong.splitlines()[0][:300]}\n")
        self.wrong.append(wrong)


def columns(text: str) -> list[str]:
    """Return the names of a table's columns; none: there is no table."""
    head = re.search(r"^\+-.*\n\|(.*)\|$", text, re.MULTILINE)
    return [each.strip() for each in head[1].split("|")] if head else []


def _environment(home: pathlib.Path) -> dict[str, str]:
    """Link Magnum's configuration to a home; return a shell's variables."""
    there = programs.LAB / "cloud" / "magnum"
    (home / ".magnum").mkdir()
    (home / ".magnum" / "magnum.conf").symlink_to(there / "magnum.conf")
    (home / ".magnum" / "magnum.conf.d").symlink_to(there / "conf.d")
    folders = {"CHECKOUT": str(programs.CHECKOUT), "LAB": str(programs.LAB)}
    # Magnum's client prints what suits the shell.
    shown = {"LANG": "C.UTF-8", "SHELL": "/bin/bash", "HOME": str(home)}
    return {**folders, **shown, "PATH": os.environ["PATH"]}


def main(pages: list[str]) -> bool:
    """Return whether a command did not do what its page says."""
    if pages[:1] == ["--tests"]:
        for page in pages[1:]:
            for word in tables.load(page).tests:
                print(*tables.tests(word), sep="\n")
        return False
    failed = False
    for page in pages or tables.pages():
        if not tables.load(page).not_run:
            reader = Reader(page, functools.partial(print, end="", flush=True))
            reader.read()
            print(f"== {page}: {reader.run} run, {reader.not_run} not run")
            failed |= bool(reader.wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
