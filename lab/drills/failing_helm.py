# SPDX-License-Identifier: Apache-2.0
"""A helm that fails for some releases and works for all others."""

from __future__ import annotations

from collections.abc import Iterable
import pathlib

from magnum_capi_helm.tests.functional import programs

TEXT = "no space left on device"
_PROGRAM = """\
#!/bin/sh
if [ "$1" = upgrade ]; then
    for word; do
        if grep -qxe "$word" {folder}/failing; then
            echo "Error: UPGRADE FAILED: {text}" >&2
            exit 1
        fi
    done
fi
exec {helm} "$@"
"""


class FailingHelm:
    """A program in the place of helm.

    :param folder: for it and its list of releases
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._list = folder / "failing"
        self.program = folder / "helm"
        self.program.write_text(
            _PROGRAM.format(
                folder=folder, text=TEXT, helm=programs.LAB / "bin" / "helm"
            )
        )
        self.program.chmod(0o755)
        self.fail(())

    def fail(self, releases: Iterable[str]) -> None:
        """Let it fail for these releases alone, from now on."""
        self._list.write_text("".join(f"{each}\n" for each in releases))
