# SPDX-License-Identifier: Apache-2.0

"""The comparison with other drivers names real labels and real tests."""

from __future__ import annotations

import csv
import json
import re

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.features import rows
from tools import archives

_TABLE = archives.CHECKOUT / "doc" / "source" / "reference" / "comparison.csv"
_TESTS = archives.CHECKOUT / archives.PACKAGE / "tests"
#: Feature without a label -> its test, below ``magnum_capi_helm/tests``.
_TESTED: dict[str, str] = json.loads(
    (_TESTS / "data" / "comparison.json").read_text("utf-8")
)
_OPTION = re.compile(r"``\[capi_helm\] (\w+)``")
_LABEL = re.compile(r"``([a-z0-9]+(?:_[a-z0-9]+)+)``")
_LABELS = {label.name for label in features.LABELS}
_OPTIONS = {each.name for _, group in conf.list_opts() for each in group}


class ComparisonTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        with _TABLE.open(encoding="utf-8", newline="") as lines:
            # Others begin a topic.
            self.rows = [
                row
                for row in csv.DictReader(lines, strict=True)
                if not row["Feature"].startswith("**")
            ]

    def test_labels_and_options_in_notes_exist(self) -> None:
        notes = " ".join(row["Notes"] for row in self.rows)
        self.assertEqual(set(), set(_LABEL.findall(notes)) - _LABELS)
        self.assertEqual(set(), set(_OPTION.findall(notes)) - _OPTIONS)

    def test_each_yes_has_a_test(self) -> None:
        """A label has a row in ``features/rows.py``; others have a file."""
        without_label = [
            row["Feature"]
            for row in self.rows
            if row["Here"] == "yes"
            and not set(_LABEL.findall(row["Notes"])) & set(rows.CHANGES)
        ]
        self.assertEqual(sorted(without_label), sorted(_TESTED))
        missing = [
            path for path in _TESTED.values() if not (_TESTS / path).exists()
        ]
        self.assertEqual([], missing)
