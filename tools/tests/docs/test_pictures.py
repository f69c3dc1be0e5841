# SPDX-License-Identifier: Apache-2.0

"""Pictures of the documentation: small, shown, and told in words."""

from __future__ import annotations

import re

from oslotest import base

from magnum_capi_helm.tests import folders
from tools import archives

_SOURCE = archives.CHECKOUT / "doc" / "source"
#: Bytes: who reads on a slow line waits for them, and git keeps each for ever.
_LARGEST = 100_000
_TEXT = re.compile(r'<text x="(\d+)" y="(\d+)"[^>]*>(\w+)</text>')
_SHOWN = re.compile(r"^\.\. image:: (\S+)\n((?:   .*\n)*)", re.MULTILINE)


class PicturesTest(base.BaseTestCase):
    def test_each_is_small_and_shown_with_an_alternative_text(self) -> None:
        shown = set()
        for page in _SOURCE.rglob("*.rst"):
            for name, options in _SHOWN.findall(page.read_text()):
                self.assertIn(":alt: ", options, name)
                folder = _SOURCE if name.startswith("/") else page.parent
                shown.add(folder / name.lstrip("/"))
        self.assertEqual(
            {*_SOURCE.rglob("*.png"), *_SOURCE.rglob("*.svg")}, shown
        )
        users = [*(_SOURCE / "user").rglob("*.png")]
        self.assertGreater(len(users), 3)
        self.assertLess(max(path.stat().st_size for path in users), _LARGEST)

    def test_architecture_shows_and_explains_each_folder(self) -> None:
        """The picture has them in the order of imports."""
        page = _SOURCE / "contributor" / "architecture.rst"
        names = [name for each in folders.LAYERS for name in sorted(each)]
        picture = page.with_name("layers.svg").read_text()
        places = sorted(
            (int(y), int(x), name)
            for x, y, name in _TEXT.findall(picture)
            if name in names
        )
        self.assertEqual(names, [name for *_, name in places])
        text = page.read_text()
        self.assertEqual([], [e for e in names if f"``{e}``" not in text])
