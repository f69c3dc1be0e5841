# SPDX-License-Identifier: Apache-2.0

"""Names are valid and distinct, whatever a user writes."""

from __future__ import annotations

import re

import hypothesis
from hypothesis import strategies
from oslotest import base

from magnum_capi_helm.model import names

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
