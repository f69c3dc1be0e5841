# SPDX-License-Identifier: Apache-2.0
"""Messages that the guide quotes are those of the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import re

from oslotest import base

from tools import archives

_SOURCE = archives.CHECKOUT / "doc" / "source"
_PACKAGE = archives.CHECKOUT / archives.PACKAGE
_LITERAL = re.compile(r"``(.+?)``", flags=re.DOTALL)
#: The left one of two columns, and a field of a section.
_ROW = re.compile(r"^   \* - (.*?)\n     - ", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^:Message: (.*?)\n:Cause:", re.MULTILINE | re.DOTALL)
#: Page, the beginning and the end of a part of it, what is quoted there.
_QUOTED = (
    ("admin/troubleshooting", "\nMore messages\n", "\nRepair by hand\n", _ROW),
    ("admin/troubleshooting", "\nBy status\n", "\nMore messages\n", _FIELD),
    ("user/status", "\nReasons\n====", "\nMessages of OpenStack\n", _ROW),
    ("admin/failed-upgrades", "\nA refusal ", "", _ROW),
)
#: A word that stands for another one, and where one text may end in another.
_OPEN = re.compile(r"\.\.\.|[:;(),]|\S*\d\S*|\bv?[A-Z][\w/-]*")
#: Words between two of these with fewer letters would be found anywhere.
_LETTERS = 6
#: Words of others, and those that the code fills in.
_OTHERS = {
    *("helm uninstall", "helm upgrade", "the management cluster refused"),
    "unable to build kubernetes objects from current release manifest",
    *("is pending-upgrade", "machines still to be deleted", "provides vm/"),
    "the certificate of the management cluster is not trusted",
    "the management cluster is frozen for maintenance",
    "there is no such image",
}


def _texts() -> Iterator[str]:
    """Yield the texts of the product, documentation aside."""
    for path in sorted(_PACKAGE.rglob("*")):
        if "tests" in path.relative_to(_PACKAGE).parts:
            continue
        if path.suffix == ".yaml":
            yield path.read_text().replace("''", "'")
        elif path.suffix == ".py":
            tree = ast.parse(path.read_text())
            documentation = {
                id(node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Expr)
            }
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Constant)
                    and id(node) not in documentation
                ):
                    yield str(node.value)


def _quotations() -> Iterator[tuple[str, str]]:
    """Yield what the pages quote: page, and consecutive words."""
    for page, start, end, pattern in _QUOTED:
        text = (_SOURCE / f"{page}.rst").read_text().partition(start)[2]
        for place in pattern.findall(text.partition(end)[0] if end else text):
            for quotation in _LITERAL.findall(place):
                flat = re.sub(r"\s+", " ", quotation)
                for words in _OPEN.split(flat):
                    if sum(map(str.islower, words)) >= _LETTERS:
                        yield page, words.strip()


class MessagesTest(base.BaseTestCase):
    def test_each_quotation_reads_as_the_code_says_it(self) -> None:
        known = re.sub(r"\s+", " ", "\n".join([*_texts(), *_OTHERS]))
        found = set(_quotations())
        self.assertGreater(len(found), 100)
        self.assertEqual(set(), {e for e in found if e[1] not in known})
