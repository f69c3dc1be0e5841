# SPDX-License-Identifier: Apache-2.0

"""What users can get wrong, and what they read then.

The requests go through Magnum's own handlers, each refused with the one line
that says why. The rules of a label or value are rows of its topic,
``tests/unit/features``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
from typing import Any, TypeAlias
import uuid

import fixtures
from magnum.common import exception
from sqlalchemy import exc

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base


@dataclasses.dataclass(frozen=True)
class Input:
    """A cluster that differs from one that works.

    :param refusal: the whole status_reason
    :param labels: of the cluster
    :param fields: of the cluster
    :param template: fields of the cluster template
    :param chart: version that the template asks for; empty: the default
    :param options: of ``[capi_helm]``
    """

    refusal: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    template: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    chart: str = ""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


Table: TypeAlias = dict[str, Input]

#: Values of labels that are none of the type.
TYPES: Table = {
    "pods: IPv6 alone": Input(
        "label pods_cidr: give an IPv4 network without host bits (/8 to "
        "/24), for dual-stack followed by an IPv6 network (/48 to /64). It "
        "is 'fd00:1::/56'; Cluster API's OpenStack provider makes IPv4 "
        "subnets alone, and floating IPs are IPv4; an example is "
        "10.100.0.0/16",
        labels={"pods_cidr": "fd00:1::/56"},
    ),
    "taint: a value that is not ASCII": Input(
        "label node_taints: give key=value:effect or key:effect, separated "
        "by commas, with the effects NoSchedule, PreferNoSchedule, "
        "NoExecute. It is 'size=größe:NoSchedule'; 'größe' is no value: up "
        "to 63 of A-Z a-z 0-9 - _ . , a letter or digit at both ends",
        labels={"node_taints": "size=größe:NoSchedule"},
    ),
}

#: What does not go with each other, or with the chart.
CONTRADICTIONS: Table = {
    "a network that a load balancer of ovn would not join": Input(
        "label api_server_network: give it with another octavia_provider "
        "than ovn, whose load balancers can't connect two networks. It is "
        "'public'",
        labels={
            "octavia_provider": "ovn",
            "api_server_network": "public",
            "master_lb_floating_ip_enabled": "false",
        },
    ),
    "Hubble without cilium": Input(
        "label cilium_hubble_ui_enabled: give it with "
        "network_driver=cilium. It is 'true'",
        labels={"cilium_hubble_ui_enabled": "true"},
    ),
    "a version of the other network plugin": Input(
        "label calico_chart_version: give it with network_driver=calico. It "
        "is 'v3.31.6'",
        labels={"calico_chart_version": "v3.31.6"},
        template={"network_driver": "cilium"},
    ),
    "a type of etcd's disk, which is no volume": Input(
        "label etcd_blockdevice_volume_type: give it with "
        "etcd_blockdevice_type=volume. It is 'fast'",
        labels={
            "etcd_blockdevice_size": "10",
            "etcd_blockdevice_type": "local",
            "etcd_blockdevice_volume_type": "fast",
        },
    ),
    "two volumes of one name": Input(
        "label extra_volumes: give each name once. It is 'data:1,data:2'",
        labels={"extra_volumes": "data:1,data:2"},
    ),
    "security groups": Input(
        "label extra_security_groups: give it with a chart version that "
        "applies it. It is 'web'; charts 0.11.0 and later do, and this is "
        "0.10.1",
        labels={"extra_security_groups": "web"},
        chart="0.10.1",
    ),
    "a template for clients that use no certificates": Input(
        "tls_disabled: choose a template without it, since the Kubernetes API "
        "always has TLS and `openstack coe cluster config` would leave the "
        "certificates out. It is true in cluster template 'bare'",
        template={"tls_disabled": True, "name": "bare"},
    ),
    "a flavor of no load balancer": Input(
        "label api_server_lb_flavor: give it with master_lb_enabled. It is "
        "'ha'",
        labels={"api_server_lb_flavor": "ha"},
        fields={"master_lb_enabled": False},
        options={"api_load_balancer": "requested"},
    ),
    "a network of the API and a floating IP": Input(
        "label api_server_network: give it with "
        "master_lb_floating_ip_enabled=false. It is 'public'",
        labels={"api_server_network": "public"},
    ),
}

#: What OpenStack does not have, or not as a cluster needs it.
UNFIT: Table = {
    "a security group that is not there": Input(
        "label extra_security_groups (spaces separate names): there is no "
        "such security group; choose one of `openstack security group list`. "
        "It is 'db'",
        labels={"extra_security_groups": "web db"},
    ),
    "a flavor that Octavia does not have": Input(
        "label api_server_lb_flavor: give the name of an Octavia flavor. It "
        "is 'big'; Octavia has ha, small",
        labels={"api_server_lb_flavor": "big"},
    ),
    "a zone that Octavia does not have": Input(
        "label api_server_lb_availability_zone: give the name of an Octavia "
        "availability zone. It is 'az9'; Octavia has az1",
        labels={"api_server_lb_availability_zone": "az9"},
    ),
    "a network of the API that is not there": Input(
        "label api_server_network: there is no such network; choose one of "
        "`openstack network list`. It is 'management'",
        labels={
            "api_server_network": "management",
            "master_lb_floating_ip_enabled": "false",
        },
    ),
    "a network of the API without addresses of the nodes' IP version": (
        Input(
            "label api_server_network: the network has no IPv4 subnet, and "
            "nodes have IPv4 addresses; choose another. It is 'ipv6'",
            labels={
                "api_server_network": "ipv6",
                "master_lb_floating_ip_enabled": "false",
            },
        )
    ),
}

#: Labels without an effect.
UNKNOWN: Table = {
    "a label that another driver applies": Input(
        "label cert_manager_api has no effect: kubeadm always lets the "
        "cluster sign certificate requests. It is 'false'; label "
        "coredns_tag has no effect: kubeadm chooses the versions that belong "
        "to the Kubernetes version. It is '1.11.1'",
        labels={
            "coredns_tag": "1.11.1",
            "cert_manager_api": "false",
            "different_failure_domain": "false",
            "heat_container_agent_tag": "wallaby-stable-1",
        },
        options={"unknown_labels": "reject"},
    ),
}

#: What OpenStack does not have, by HTTP.
LOOKUPS: Table = {
    "a flavor that is not there": Input(
        "flavor_id: there is no such flavor; choose one of `openstack flavor "
        "list`. It is 'm1.huge'",
        fields={"flavor_id": "m1.huge"},
    ),
    "an image that is not there": Input(
        "image_id: there is no such image; choose one of `openstack image "
        "list`. It is 'dos'",
        template={"image_id": "dos"},
    ),
    "a subnet that is not there": Input(
        "fixed_subnet: there is no such subnet; choose one of `openstack "
        "subnet list`. It is 'lost'",
        fields={"fixed_subnet": "lost"},
    ),
    "a keypair that is not there": Input(
        "keypair: there is no such keypair; choose one of `openstack keypair "
        "list`. It is 'lost'",
        fields={"keypair": "lost"},
    ),
}


#: Requests that change the management cluster.
_WRITES = {"create", "replace", "apply", "patch", "delete"}


@contextlib.contextmanager
def _options(given: Input) -> Iterator[None]:
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

    def check(self, table: Table) -> None:
        """Each is refused with its text, and leaves no trace."""
        self.assertEqual(
            {title: each.refusal for title, each in table.items()},
            {
                title: self.refusal(title, each)
                for title, each in table.items()
            },
        )

    def refusal(self, title: str, given: Input) -> str:
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

    def send(self, given: Input) -> None:
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
        self.check(TYPES)

    def test_contradicting_labels_are_refused(self) -> None:
        self.check(CONTRADICTIONS)

    def test_unfit_networks_and_load_balancers_are_refused(self) -> None:
        self.check(UNFIT)

    def test_unknown_labels_are_refused(self) -> None:
        self.check(UNKNOWN)


class LookupTest(RefusedTestCase):
    """Refused for what OpenStack answers, by HTTP."""

    by_http = True

    def test_an_object_that_openstack_lacks_is_refused(self) -> None:
        self.check(LOOKUPS)
