# SPDX-License-Identifier: Apache-2.0

"""Many findings in a few words."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.swap import finding


def line(uuid: str, level: str, about: str) -> finding.Line:
    """A finding of a cluster."""
    return finding.Line("p1", "web", uuid, level, about, "what", "")


SUMMARIES: dict[str, tuple[list[finding.Line], str]] = {
    "nothing": ([], "0 clusters: nothing needs the operator"),
    "all is well": (
        [line("a", "ok", "status"), line("b", "note", "label")],
        "2 clusters: nothing needs the operator",
    ),
    "one needs somebody, twice for the same": (
        [line("a", "act", "image"), line("a", "act", "image")],
        "1 cluster: 1 needs the operator (image 1)",
    ),
    "the most frequent topic first": (
        [
            line("a", "act", "chart"),
            line("a", "act", "image"),
            line("b", "act", "image"),
            line("c", "ok", "status"),
        ],
        "3 clusters: 2 need the operator (image 2, chart 1)",
    ),
    "what is of no cluster": (
        [line("", "act", "unread"), line("a", "ok", "status")],
        "1 cluster: 0 need the operator (unread 1)",
    ),
}


class FindingTest(base.BaseTestCase):
    def test_summaries(self) -> None:
        for name, (lines, expected) in SUMMARIES.items():
            with self.subTest(name):
                self.assertEqual(expected, finding.summary(lines))

    def test_long_lists_are_cut(self) -> None:
        self.assertEqual("a, b", finding.listed("ab", 2))
        self.assertEqual("a, b and 2 more", finding.listed("abcd", 2))
