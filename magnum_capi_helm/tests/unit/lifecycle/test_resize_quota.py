# SPDX-License-Identifier: Apache-2.0

"""A group that grows, and the quota of its project."""

from __future__ import annotations

from typing import Any

from magnum.common import exception
import testtools

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base


class GrowthTest(base.FlowTestCase):
    """``[capi_helm] quota_check`` and a resize."""

    by_http = True

    def setUp(self) -> None:
        super().setUp()
        self.created()
        conf.CONF.set_override("quota_check", "refuse", "capi_helm")
        self.openstack.quotas.known["instances"] = (10, 9)

    def refused(self, words: str, *args: Any) -> None:
        """A resize is refused, and its count put back."""
        self.assertRaisesRegex(
            exception.InvalidParameterValue, words, self.resize, *args
        )
        self.assertEqual(2, self.groups()["default-worker"].node_count)
        self.assertEqual(1, len(self.helm.upgrades))

    def test_growth_beyond_the_quota_is_refused(self) -> None:
        self.refused("instances: 3 needed, 1 of 10 free", 5)
        self.refused("instances: 2 needed, 1 of 10 free", 3, "default-master")

    def test_growth_within_the_quota_is_applied(self) -> None:
        self.resize(3)
        self.assertEqual(3, self.replicas())

    def test_disks_of_a_label_that_the_operator_changed_count(self) -> None:
        order = rollout.Order(
            labels={"boot_volume_size": "50"}, replacing=True
        )
        operation = cluster_operation.Operation(
            self.admin, self.row(), runtime.get()
        )
        rollout.apply(operation, order)
        self.capi.settle()
        self.poll()
        self.openstack.quotas.known["gigabytes"] = (100, 60)
        with testtools.ExpectedException(
            exception.InvalidParameterValue, ".*50 needed, 40 of 100 free"
        ):
            self.resize(3)

    def test_a_smaller_group_always_fits(self) -> None:
        self.openstack.quotas.known["instances"] = (1, 9)
        asked = self.openstack.mocker.call_count
        for count in (2, 0):
            self.resize(count)
            self.assertEqual(count, self.replicas())
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_a_quota_that_cannot_be_read_refuses_nothing(self) -> None:
        for url in (openstack.COMPUTE, openstack.NETWORK):
            self.openstack.stop(url)
        self.resize(5)
        self.assertEqual(5, self.replicas())

    def test_a_group_that_would_be_refused_today_can_grow(self) -> None:
        row = self.row()
        row.labels = {"boot_volume_size": "big"}
        row.save()
        self.resize(3)
        self.assertEqual(3, self.replicas())

    def test_a_management_cluster_that_is_away_refuses_nothing(self) -> None:
        self.management.unreachable()
        self.resize(5)
        self.management.recover()
        self.poll()
        self.assertEqual(5, self.replicas())

    def test_objects_that_cannot_be_read_refuse_nothing(self) -> None:
        self.management.fail(
            errors.ManagementError("refused (403)"),
            verbs=["list"],
            kind=kinds.CONTROL_PLANE,
        )
        self.resize(5)
        self.assertEqual(5, self.replicas())
