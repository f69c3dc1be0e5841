# SPDX-License-Identifier: Apache-2.0

"""Pages of the guide: links into them, pictures, names of objects.

Sphinx checks the links between pages. These are the links from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
import re

from oslotest import base

from magnum_capi_helm.tests import folders
from tools import archives

_SOURCE = archives.CHECKOUT / "doc" / "source"
_URL = re.compile(
    r"https://docs\.openstack\.org/magnum-capi-helm/latest/"
    r"(?:([\w/.-]+)\.html)?(?:#([\w-]+))?"
)
_PATH = re.compile(r"\bdoc/source(?:/[\w-]+)+(?:\.\w+)?")
_PLACES = (
    *("*.rst", "*/README.rst", "doc/source/**/*.rst", "tools/**/*.sh"),
    *("etc/**/*.yaml", "etc/**/*.json", "magnum_capi_helm/**/*.py"),
    *("samples/**/*.py", "samples/**/*.tf", "samples/**/*.yaml"),
)
_SHOWN = re.compile(r"^\.\. image:: (\S+)\n((?:   .*\n)*)", re.MULTILINE)
_TEXT = re.compile(r'<text x="(\d+)" y="(\d+)"[^>]*>(\w+)</text>')
#: A label or an annotation of the driver.
_NAME = re.compile(r'"magnum\.openstack\.org/([a-z-]+)["=]')


def _dead_links(text: str) -> Iterator[str]:
    """Yield the links in a text without a page or a target."""
    for path in _PATH.findall(text):
        if not (archives.CHECKOUT / path).exists():
            yield path
    for match in _URL.finditer(text):
        name, anchor = match.groups()
        page = _SOURCE / f"{name or 'index'}.rst"
        target = f".. _{anchor}:\n" if anchor else ""
        if not page.exists() or target not in page.read_text():
            yield match[0]


class PagesTest(base.BaseTestCase):
    def test_each_link_in_the_source_leads_to_a_page_and_a_label(self) -> None:
        dead = {
            str(path.relative_to(archives.CHECKOUT)): links
            for pattern in _PLACES
            for path in archives.CHECKOUT.glob(pattern)
            if path.is_file() and (links := [*_dead_links(path.read_text())])
        }
        self.assertEqual({}, dead)

    def test_each_picture_has_an_alternative_text(self) -> None:
        for page in _SOURCE.rglob("*.rst"):
            for name, options in _SHOWN.findall(page.read_text()):
                self.assertIn(":alt: ", options, name)

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

    def test_page_of_objects_has_each_label_and_annotation(self) -> None:
        package = archives.CHECKOUT / archives.PACKAGE
        page = (_SOURCE / "reference" / "objects.rst").read_text()
        missing = {
            f"{name}, of {path.relative_to(package)}"
            for path in package.rglob("*.py")
            if "tests" not in path.relative_to(package).parts
            for name in _NAME.findall(path.read_text())
            if not re.search(rf"(``|/){name}(``|:|=)", page)
        }
        self.assertEqual(set(), missing)
