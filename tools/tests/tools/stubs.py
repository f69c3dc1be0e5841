# SPDX-License-Identifier: Apache-2.0

"""Bash scripts, run for real, among programs that only note their arguments.

Each stub writes one line into a log: its name and arguments, as a shell would
take them. What it answers is a piece of bash, or nothing. Paths in the log are
those of the test, with its directory as ``T`` and the checkout's as ``ROOT``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import pathlib
import shlex
import subprocess
import sys

import fixtures

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

    :param names: of the programs
    :param answers: bash, by program
    """

    def __init__(
        self, names: Iterable[str], answers: Mapping[str, str]
    ) -> None:
        super().__init__()
        self._names = list(names)
        self._answers = dict(answers)

    def _setUp(self) -> None:  # noqa: N802
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.log = self.path / "log"
        for each in ("bin", "answers", "home"):
            (self.path / each).mkdir()
        for name in self._names:
            self.add(name)
        # That of the tests, which has all libraries.
        python = self.path / "bin" / "python3"
        python.write_text(
            f'#!/bin/bash\nexec {shlex.quote(sys.executable)} "$@"\n'
        )
        python.chmod(0o755)
        for name, text in self._answers.items():
            self.answer(name, text)

    def add(self, name: str) -> None:
        """One more program."""
        program = self.path / "bin" / name
        program.write_text(_STUB)
        program.chmod(0o755)

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
