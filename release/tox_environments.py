# SPDX-License-Identifier: Apache-2.0

"""The environments that tox.ini has, without asking tox."""

from __future__ import annotations

from collections.abc import Iterator
import configparser
import itertools
import re

from release import archives

_SECTION = "testenv:"
_CHOICE = re.compile(r"\{([^{}]*)\}")
#: Those that tox has without being told.
_IMPLIED = ("py310", "py311", "py312", "py313")


def expand(name: str) -> Iterator[str]:
    """Every name that one generative name stands for.

    ``a{1,2}{,-x}`` is ``a1``, ``a1-x``, ``a2`` and ``a2-x``.
    """
    parts = _CHOICE.split(name)
    # Every other one is what stood in braces.
    choices = [
        part.split(",") if number % 2 else [part]
        for number, part in enumerate(parts)
    ]
    for chosen in itertools.product(*choices):
        yield "".join(chosen)


def defined() -> list[str]:
    """Names of all environments, in the order of the file."""
    parser = configparser.RawConfigParser()
    parser.read(archives.CHECKOUT / "tox.ini")
    names = [
        name
        for section in parser.sections()
        if section.startswith(_SECTION)
        for name in expand(section.removeprefix(_SECTION))
    ]
    return [*_IMPLIED, *names]


def compatibility() -> list[str]:
    """Those that are recorded as what was tried with what."""
    return [name for name in defined() if name.startswith("compat-")]
