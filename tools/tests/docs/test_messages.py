# SPDX-License-Identifier: Apache-2.0
"""What the documentation quotes is what the code says."""

from __future__ import annotations

import re

from oslotest import base

from tools import archives
from tools.tests.docs import quotations

_SOURCE = archives.CHECKOUT / "doc" / "source"
_LITERAL = re.compile(r"``(.+?)``", flags=re.DOTALL)
#: What stands left of what to do about it.
_ROW = re.compile(r"^   \* - (.*?)\n     - ", re.MULTILINE | re.DOTALL)
_READS = re.compile(r"^:Message: (.*?)\n:Cause:", re.MULTILINE | re.DOTALL)
#: Words of others, which the driver passes on. Whose they are.
_OTHERS = {
    "unable to build kubernetes objects from new release manifest": "helm",
    "unable to build kubernetes objects from current release manifest": "helm",
    "no matches for kind": "helm",
    "failed to delete release": "helm",
    "helm uninstall": "the command",
    "helm upgrade": "the command",
    "certificate has expired or is not yet valid": "Go's TLS",
    "Value for option NAME from": "oslo.config",
    "is not valid": "oslo.config",
}


#: Page, its part (from a text to another), what is quoted there, how often at
#: least.
_QUOTED = (
    (
        "admin/troubleshooting",
        "\nMore messages\n====",
        "\nRepair by hand\n",
        _ROW,
        8,
    ),
    ("admin/troubleshooting", "", "\nMore messages\n====", _READS, 25),
    ("user/status", "\nReasons\n====", "\nMessages of OpenStack\n", _ROW, 20),
    ("admin/failed-upgrades", "", "", _ROW, 4),
)


def _part(page: str, start: str, end: str) -> str:
    """Return the part of a page between two texts, if they are given."""
    text = (_SOURCE / f"{page}.rst").read_text()
    if start:
        text = text.partition(start)[2]
    return text.partition(end)[0] if end else text


class MessagesTest(base.BaseTestCase):
    def test_each_quotation_reads_as_the_code_says_it(self) -> None:
        for page, start, end, pattern, least in _QUOTED:
            found = [
                quotation
                for place in pattern.findall(_part(page, start, end))
                for quotation in _LITERAL.findall(place)
            ]
            self.assertGreater(len(found), least, page)
            strange = {
                quotation: part
                for quotation in found
                for part in quotations.parts(quotation)
                if part not in _OTHERS and not quotations.known(part)
            }
            self.assertEqual({}, strange, page)

    def test_each_symptom_has_message_cause_and_fix(self) -> None:
        section = _part(
            "admin/troubleshooting",
            "\nBy status\n====",
            "\nObjects to look at\n",
        )
        symptoms = re.split(r"\n\S[^\n]*\n-{4,}\n", section)[1:]
        self.assertGreater(len(symptoms), 11)
        for symptom in symptoms:
            self.assertEqual(
                ["Message", "Cause", "Fix"],
                re.findall(r"^:(\w+): \S", symptom, re.MULTILINE),
                symptom,
            )
