# SPDX-License-Identifier: Apache-2.0

"""From Magnum's rows to the spec of a cluster."""

from __future__ import annotations

from typing import Any
import uuid

from magnum_capi_helm import features
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import api_server
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base

UBUNTU = cluster_spec.Image("i-1", "ubuntu-1.34", "1.34.2", "ubuntu")
FLATCAR = cluster_spec.Image("i-2", "flatcar", "1.34.2", "flatcar")
FEDORA = cluster_spec.Image("i-3", "fedora", "1.34.2", "fedora-coreos")


class ResolveTestCase(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.known: Any = fake_cloud.FakeCloud(
            images={
                "ubuntu-1.34": UBUNTU,
                "flatcar": FLATCAR,
                "fedora": FEDORA,
            },
            flavors={"m1.medium": "m1.medium", "f-1": "by-uuid"},
            networks={"public": "net-1", "mine": "net-2"},
            subnets={"mine-sub": "sub-2"},
            types=("slow", "Fast_SSD"),
        )

    def resolve(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> cluster_spec.Cluster:
        fields = {"uuid": str(uuid.uuid4()), **fields}
        row = self.saved(template, **fields)
        return resolve_cluster.resolve(row, self.known, base.RELEASE)


def labels_of_none() -> labels.Values:
    return labels.resolve(
        features.LABELS, labels.Sources(), conf.label_defaults()
    )


def group_of(name: str, role: str, count: int) -> cluster_spec.NodeGroup:
    return cluster_spec.NodeGroup(
        name,
        "m1.medium",
        count,
        UBUNTU,
        magnum_name=name,
        role=role,
        labels=labels_of_none(),
        boot_disk=cluster_spec.Disk(size=0),
        machine=cluster_spec.Flavor("m1.medium", 2, 4096, 20, ephemeral=100),
    )


class ResolveTest(ResolveTestCase):
    def test_the_smallest_cluster_has_this_spec(self) -> None:
        self.assertEqual(
            cluster_spec.Cluster(
                release=base.RELEASE,
                project_id="fake_project",
                identity_url="http://keystone.test/v3",
                cni="calico",
                keypair="mine",
                control_plane=group_of("default-master", "master", 1),
                node_groups=(group_of("default-worker", "worker", 2),),
                network=cluster_spec.Network(
                    external_id="net-1", dns_nameservers=("8.8.1.1",)
                ),
                storage_classes=(
                    cluster_spec.StorageClass("slow", "slow", default=True),
                    cluster_spec.StorageClass("fast-ssd", "Fast_SSD"),
                ),
                labels=labels_of_none(),
                chart=requested_labels.configured_chart(),
                uuid=base.UUID,
                name="web",
                template="clustermodel1",
                namespace="magnum-fakeproject",
            ),
            self.resolve(uuid=base.UUID),
        )

    def test_the_network_of_the_api_becomes_its_uuid(self) -> None:
        found = self.resolve(
            labels={
                "api_server_network": "public",
                "master_lb_floating_ip_enabled": "false",
            }
        )
        self.assertEqual("net-1", found.labels[api_server.LB_NETWORK])
        self.assertEqual(
            ("api_server_network", "public"),
            found.labels.given(api_server.LB_NETWORK),
        )

    def test_labels_beat_the_operators_boot_disk(self) -> None:
        """Those of the cluster beat those of its template."""
        conf.CONF.set_override("default_boot_volume_size", 30, "cinder")
        conf.CONF.set_override("default_boot_volume_type", "ssd", "cinder")
        of_template = {"labels": {"boot_volume_size": "10"}}
        own = {"boot_volume_size": "20", "boot_volume_type": "slow"}
        for template, given, expected in (
            (of_template, own, cluster_spec.Disk(20, "slow")),
            ({}, {}, cluster_spec.Disk(30, "ssd")),
            ({}, {"boot_volume_size": "0"}, cluster_spec.Disk(0, "ssd")),
        ):
            found = self.resolve(template, labels=given)
            self.assertEqual(expected, found.control_plane.boot_disk)

    def test_load_balancers_that_octavia_lacks_are_refused(self) -> None:
        zone = "api_server_lb_availability_zone"
        for name, value, what, offered in (
            ("api_server_lb_flavor", "big", "flavor", "ha, small"),
            (zone, "az9", "availability zone", "az1"),
            (
                *("octavia_provider", "f5"),
                "provider, such as amphora or ovn",
                "amphora, ovn",
            ),
        ):
            given = {name: value}
            error = self.assertRaises(
                errors.LabelError, self.resolve, labels=given
            )
            self.assertEqual(
                f"label {name}: give the name of an Octavia {what}. It is "
                f"{value!r}; Octavia has {offered}",
                str(error),
            )
        self.resolve(labels={"octavia_provider": "ovn"})
        conf.CONF.set_override("api_load_balancer", "requested", "capi_helm")
        self.resolve(labels=given, master_lb_enabled=False)

    def test_only_cnis_that_the_chart_knows_are_passed_on(self) -> None:
        for driver, expected in (
            ("calico", "calico"),
            ("cilium", "cilium"),
            ("flannel", "calico"),
            (None, "calico"),
        ):
            found = self.resolve({"network_driver": driver})
            self.assertEqual(expected, found.cni, driver)


class RefusedTest(ResolveTestCase):
    def test_a_wrong_default_group_is_refused(self) -> None:
        for name, fields, words in (
            ("worker", {"image_id": "fedora"}, "has 'fedora-coreos'"),
            ("worker", {"flavor_id": None}, "has no flavor; give one"),
            ("master", {"node_count": 2}, "master_count=2"),
        ):
            row = self.saved(uuid=str(uuid.uuid4()))
            for each in row.nodegroups:
                if each.name == f"default-{name}":
                    for field, value in fields.items():
                        setattr(each, field, value)
                    each.save()
            with self.assertRaisesRegex(errors.InvalidInput, words):
                resolve_cluster.resolve(row, self.known, base.RELEASE)

    def test_a_wrong_template_or_cluster_is_refused(self) -> None:
        bounds = {"min_node_count": "3", "max_node_count": "5"}
        scaled = {"auto_scaling_enabled": "true", **bounds}
        internal = {"master_lb_floating_ip_enabled": "false"}
        self.known.networks["ipv6"] = "net-6"
        six = catalogue.Subnet("s-6", "net-6", "2001:db8::/64")
        self.known.subnets["ipv6-subnet"] = six
        rows: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
            (
                "network_driver: choose one of calico, cilium. It is 'weave'",
                {"network_driver": "weave"},
                {},
            ),
            ("fixed_network: there is no", {}, {"fixed_network": "nowhere"}),
            (
                "tls_disabled: choose a template without it, since the "
                "Kubernetes API always has TLS and `openstack coe cluster "
                "config` would leave the certificates out. It is true in "
                "cluster template 'bare'",
                {"tls_disabled": True, "name": "bare"},
                {},
            ),
            (
                "label api_server_network: there is no such network",
                {},
                {"labels": {**internal, "api_server_network": "lost"}},
            ),
            (
                "label api_server_network: the network has no IPv4 subnet, "
                "and nodes have IPv4 addresses; choose another. It is 'ipv6'",
                {},
                {"labels": {**internal, "api_server_network": "ipv6"}},
            ),
            (
                "label boot_volume_size: ",
                {},
                {"labels": {"boot_volume_size": "x"}},
            ),
            (
                "node_count 2 is below min_node_count 3",
                {},
                {"labels": scaled},
            ),
        ]
        for words, template, fields in rows:
            error = self.assertRaises(
                errors.InvalidInput, self.resolve, template, **fields
            )
            self.assertIn(words, str(error))
            self.assertNotIn("\n", str(error))
