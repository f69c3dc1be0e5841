# SPDX-License-Identifier: Apache-2.0

"""Labels are values or errors, whatever a user writes."""

from __future__ import annotations

import ipaddress
from typing import Any

import hypothesis
from hypothesis import strategies
from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import requested_labels

_TEXT = strategies.text(max_size=300)
_settings = hypothesis.settings(
    max_examples=60, deadline=None, derandomize=True, database=None
)


class LabelsTest(base.BaseTestCase):
    @_settings
    @hypothesis.given(text=_TEXT)
    def test_any_text_is_a_value_or_a_label_error(self, text: str) -> None:
        for label in features.LABELS:
            try:
                label.parse(text)
            except errors.LabelError as error:
                self.assertEqual(label.name, error.name)
                self.assertNotIn("\n", str(error))

    @_settings
    @hypothesis.given(given=strategies.dictionaries(_TEXT, _TEXT))
    def test_labels_that_nobody_knows_change_nothing(
        self, given: dict[str, str]
    ) -> None:
        declared = {n for each in features.LABELS for n in _names(each)}
        others = declared | ignored.LABELS.keys()
        strange = {k: v for k, v in given.items() if k not in others}
        self.assertEqual(
            labels.resolve(features.LABELS, labels.Sources(), {}),
            labels.resolve(
                features.LABELS, labels.Sources(cluster=strange), {}
            ),
        )
        self.assertEqual(
            sorted(strange),
            list(requested_labels.without_effect(strange)),
        )


def _names(label: labels.Label[Any]) -> tuple[str, ...]:
    return (label.name, *label.aliases)


class RangesTest(base.BaseTestCase):
    @_settings
    @hypothesis.given(
        network=strategies.ip_addresses(v=4),
        length=strategies.integers(min_value=0, max_value=32),
    )
    def test_an_ipv4_network_comes_back_as_it_was_given(
        self, network: Any, length: int
    ) -> None:
        label = next(
            each
            for each in features.LABELS
            if each.name == "api_master_lb_allowed_cidrs"
        )
        text = f"{network}/{length}"
        try:
            wanted = str(ipaddress.IPv4Network(text))
        except ValueError:
            # Host bits are set: who is meant can't be known.
            self.assertRaises(errors.LabelError, label.parse, text)
        else:
            self.assertEqual((wanted,), label.parse(text))
