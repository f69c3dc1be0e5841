# SPDX-License-Identifier: Apache-2.0

"""Bash scripts, run for real, among programs that only note their arguments.

Each stub writes one line into a log: its name and arguments, as a shell would
take them. What it answers is a piece of bash, or nothing. Paths in the log are
those of the test, with its directory as ``T`` and the checkout's as ``ROOT``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import itertools
import pathlib
import shlex
import subprocess
import sys

import fixtures
from oslotest import base

import magnum_capi_helm

ROOT = pathlib.Path(magnum_capi_helm.__file__).parents[1]

_STUB = """#!/bin/bash
{
    printf '%s' "${0##*/}"
    (($# == 0)) || printf ' %q' "$@"
    printf '\\n'
} >>"$STUB_LOG"
if [[ -f $STUBS/answers/${0##*/} ]]; then
    source "$STUBS/answers/${0##*/}"
fi
"""

#: What is fetched says where it comes from. Checksums are those of it, and
#: clusterctl is one more stub.
CURL = """
url=${*: -1}
for ((i = 1; i <= $#; i++)); do
    [[ ${!i} != --output ]] || { ((i++)); out=${!i}; }
done
case $url in
    *.sha256sum) base=${url%.sha256sum} ;;
    */sha256sum-*) base=${url%/*}/k3s ;;
    */clusterctl-*) cp "$STUBS/bin/clusterctl" "$out"; exit ;;
    *) echo "$url" >"$out"; exit ;;
esac
echo "$(echo "$base" | sha256sum | cut -d ' ' -f 1)  ${base##*/}" >"$out"
"""
#: helm's archive has helm in it.
TAR = """
while (($#)); do
    [[ $1 != --directory ]] || cp "$STUBS/bin/helm" "$2/helm"
    shift
done
"""


class Stubs(fixtures.Fixture):
    """A directory of stubs, which comes first on the PATH.

    :param answers: bash, by program
    """

    def __init__(self, answers: Mapping[str, str]) -> None:
        super().__init__()
        self._answers = answers

    def _setUp(self) -> None:  # noqa: N802
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.log = self.path / "log"
        for each in ("bin", "answers", "home"):
            (self.path / each).mkdir()
        # That of the tests, which has all libraries.
        python = f'#!/bin/bash\nexec {shlex.quote(sys.executable)} "$@"\n'
        for name in ("python3", *self._answers):
            program = self.path / "bin" / name
            program.write_text(python if name == "python3" else _STUB)
            program.chmod(0o755)
        for name, text in self._answers.items():
            self.answer(name, text)

    def answer(self, name: str, text: str) -> None:
        """What a program does beside taking notes."""
        (self.path / "answers" / name).write_text(text)

    def bash(
        self, *argv: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run bash; what it wrote is in the answer."""
        return subprocess.run(
            ["/bin/bash", *argv],
            env={
                "HOME": str(self.path / "home"),
                "PATH": f"{self.path}/bin:/usr/bin:/bin",
                "STUBS": str(self.path),
                "STUB_LOG": str(self.log),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=50,
        )

    def commands(self) -> list[str]:
        """What was run since the last time."""
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return self.plain(text).splitlines()

    def plain(self, text: str) -> str:
        """Without the paths of this run."""
        return text.replace(str(self.path), "T").replace(str(ROOT), "ROOT")


class ScriptTestCase(base.BaseTestCase):
    """Runs scripts among stubs.

    :cvar answers: bash, by program
    """

    answers: Mapping[str, str]

    def setUp(self) -> None:
        super().setUp()
        self.stubs = self.useFixture(Stubs(self.answers))
        self.path = self.stubs.path

    def assert_commands(
        self, texts: Sequence[str], commands: Sequence[str]
    ) -> None:
        """Each command has its text, and there is no other command."""
        pairs = itertools.zip_longest(texts, commands, fillvalue="(none)")
        for text, command in pairs:
            self.assertIn(text, command)
