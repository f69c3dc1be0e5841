# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Pictures of the last run into the documentation.

``python3 -m magnum_capi_helm.tests.horizon.pictures``, after the tests, with
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
