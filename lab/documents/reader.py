# SPDX-License-Identifier: Apache-2.0

"""Goes through a page on the lab, command by command."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import os
import pathlib
import re
import tempfile

from keystoneauth1 import exceptions as ka_exceptions

from lab.documents import commands
from lab.documents import shapes
from lab.documents import shell
from lab.documents import tables
from lab.documents import waiting
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs


@dataclasses.dataclass
class Read:
    """How a page was read."""

    run: int = 0
    not_run: int = 0
    #: A text for each command that did not do what the page says.
    wrong: list[str] = dataclasses.field(default_factory=list)


class Reader:
    """One page.

    :param say: takes a text for who looks on
    """

    def __init__(self, page: str, say: Callable[[str], object]) -> None:
        self._page = page
        self._say = say
        self._table = tables.load(page)
        self._read = Read()
        self._waiting = waiting.Waiting(
            magnum_api.Magnum(magnum_api.keystone_session(self._table.user))
        )

    def read(self) -> Read:
        """Run the page; what it made is gone afterwards."""
        self._say(f"== {self._page}\n")
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            _configure(home)
            for name, text in commands.files(commands.text(self._page)):
                (home / name).write_text(text)
            with shell.Shell(home, _environment()) as bash:
                self._counted(self._through, bash)
                self._counted(self._leave, bash)
        return self._read

    def _counted(
        self, part: Callable[[shell.Shell], None], bash: shell.Shell
    ) -> None:
        try:
            part(bash)
        except (
            ka_exceptions.ClientException,
            TimeoutError,
            waiting.NotDone,
        ) as error:
            self._wrong(str(error))

    def _through(self, bash: shell.Shell) -> None:
        rc = programs.LAB / _RC[self._table.user]
        self._must(bash, f". '{rc}'")
        for each in self._table.given:
            self._granted(bash, tables.given(each))
        self._granted(bash, self._table.before)
        for step in commands.steps(commands.text(self._page)):
            self._one(bash, step)
        self._waiting.settle()

    def _granted(self, bash: shell.Shell, script: str) -> None:
        """Run a script of which each command is waited for."""
        for each in commands.of_script(script):
            self._waiting.before(each)
            self._must(bash, each)

    def _one(self, bash: shell.Shell, step: commands.Step) -> None:
        entry = self._table.entry(step.command)
        if entry.not_run:
            self._read.not_run += 1
            first = step.command.splitlines()[0]
            self._say(f"# not run, {entry.not_run}: {first}\n")
            return
        here = self._table.on_the_lab(step.command)
        self._granted(bash, entry.first)
        self._waiting.before(here)
        self._say(f"$ {here}\n")
        code, printed = bash.run(here)
        self._say(printed)
        self._read.run += 1
        if code != entry.code:
            self._wrong(f"{here!r} ended with {code}: {printed[-2000:]}")
        if not re.search(entry.prints, printed, re.MULTILINE):
            self._wrong(f"{here!r}: no {entry.prints!r} in {printed[-2000:]}")
        strange = shapes.differ(step.shown, printed)
        if strange:
            self._wrong(f"{here!r}: {strange}")

    def _wrong(self, text: str) -> None:
        self._say(f"WRONG: {text.splitlines()[0][:300]}\n")
        self._read.wrong.append(text)

    def _leave(self, bash: shell.Shell) -> None:
        self._waiting.clean_up()
        if self._table.after:
            self._granted(bash, self._table.after)

    def _must(self, bash: shell.Shell, command: str) -> None:
        """Run what is not the page's own."""
        self._say(f"# {command.strip()}\n")
        code, printed = bash.run(command)
        if code:
            raise waiting.NotDone(f"{command!r} ended with {code}: {printed}")


_RC = {"demo": "openrc", "admin": "admin-openrc"}


def _configure(home: pathlib.Path) -> None:
    """Magnum's configuration, where its programs look for a user's."""
    there = programs.LAB / "cloud" / "magnum"
    (home / ".magnum").mkdir()
    (home / ".magnum" / "magnum.conf").symlink_to(there / "magnum.conf")
    (home / ".magnum" / "magnum.conf.d").symlink_to(there / "conf.d")


def _environment() -> dict[str, str]:
    return {
        "CHECKOUT": str(programs.CHECKOUT),
        "LAB": str(programs.LAB),
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
        # Magnum's client says what suits it.
        "SHELL": "/bin/bash",
    }
