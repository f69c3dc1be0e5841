# SPDX-License-Identifier: Apache-2.0

"""What holds for every name, label and range, whatever a user writes."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import hypothesis
from hypothesis import strategies
from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import requested_labels

#: Kubernetes' DNS label, RFC 1123.
_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
#: What the chart asks of a node group's name since 0.15.0.
_GROUP = re.compile(r"[a-z][a-z0-9-]+[a-z0-9]")

_TEXT = strategies.text(max_size=300)
_UUID = strategies.uuids().map(str)
#: Close to real names, so that almost equal ones meet.
_CLOSE = strategies.text(alphabet="aA1_-. ä", min_size=1, max_size=8)

_settings = hypothesis.settings(
    max_examples=60, deadline=None, derandomize=True, database=None
)


class NamesTest(base.BaseTestCase):
    @_settings
    @hypothesis.given(name=_TEXT, uuid=_UUID, group=_TEXT)
    def test_every_name_is_valid_and_nothing_is_cut(
        self, name: str, uuid: str, group: str
    ) -> None:
        release = names.release(name, uuid)
        self.assertRegex(release, f"^{_DNS_LABEL.pattern}$")
        chart_name = names.node_group(group, release)
        self.assertRegex(chart_name, f"^{_GROUP.pattern}$")
        self.assertEqual(
            f"{release}-{chart_name}",
            names.machine_deployment(release, chart_name),
        )
        self.assertRegex(
            names.machine_deployment(release, chart_name),
            f"^{_DNS_LABEL.pattern}$",
        )

    @_settings
    @hypothesis.given(one=_CLOSE, other=_CLOSE, uuid=_UUID)
    def test_two_groups_of_a_cluster_never_share_a_name(
        self, one: str, other: str, uuid: str
    ) -> None:
        hypothesis.assume(one != other)
        release = names.release("web", uuid)
        self.assertNotEqual(
            names.node_group(one, release), names.node_group(other, release)
        )

    @_settings
    @hypothesis.given(one=_UUID, other=_UUID, name=_CLOSE)
    def test_two_clusters_never_share_a_name(
        self, one: str, other: str, name: str
    ) -> None:
        # The last 12 of 32 digits make the name unique: 48 random bits.
        hypothesis.assume(one[-12:] != other[-12:])
        self.assertNotEqual(
            names.release(name, one), names.release(name, other)
        )

    @_settings
    @hypothesis.given(project=_TEXT)
    def test_a_namespace_is_a_dns_label_for_every_project_id(
        self, project: str
    ) -> None:
        hypothesis.assume(re.search("[a-z0-9]", project[:50].lower()))
        self.assertRegex(
            names.namespace("magnum", project[:50]),
            f"^{_DNS_LABEL.pattern}$",
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
