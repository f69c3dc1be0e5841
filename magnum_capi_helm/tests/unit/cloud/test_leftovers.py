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

    def test_a_floating_ip_belongs_to_the_release_in_its_text(self) -> None:
        text = "Floating IP for Kubernetes external service {} from cluster {}"
        for description, expected in (
            (text.format("default/web", "a-1"), True),
            (text.format("default/web", "b-a-1"), False),
            (text.format("default/web", "a-1-b"), False),
            ("of the user", False),
            ("for me, from cluster a-1", False),
            ("", False),
        ):
            matches = leftovers.is_address_of(description, "a-1")
            self.assertEqual(expected, matches, description)

    def test_an_address_of_an_api_belongs_to_the_release_in_its_text(
        self,
    ) -> None:
        text = "Created by cluster-api-provider-openstack cluster {}"
        for description, expected in (
            (text.format("magnum-1-a-1"), True),
            (text.format("magnum-1-a-1-b"), False),
            ("of the user for a-1", False),
            ("", False),
        ):
            matches = leftovers.is_api_address_of(description, "a-1")
            self.assertEqual(expected, matches, description)

    def test_a_security_group_belongs_to_the_release_in_its_text(self) -> None:
        text = "Security Group for {} Service LoadBalancer in cluster {}"
        for description, expected in (
            (text.format("default/web", "a-1"), True),
            (text.format("default/web", "b-a-1"), False),
            ("Cluster API managed group", False),
            ("", False),
        ):
            matches = leftovers.is_group_of(description, "a-1")
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
