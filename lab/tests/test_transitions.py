# SPDX-License-Identifier: Apache-2.0
"""Clusters in progress at a time are counted."""

from __future__ import annotations

from oslotest import base

from lab.drills import transitions

_STATUSES = {
    "+": ("CREATE_COMPLETE", "UPDATE_IN_PROGRESS"),
    "-": ("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"),
    "!": ("UPDATE_IN_PROGRESS", "UPDATE_FAILED"),
    "h": ("UPDATE_FAILED", "UPDATE_COMPLETE"),
}


class MostAtOnceTest(base.BaseTestCase):
    def test_the_most_clusters_in_progress_are_counted(self) -> None:
        for text, expected in (
            ("", 0),
            ("a+ a-", 1),
            ("a+ a- b+ b-", 1),
            ("a+ b+ a- b- c+ c-", 2),
            ("a+ a! b+ a+", 2),
            # A cluster that was in progress before, and one that heals.
            ("a- b+ c+ b-", 2),
            ("a+ b+ c+ a! ah d+", 3),
        ):
            found = [
                transitions.Transition(uuid, *_STATUSES[sign], at)
                for at, (uuid, sign) in enumerate(text.split())
            ]
            self.assertEqual(expected, transitions.most_at_once(found), text)
