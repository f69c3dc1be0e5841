# SPDX-License-Identifier: Apache-2.0

"""Sentences for tenants; what each text becomes stands in ``_said.yaml``."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.status import plain_words
from magnum_capi_helm.tests.unit.status import documents

#: Said of a machine that is to go, not of one that is to come.
DRAIN = (
    "* Pods a/b, c/d: cannot evict pod as it would violate the pod's "
    "disruption budget."
)


class SayingsTest(base.BaseTestCase):
    def test_each_known_text_has_an_example(self) -> None:
        texts = [each["said"] for each in documents.load("_said").values()]
        words = documents.load("_network")["words"].values()
        texts += [each["said"] for each in words]
        texts.append(DRAIN)
        unsaid = [
            saying.fact
            for saying in plain_words.SAYINGS
            if not any(map(saying.of, texts))
        ]
        self.assertEqual([], unsaid)

    def test_an_unknown_text_is_cut_at_a_word(self) -> None:
        said = plain_words.plain("a strange thing " * 40)
        self.assertLessEqual(len(said), plain_words.LONGEST)
        self.assertTrue(said.endswith(" a..."), said)

    def test_a_list_becomes_a_line(self) -> None:
        rows = {
            "* A: x\n* B: y": "A: x; B: y",
            "* A:\n  * one\n  * two": "A: one; two",
            "two\n  lines": "two lines",
            "": "",
            "  \n ": "",
        }
        self.assertEqual(
            rows, {text: plain_words.plain(text) for text in rows}
        )

    def test_no_secret_gets_through(self) -> None:
        texts = [
            "GET https://user:hunter2@keystone.example/v3 failed",
            "401 for Bearer hunter2",
            "token gAAAAABhunter2hunter2hunter2 expired",
            "eyJhunter2hunter2hunter2.x.y is no token",
            "GET https://nova.example/v2?password=hunter2 failed",
        ]
        for text in texts:
            self.assertNotIn("hunter2", plain_words.plain(text))
