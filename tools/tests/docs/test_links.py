# SPDX-License-Identifier: Apache-2.0

"""Links into the guide lead to a page and to a target on it.

Sphinx checks the links between pages. These are the links from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
import re

from oslotest import base

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


class LinksTest(base.BaseTestCase):
    def test_each_link_in_the_source_leads_to_a_page_and_a_label(self) -> None:
        dead = {
            str(path.relative_to(archives.CHECKOUT)): links
            for pattern in _PLACES
            for path in archives.CHECKOUT.glob(pattern)
            if path.is_file() and (links := [*_dead_links(path.read_text())])
        }
        self.assertEqual({}, dead)
