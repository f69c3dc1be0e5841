# SPDX-License-Identifier: Apache-2.0
"""What the documentation quotes is what the code says."""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import re

from oslotest import base

from tools.tests.docs import quotations

_SOURCE = pathlib.Path(__file__).parents[3] / "doc" / "source"
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


def _quoted(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for place in pattern.findall(text):
        yield from _LITERAL.findall(place)


def _strange(found: list[str]) -> dict[str, list[str]]:
    """Quotations -> what of them the code does not say."""
    wrong = {
        quotation: [
            part
            for part in quotations.parts(quotation)
            if part not in _OTHERS and not quotations.known(part)
        ]
        for quotation in found
    }
    return {quotation: parts for quotation, parts in wrong.items() if parts}


class QuotationsTest(base.BaseTestCase):
    def test_texts_with_holes_are_found_by_what_fills_them(self) -> None:
        self.assertTrue(quotations.known("2 machines still to be deleted"))
        self.assertTrue(quotations.known("another conductor works on R"))
        self.assertFalse(quotations.known("another conductor sleeps on R"))

    def test_a_quotation_is_looked_for_in_the_parts_it_is_put_together_of(
        self,
    ) -> None:
        self.assertEqual(
            ["not done in time", "No valid host was found"],
            quotations.parts("not done in time: ... No valid host was found"),
        )


class TroubleshootingTest(base.BaseTestCase):
    page = (_SOURCE / "admin" / "troubleshooting.rst").read_text()

    def test_each_message_of_the_table_is_one_of_the_code(self) -> None:
        table = self.page.partition("\nMore messages\n====")[2]
        table = table.partition("\nRepair by hand\n")[0]
        found = list(_quoted(_ROW, table))
        self.assertGreater(len(found), 8)
        self.assertEqual({}, _strange(found))

    def test_each_symptom_reads_as_the_code_says_it(self) -> None:
        found = list(_quoted(_READS, self.page))
        self.assertGreater(len(found), 25)
        self.assertEqual({}, _strange(found))

    def test_each_symptom_has_message_cause_and_fix(
        self,
    ) -> None:
        section = self.page.partition("\nBy status\n====")[2]
        section = section.partition("\nObjects to look at\n")[0]
        symptoms = re.split(r"\n\S[^\n]*\n-{4,}\n", section)[1:]
        self.assertGreater(len(symptoms), 11)
        for symptom in symptoms:
            self.assertEqual(
                ["Message", "Cause", "Fix"],
                re.findall(r"^:(\w+): \S", symptom, re.MULTILINE),
                symptom,
            )


class OtherPagesTest(base.BaseTestCase):
    def test_each_reason_that_users_read_about_is_one_of_the_code(
        self,
    ) -> None:
        page = (_SOURCE / "user" / "status.rst").read_text()
        reasons = page.partition("\nReasons\n====")[2]
        reasons = reasons.partition("\nMessages of OpenStack\n")[0]
        found = list(_quoted(_ROW, reasons))
        self.assertGreater(len(found), 20)
        self.assertEqual({}, _strange(found))

    def test_each_refusal_of_a_rollback_is_one_of_the_code(self) -> None:
        page = (_SOURCE / "admin" / "failed-upgrades.rst").read_text()
        found = list(_quoted(_ROW, page))
        self.assertGreater(len(found), 4)
        self.assertEqual({}, _strange(found))
