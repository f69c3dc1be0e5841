# SPDX-License-Identifier: Apache-2.0

"""Objects of a cluster, by the texts of cloud-provider-openstack."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.cloud import leftovers

_CLUSTER = "cinder.csi.openstack.org/cluster"
_KEEP = "janitor.capi.azimuth-cloud.com/keep"


class OwnershipTest(base.BaseTestCase):
    def test_a_load_balancer_belongs_to_the_release_in_its_name(self) -> None:
        for name, release, expected in (
            ("kube_service_a-1_default_web", "a-1", True),
            ("kube_service_a-1-b_default_web", "a-1", False),
            ("kube_service_a-1_default_web", "a-1-b", False),
            ("kube_service_a-1", "a-1", False),
            ("k8s-clusterapi-cluster-ns-a-1-kubeapi", "a-1", False),
            ("my_kube_service_a-1_default_web", "a-1", False),
        ):
            matches = leftovers.is_balancer_of(name, release)
            self.assertEqual(expected, matches, name)

    def test_a_tag_of_another_cluster_shares_a_load_balancer(self) -> None:
        for tags, expected in (
            ([], False),
            (["kube_service_a-1_default_web", "mine"], False),
            (["kube_service_a-1_default_web", "kube_service_b_x_y"], True),
            (["kube_service_a-1-b_default_web"], True),
        ):
            matches = leftovers.is_shared(tags, "a-1")
            self.assertEqual(expected, matches, str(tags))

    def test_an_object_belongs_to_the_release_in_its_text(self) -> None:
        ip = "Floating IP for Kubernetes external service {} from cluster {}"
        api = "Created by cluster-api-provider-openstack cluster {}"
        group = "Security Group for {} Service LoadBalancer in cluster {}"
        service = "default/web"
        for wording, description, expected in (
            (leftovers.ADDRESS, ip.format(service, "a-1"), True),
            (leftovers.ADDRESS, ip.format(service, "b-a-1"), False),
            (leftovers.ADDRESS, ip.format(service, "a-1-b"), False),
            (leftovers.ADDRESS, "of the user", False),
            (leftovers.ADDRESS, "for me, from cluster a-1", False),
            (leftovers.ADDRESS, "", False),
            (leftovers.API_ADDRESS, api.format("magnum-1-a-1"), True),
            (leftovers.API_ADDRESS, api.format("magnum-1-a-1-b"), False),
            (leftovers.API_ADDRESS, "of the user for a-1", False),
            (leftovers.API_ADDRESS, "", False),
            (leftovers.GROUP, group.format(service, "a-1"), True),
            (leftovers.GROUP, group.format(service, "b-a-1"), False),
            (leftovers.GROUP, "Cluster API managed group", False),
            (leftovers.GROUP, "", False),
        ):
            matches = leftovers.is_described(description, wording, "a-1")
            self.assertEqual(expected, matches, description)

    def test_a_claim_belongs_to_its_cluster_unless_kept(self) -> None:
        for metadata, expected in (
            ({_CLUSTER: "a-1"}, True),
            ({_CLUSTER: "a-1", _KEEP: "false"}, True),
            ({_CLUSTER: "a-1", _KEEP: "true"}, False),
            ({_CLUSTER: "a-1-b"}, False),
            ({}, False),
        ):
            matches = leftovers.is_claim_of(metadata, "a-1")
            self.assertEqual(expected, matches, str(metadata))
