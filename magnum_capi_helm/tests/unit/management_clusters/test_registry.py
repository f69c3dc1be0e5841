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

#: Record, answers, what is said.
LOST: list[tuple[str, tuple[str, str], dict[str, Any], str]] = [
    (
        "without a name it may be the one that is down",
        ("1", ""),
        {"a": DOWN, "b": "2"},
        "none of the management clusters that answer is the one that the "
        "cluster was made on (UID of its kube-system: 1); still to answer: "
        "a: no answer",
    ),
    (
        "what has its name is another, and one is down",
        ("1", "a"),
        {"a": "3", "b": DOWN},
        "none of the management clusters that answer is the one that the "
        "cluster was made on (UID of its kube-system: 1); still to answer: "
        "b: no answer",
    ),
    (
        "it was taken out of the configuration",
        ("1", "a"),
        {"b": "2", "c": "3"},
        "none of the management clusters b, c is the one that the cluster "
        "was made on (called a, UID of its kube-system: 1): the operator "
        "has to add it to [capi_helm] management_clusters again or, if "
        "another one took its place, to run 'magnum-capi-helm "
        "management-cluster accept'",
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
        "the cluster is on none of the management clusters that answer; "
        "still to answer: a: no answer",
    ),
    (
        "two have",
        {"a": True, "b": True, "c": False},
        "the management clusters a, b all have something of the release web: "
        "the operator has to remove it from those that the cluster was not "
        "made on",
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
                self.assertEqual(expected, str(error))

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
                self.assertEqual(expected, str(error))
