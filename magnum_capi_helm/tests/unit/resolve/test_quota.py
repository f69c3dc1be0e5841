# SPDX-License-Identifier: Apache-2.0

"""Checks of a request against the quota of the project."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base as oslotest_base

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.features import specs
from magnum_capi_helm.tests.unit.lifecycle import base

_FLAVOR: dict[str, Any] = {
    "flavor": "m1.medium",
    "machine": cluster_spec.Flavor("m1.medium", vcpus=2, ram=4096, disk=20),
}


class CheckTest(base.FlowTestCase):
    by_http = True

    def check(self, mode: str) -> None:
        conf.CONF.set_override("quota_check", mode, "capi_helm")
        cluster = specs.cluster({"etcd_blockdevice_size": "10"})
        cluster = dataclasses.replace(
            cluster,
            control_plane=dataclasses.replace(
                cluster.control_plane, **_FLAVOR
            ),
            node_groups=(specs.group(**_FLAVOR),),
        )
        cloud = catalogue.Cloud(openstack.session())
        quota.check_cluster(cloud, cluster)

    def test_off_asks_nobody(self) -> None:
        self.openstack.quotas.known["cores"] = (1, 1)
        before = self.openstack.mocker.call_count
        self.check("off")
        self.assertEqual(before, self.openstack.mocker.call_count)

    def test_refuse_and_warn_name_each_resource(self) -> None:
        self.openstack.quotas.known.update(
            cores=(20, 16),
            instances=(-1, 99),
            gigabytes=(100, 95),
            floatingip=(5, 5),
            server_groups=(0, 0),
        )
        error = self.assertRaises(errors.InvalidInput, self.check, "refuse")
        text = (
            "cores: 12 needed, 4 of 20 free; "
            "gigabytes: 40 needed, 5 of 100 free; "
            "floatingip: 1 needed, 0 of 5 free"
        )
        self.assertEqual(f"not enough quota: {text}", str(error))
        self.check("warn")
        self.assertIn(text, self.warnings()[0])

    def test_a_service_that_can_not_tell_is_left_out(self) -> None:
        for url in (openstack.VOLUME, openstack.NETWORK):
            self.openstack.stop(url)
        self.openstack.quotas.known["gigabytes"] = (0, 0)
        self.check("refuse")
        self.assertEqual([], self.warnings())

    def test_a_cluster_that_does_not_fit_is_refused(self) -> None:
        conf.CONF.set_override("quota_check", "refuse", "capi_helm")
        self.openstack.quotas.known["instances"] = (10, 9)
        with self.assertRaisesRegex(
            Exception, "instances: 4 needed, 1 of 10 free"
        ):
            self.create()
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual({}, self.openstack.credentials)

    def test_a_new_group_beyond_the_quota_is_refused(self) -> None:
        conf.CONF.set_override("quota_check", "refuse", "capi_helm")
        self.openstack.quotas.known["instances"] = (10, 9)
        cloud = catalogue.Cloud(openstack.session())
        group = specs.group(**_FLAVOR)
        with self.assertRaisesRegex(
            errors.InvalidInput, "instances: 2 needed, 1 of 10 free"
        ):
            quota.check_group(cloud, specs.cluster(), group)


class OctaviaTest(oslotest_base.BaseTestCase):
    """Octavia tells the limit; what is used is counted."""

    def setUp(self) -> None:
        super().setUp()
        self.openstack = base.configure(self)

    def test_limit_and_use(self) -> None:
        self.openstack.quotas.known["load_balancer"] = (3, 0)
        for name in ("a", "b"):
            self.openstack.workloads.balancer(name)
        cloud = catalogue.Cloud(openstack.session())
        self.assertEqual(
            {"load_balancer": quota_demand.Quota(3, 2)},
            cloud.quotas("load-balancer"),
        )

    def test_a_cloud_without_octavia_can_not_tell(self) -> None:
        cloud = catalogue.Cloud(openstack.session(without="load-balancer"))
        self.assertRaises(errors.CloudError, cloud.quotas, "load-balancer")
