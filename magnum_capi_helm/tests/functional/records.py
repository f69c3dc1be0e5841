# SPDX-License-Identifier: Apache-2.0
"""What tests say for a page of the documentation."""

from __future__ import annotations

from magnum_capi_helm.tests.functional import programs

#: What the last run of each said.
DIRECTORY = programs.LAB / "drills"
PAGES = programs.CHECKOUT / "doc" / "source" / "evidence" / "drills"


def write(name: str, text: str) -> None:
    """What a test has to say, in the place of what it said before."""
    DIRECTORY.mkdir(exist_ok=True)
    (DIRECTORY / f"{name}.txt").write_text(text)
