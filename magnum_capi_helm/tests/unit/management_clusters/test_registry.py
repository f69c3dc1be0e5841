# SPDX-License-Identifier: Apache-2.0

"""Where a cluster is, by what several management clusters answer."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors

DOWN = errors.ManagementUnreachable("no answer")

#: Record, answers, the name.
FOUND: list[tuple[str, tuple[str, str], dict[str, Any], str]] = [
    ("as recorded", ("1", "a"), {"a": "1", "b": "2"}, "a"),
    ("no name recorded", ("2", ""), {"a": "1", "b": "2"}, "b"),
    ("renamed", ("1", "a"), {"b": "2", "c": "1"}, "c"),
    ("names changed places", ("1", "a"), {"a": "2", "b": "1"}, "b"),
    ("it is down", ("1", "a"), {"a": DOWN, "b": "2"}, "a"),
    (
        "renamed, and the old name is down",
        ("1", "a"),
        {"a": DOWN, "b": "1"},
        "b",
    ),
    ("another is down", ("1", "a"), {"a": "1", "b": DOWN}, "a"),
    ("two names of one", ("1", "b"), {"a": "1", "b": "1"}, "b"),
]

#: Record, answers, the message as a pattern.
LOST: list[tuple[str, tuple[str, str], dict[str, Any], str]] = [
    (
        "without a name it may be the one that is down",
        ("1", ""),
        {"a": DOWN, "b": "2"},
        "none .* that answer .*; still .*: a: no answer. .*kube-system: 1$",
    ),
    (
        "what has its name is another, and one is down",
        ("1", "a"),
        {"a": "3", "b": DOWN},
        "none .* that answer .*; still .*: b: no answer. .*kube-system: 1$",
    ),
    (
        "it was taken out of the configuration",
        ("1", "a"),
        {"b": "2", "c": "3"},
        "none .* b, c is .*called a. .*: 1. Add it .*management_clusters "
        "again or, .* 'magnum-capi-helm management-cluster accept'$",
    ),
]

#: Who has something of a release; None: nobody.
TRACED: list[tuple[str, dict[str, Any], str | None]] = [
    ("one has", {"a": False, "b": True}, "b"),
    ("one has, another is down", {"a": DOWN, "b": True}, "b"),
    ("nobody has", {"a": False, "b": False}, None),
]

UNTRACED: list[tuple[str, dict[str, Any], str]] = [
    (
        "the one that is down may have",
        {"a": DOWN, "b": False},
        "on none .* that answer; still to answer: a: no answer$",
    ),
    (
        "two have",
        {"a": True, "b": True, "c": False},
        "the management clusters a, b all have .* web: .* remove it from",
    ),
]


class DecisionTest(base.BaseTestCase):
    """What the answers of several mean."""

    def test_location_by_record(self) -> None:
        for case, record, answers, expected in FOUND:
            with self.subTest(case):
                found = registry.by_identity(identity.Record(*record), answers)
                self.assertEqual(expected, found)

    def test_why_a_record_leads_nowhere(self) -> None:
        for case, record, answers, expected in LOST:
            with self.subTest(case):
                error = self.assertRaises(
                    identity.ElsewhereError,
                    registry.by_identity,
                    identity.Record(*record),
                    answers,
                )
                self.assertRegex(errors.explained(error), expected)

    def test_location_by_trace(self) -> None:
        for case, answers, expected in TRACED:
            with self.subTest(case):
                self.assertEqual(expected, registry.by_traces("web", answers))

    def test_why_traces_lead_nowhere(self) -> None:
        for case, answers, expected in UNTRACED:
            with self.subTest(case):
                error = self.assertRaises(
                    identity.ElsewhereError,
                    registry.by_traces,
                    "web",
                    answers,
                )
                self.assertRegex(str(error), expected)
