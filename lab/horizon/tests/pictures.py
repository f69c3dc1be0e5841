# SPDX-License-Identifier: Apache-2.0

"""Pictures of the last run into the documentation.

``python3 -m lab.horizon.tests.pictures``, after the tests, with
their environment. They get as few colours as a page of text has: that makes
them small.
"""

from __future__ import annotations

import pathlib

from PIL import Image

from magnum_capi_helm.tests.functional import programs

#: What pages looked like in the last run.
SHOTS = programs.LAB / "horizon" / "shots"
PAGES = programs.CHECKOUT / "doc" / "source" / "user" / "horizon"
#: What the page of the guide shows.
NAMES = ("network", "healthy", "upgrading", "failing")
_COLOURS = 64


def publish(source: pathlib.Path, target: pathlib.Path) -> None:
    """Write a picture again, small."""
    with Image.open(source) as picture:
        small = picture.convert("RGB").quantize(
            _COLOURS, dither=Image.Dither.NONE
        )
        small.save(target, optimize=True)


def main() -> None:
    """Those that the guide shows."""
    PAGES.mkdir(exist_ok=True)
    for name in NAMES:
        publish(SHOTS / f"{name}.png", PAGES / f"{name}.png")


if __name__ == "__main__":
    main()
