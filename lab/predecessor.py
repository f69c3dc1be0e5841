# SPDX-License-Identifier: Apache-2.0

"""The driver before this one, as PyPI has it, for clusters that it made.

It is a distribution and a package of the same name. Therefore it lies in a
folder of its own, without dependencies: those are Magnum's, which the lab
has. A Magnum with that folder first on its path runs it; nothing else does.
"""

import pathlib

from lab import layout
from lab import stamps
from lab import virtualenv

VERSION = "1.4.0"
FOLDER = layout.STATE / f"driver-{VERSION}"
_REQUIREMENT = f"magnum-capi-helm=={VERSION}"
_STAMP = "installed.stamp"
_LOG = layout.log("predecessor")


def ready() -> bool:
    """Whether it is installed."""
    return stamps.fresh(_STAMP, _fingerprint(), FOLDER)


def install() -> None:
    """Fetch it from PyPI, unless it is there."""
    if ready():
        return
    words = ("--no-deps", "--upgrade", f"--target={FOLDER}", _REQUIREMENT)
    virtualenv.pip(layout.PYTHON, _LOG, *words)
    stamps.write(_STAMP, _fingerprint(), FOLDER)


def files() -> list[pathlib.Path]:
    """What a Magnum that runs it was started from."""
    return [FOLDER / _STAMP]


def _fingerprint() -> str:
    return stamps.fingerprint(_REQUIREMENT)
