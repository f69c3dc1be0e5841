# SPDX-License-Identifier: Apache-2.0

"""What users can get wrong, and what they read then.

The requests go through Magnum's own handlers. The module ``bad_inputs`` has
the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any
import uuid

import fixtures
from magnum.common import exception
from sqlalchemy import exc

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import bad_inputs
from magnum_capi_helm.tests.unit.lifecycle import base

#: Requests that change the management cluster.
_WRITES = {"create", "replace", "apply", "patch", "delete"}


@contextlib.contextmanager
def _options(given: bad_inputs.Input) -> Iterator[None]:
    for name, value in given.options.items():
        conf.CONF.set_override(name, value, "capi_helm")
    try:
        yield
    finally:
        for name in given.options:
            conf.CONF.clear_override(name, "capi_helm")


class RefusedTestCase(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        # Magnum's models make one for each query: printing takes its time.
        self.useFixture(
            fixtures.WarningsFilter(
                [{"action": "ignore", "category": exc.SAWarning}]
            )
        )

    def check(self, table: bad_inputs.Table) -> None:
        """Each is refused with its text, and leaves no trace."""
        self.assertEqual(
            {title: each.refusal for title, each in table.items()},
            {
                title: self.refusal(title, each)
                for title, each in table.items()
            },
        )

    def refusal(self, title: str, given: bad_inputs.Input) -> str:
        """What the user reads; nothing is written for the request."""
        self.management.requests.clear()
        try:
            with _options(given):
                self.send(given)
        except exception.InvalidParameterValue as error:
            text = str(error)
        else:
            self.fail(f"{title}: accepted")
        written = [r for r in self.management.requests if r.verb in _WRITES]
        self.assertEqual([], written, title)
        self.assertEqual([], self.helm.upgrades, title)
        self.assertEqual({}, self.openstack.credentials, title)
        self.assertEqual(1, len(text.splitlines()), title)
        # Its first sentence is one that Magnum's API does not cut.
        self.assertEqual(text, magnum_errors.to_client("create", text), title)
        self.assertEqual(text, self.reason(), title)
        return text

    def send(self, given: bad_inputs.Input) -> None:
        self.uuid = str(uuid.uuid4())
        template = dict(given.template)
        if given.chart:
            template["labels"] = {"capi_helm_chart_version": given.chart}
        cluster = self.cluster(
            template, labels=dict(given.labels), **given.fields
        )
        self.handler.cluster_create(self.context, cluster, 1, 2, 60)

    def reason(self) -> str:
        """The status_reason of the cluster, which failed."""
        row = self.row()
        statuses = {row.status, *(each.status for each in row.nodegroups)}
        self.assertEqual({"CREATE_FAILED"}, statuses)
        self.assertIsNone(row.stack_id)
        self.assertEqual(["kube-system"], self.server.names(kinds.NAMESPACE))
        return str(row.status_reason)


class ClusterTest(RefusedTestCase):
    """Refused for what the driver itself looks at."""

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """With a network of which a cluster can't make use."""
        cloud = super().catalogue(session)
        cloud.networks["ipv6"] = "net-6"
        six = catalogue.Subnet("s-6", "net-6", "2001:db8::/64")
        cloud.subnets["ipv6-subnet"] = six
        return cloud

    def test_a_value_of_the_wrong_type_is_refused(self) -> None:
        self.check(bad_inputs.TYPES)

    def test_text_with_syntax_is_refused(self) -> None:
        self.check(bad_inputs.SYNTAX)

    def test_contradicting_labels_are_refused(self) -> None:
        self.check(bad_inputs.CONTRADICTIONS)

    def test_unfit_networks_and_load_balancers_are_refused(self) -> None:
        self.check(bad_inputs.UNFIT)

    def test_unknown_labels_are_refused(self) -> None:
        self.check(bad_inputs.UNKNOWN)


class LookupTest(RefusedTestCase):
    """Refused for what OpenStack answers, by HTTP."""

    by_http = True

    def test_an_object_that_openstack_lacks_is_refused(self) -> None:
        self.check(bad_inputs.LOOKUPS)
