# SPDX-License-Identifier: Apache-2.0

"""Where a cluster is, by what several management clusters answer."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.management_clusters import identity
from magnum_capi_helm.management_clusters import registry
from magnum_capi_helm.model import errors

DOWN = errors.ManagementUnreachable("no answer")

NONE = ("", "")

#: Record, whether each is the one, the name; None: none of them is.
FOUND: list[tuple[str, tuple[str, str], dict[str, Any], str | None]] = [
    ("as recorded", ("1", "a"), {"a": True, "b": False}, "a"),
    ("no name recorded", ("2", ""), {"a": False, "b": True}, "b"),
    ("renamed", ("1", "a"), {"b": False, "c": True}, "c"),
    ("names changed places", ("1", "a"), {"a": False, "b": True}, "b"),
    ("it is down", ("1", "a"), {"a": DOWN, "b": False}, "a"),
    (
        "renamed, and the old name is down",
        ("1", "a"),
        {"a": DOWN, "b": True},
        "b",
    ),
    ("another is down", ("1", "a"), {"a": True, "b": DOWN}, "a"),
    ("two names of one", ("1", "b"), {"a": True, "b": True}, "b"),
    ("two other names of one", ("1", "c"), {"a": True, "b": True}, "a"),
    (
        "it was taken out of the configuration",
        ("1", "a"),
        {"b": False, "c": False},
        None,
    ),
    ("one has objects", NONE, {"a": False, "b": True}, "b"),
    ("one has objects, another is down", NONE, {"a": DOWN, "b": True}, "b"),
    ("none has objects", NONE, {"a": False, "b": False}, None),
]

#: Record, whether each is the one, the message as a pattern.
LOST: list[tuple[str, tuple[str, str], dict[str, Any], str]] = [
    (
        "without a name it may be the one that is down",
        ("1", ""),
        {"a": DOWN, "b": False},
        "on none .* that answer; still .*: a: no answer. .*kube-system: 1$",
    ),
    (
        "another one has its name, and one is down",
        ("1", "a"),
        {"a": False, "b": DOWN},
        "on none .* answer; still .*: b: no answer. It was called a. .*: 1$",
    ),
    (
        "the one that is down may have objects",
        NONE,
        {"a": DOWN, "b": False},
        "on none .* that answer; still to answer: a: no answer. .*: unknown$",
    ),
    (
        "two have objects",
        NONE,
        {"a": True, "b": True, "c": False},
        "the management clusters a, b all have .* web: .* remove it from",
    ),
]


class LocateTest(base.BaseTestCase):
    """The meaning of the answers of several."""

    def test_answers_give_the_location(self) -> None:
        for case, record, answers, expected in FOUND:
            with self.subTest(case):
                name = registry.locate(
                    identity.Record(*record), "web", answers
                )
                self.assertEqual(expected, name)

    def test_an_uncertain_location_is_refused(self) -> None:
        for case, record, answers, expected in LOST:
            with self.subTest(case):
                error = self.assertRaises(
                    identity.ElsewhereError,
                    registry.locate,
                    identity.Record(*record),
                    "web",
                    answers,
                )
                self.assertRegex(errors.explained(error), expected)
