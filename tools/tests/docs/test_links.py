# SPDX-License-Identifier: Apache-2.0

"""Links into the guide lead to a page and to a target on it.

Sphinx checks the links between pages. These are the links from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import re

from oslotest import base

_ROOT = pathlib.Path(__file__).parents[3]
_SOURCE = _ROOT / "doc" / "source"
_URL = re.compile(
    r"https://docs\.openstack\.org/magnum-capi-helm/latest/"
    r"(?:([\w/.-]+)\.html)?(?:#([\w-]+))?"
)
_PATH = re.compile(r"\bdoc/source(?:/[\w-]+)+(?:\.\w+)?")
_PLACES = (
    "*.rst",
    "*/README.rst",
    "etc/**/*.yaml",
    "etc/**/*.json",
    "magnum_capi_helm/**/*.py",
    "samples/**/*.py",
    "samples/**/*.tf",
    "samples/**/*.yaml",
    "tools/**/*.sh",
    "doc/source/**/*.rst",
)


def _files() -> Iterator[pathlib.Path]:
    for pattern in _PLACES:
        for path in _ROOT.glob(pattern):
            if path.is_file() and path != pathlib.Path(__file__):
                yield path


def _dead_address(text: str) -> Iterator[str]:
    """Yield the addresses in a text without a page or a target."""
    for match in _URL.finditer(text):
        name, anchor = match.groups()
        page = _SOURCE / f"{name or 'index'}.rst"
        text_of_page = page.read_text() if page.exists() else ""
        target = f".. _{anchor}:\n" if anchor else ""
        if not text_of_page or target not in text_of_page:
            yield match[0]


class LinksTest(base.BaseTestCase):
    def test_addresses_lead_to_a_page_and_a_label(self) -> None:
        for text, dead in (
            ("admin/troubleshooting.html#by-status", False),
            ("", False),
            ("admin/troubleshooting.html#by-stature", True),
            ("admin/nothing.html", True),
        ):
            url = f"https://docs.openstack.org/magnum-capi-helm/latest/{text}"
            self.assertEqual([url] if dead else [], list(_dead_address(url)))

    def test_each_address_in_the_source_leads_to_a_label(self) -> None:
        dead = {
            str(path.relative_to(_ROOT)): addresses
            for path in _files()
            if (addresses := list(_dead_address(path.read_text())))
        }
        self.assertEqual({}, dead)

    def test_each_path_of_a_page_exists(self) -> None:
        dead = {
            str(path.relative_to(_ROOT)): name
            for path in _files()
            for name in _PATH.findall(path.read_text())
            if not (_ROOT / name).exists()
        }
        self.assertEqual({}, dead)
