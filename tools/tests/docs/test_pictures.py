# SPDX-License-Identifier: Apache-2.0

"""Pictures of the documentation: small, shown, and told in words."""

from __future__ import annotations

import pathlib
import re

from oslotest import base

from magnum_capi_helm.tests import folders

_SOURCE = pathlib.Path(__file__).parents[3] / "doc" / "source"
#: Bytes: who reads on a slow line waits for them, and git keeps each for ever.
_LARGEST = 100_000
_TEXT = re.compile(r'<text x="(\d+)" y="(\d+)"[^>]*>(\w+)</text>')
_SHOWN = re.compile(r"^\.\. image:: (\S+)\n((?:   .*\n)*)", re.MULTILINE)


def _shown() -> dict[pathlib.Path, str]:
    """Picture -> the options that a page shows it with."""
    found = {}
    for page in _SOURCE.rglob("*.rst"):
        for name, options in _SHOWN.findall(page.read_text()):
            folder = _SOURCE if name.startswith("/") else page.parent
            found[folder / name.lstrip("/")] = options
    return found


class PicturesTest(base.BaseTestCase):
    def test_each_is_shown_and_each_that_is_shown_is_there(self) -> None:
        pictures = {*_SOURCE.rglob("*.png"), *_SOURCE.rglob("*.svg")}
        self.assertEqual(pictures, set(_shown()))

    def test_each_of_the_users_guide_is_small(self) -> None:
        pictures = (_SOURCE / "user").rglob("*.png")
        sizes = {path.name: path.stat().st_size for path in pictures}
        self.assertGreater(len(sizes), 3)
        self.assertEqual(
            {},
            {name: size for name, size in sizes.items() if size > _LARGEST},
        )

    def test_each_picture_has_an_alternative_text(self) -> None:
        silent = [
            path.name
            for path, options in _shown().items()
            if ":alt: " not in options
        ]
        self.assertEqual([], silent)


class LayersTest(base.BaseTestCase):
    """The architecture page shows and explains each folder."""

    page = _SOURCE / "contributor" / "architecture.rst"

    def test_picture_has_the_folders_in_the_order_of_imports(self) -> None:
        layers = [sorted(layer) for layer in folders.LAYERS]
        names = [name for layer in layers for name in layer]
        picture = self.page.with_name("layers.svg").read_text()
        places = sorted(
            (int(y), int(x), name)
            for x, y, name in _TEXT.findall(picture)
            if name in names
        )
        self.assertEqual(names, [name for *_, name in places])

    def test_page_explains_each_folder(self) -> None:
        page = self.page.read_text()
        silent = [
            name
            for layer in folders.LAYERS
            for name in layer
            if f"``{name}``" not in page
        ]
        self.assertEqual([], silent)
