# SPDX-License-Identifier: Apache-2.0
"""The way to the Kubernetes API; load balancers; admission of requests."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import patches
from magnum_capi_helm.chart import values
from magnum_capi_helm.features import admission
from magnum_capi_helm.features import api_server
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions
from magnum_capi_helm.tests import value_paths
from magnum_capi_helm.tests.unit.features import specs

BARE = cluster_spec.ApiServer(load_balancer=False)
HIDDEN = cluster_spec.ApiServer(floating_ip=False)
#: A lost API server is known after 4 seconds, and a new one used after 20.
MONITOR = {"delay": 2, "timeout": 1, "maxRetries": 10, "maxRetriesDown": 2}
BARE_HIDDEN = cluster_spec.ApiServer(load_balancer=False, floating_ip=False)


def _server(given: dict[str, str] | None = None, **changes: Any) -> Any:
    cluster = specs.cluster(given, **changes)
    return api_server.TOPIC.cluster(cluster)["apiServer"]


def _alone(
    given: dict[str, str], api: cluster_spec.ApiServer
) -> cluster_spec.Cluster:
    return specs.cluster(
        given,
        api=api,
        control_plane=cluster_spec.NodeGroup("cp", "m1", 1, specs.IMAGE),
    )


#: Clusters whose API would have no such address, and the refusal.
NOWHERE = [
    (
        specs.cluster({"api_server_floating_ip": "192.0.2.7"}, api=HIDDEN),
        "^label api_server_floating_ip: .*_enabled=true: .* '192.0.2.7'$",
    ),
    (
        specs.cluster(api=BARE),
        "^master_count=3: without a load balancer .*, or master_lb_enabled$",
    ),
    (
        _alone({"master_lb_allowed_cidrs": "192.0.2.0/24"}, BARE),
        "^label master_lb_allowed_cidrs: .*_lb_enabled: .* '192.0.2.0/24'$",
    ),
    (
        _alone({"api_server_fixed_ip": "10.0.0.5"}, BARE),
        "^label api_server_fixed_ip: .* or with .*=false: .* '10.0.0.5'$",
    ),
    (
        _alone({}, BARE_HIDDEN),
        "API has neither .*: give .*_lb_enabled, .*=true, or .*_fixed_ip",
    ),
]


class ApiServerTest(base.BaseTestCase):
    def test_charts_get_their_spelling_and_newer_ones_a_monitor(self) -> None:
        """Others render it, and CAPO drops it: a difference for ever."""
        networks = ["192.0.2.0/24", "198.51.100.7/32"]
        given = {
            "api_master_lb_allowed_cidrs": ", ".join(networks),
            "octavia_provider": "f5",
        }
        expected = {
            "enableLoadBalancer": True,
            "loadBalancerProvider": "f5",
            "associateFloatingIP": False,
            "allowedCIDRs": networks,
        }
        for version, more in (
            ("0.10.1", {"allowedCidrs": networks}),
            ("0.11.0", {}),
            ("0.23.0", {}),
            ("0.24.0", {"loadBalancerMonitor": MONITOR}),
            ("0.27.0", {"loadBalancerMonitor": MONITOR}),
        ):
            self.assertEqual(
                {**expected, **more},
                _server(given, api=HIDDEN, chart=specs.chart(version)),
                version,
            )

    def test_a_provider_that_would_leave_the_api_open_is_refused(self) -> None:
        cluster = specs.cluster(
            {
                "octavia_provider": "ovn",
                "master_lb_allowed_cidrs": "192.0.2.0/24",
            }
        )
        self.assertEqual(
            "label master_lb_allowed_cidrs: give it with another "
            "octavia_provider than ovn, whose load balancers can't filter. "
            "It is '192.0.2.0/24'",
            specs.refusal(api_server.TOPIC.check, cluster),
        )
        # An upgrade can't change labels that the cluster has.
        lasting = cluster.labels.with_fixed(
            ["api_master_lb_allowed_cidrs", "octavia_provider"]
        )
        api_server.TOPIC.check(dataclasses.replace(cluster, labels=lasting))

    def test_a_user_can_not_get_round_the_operators_networks(self) -> None:
        """By a provider for which the options are not meant."""
        settings = {
            "api_master_lb_allowed_cidrs": ("192.0.2.0/24",),
            "octavia_provider": "ovn",
        }
        for given, refused in (({}, False), ({"octavia_provider"}, True)):
            told = labels.Values(
                settings, {name: (name, "ovn") for name in given}
            )
            cluster = dataclasses.replace(specs.cluster(), labels=told)
            if not refused:
                # Only the operator has set both, or the cluster lives.
                api_server.TOPIC.check(cluster)
                continue
            self.assertIn(
                "'192.0.2.0/24'",
                specs.refusal(api_server.TOPIC.check, cluster),
            )

    def test_no_chart_leaves_the_api_open(self) -> None:
        given = {"master_lb_allowed_cidrs": "192.0.2.0/24"}
        for version in versions.known_charts():
            cluster = specs.cluster(given, chart=specs.chart(version))
            found = values.checked(cluster)
            reads = value_paths.known(version)
            self.assertTrue(
                [
                    key
                    for key in ("allowedCidrs", "allowedCIDRs")
                    if found["apiServer"].get(key) == ["192.0.2.0/24"]
                    and f"apiServer.{key}" in reads
                ],
                version,
            )

    def test_without_a_load_balancer_only_its_provider_is_told(self) -> None:
        given = {"octavia_provider": "ovn", "api_server_lb_flavor": "ha"}
        self.assertEqual(
            {
                "enableLoadBalancer": False,
                "loadBalancerProvider": "ovn",
                "associateFloatingIP": True,
            },
            _server(given, api=BARE),
        )

    def test_another_port_needs_a_chart_whose_provider_opens_it(self) -> None:
        common, other = (cluster_spec.ApiServer(port=n) for n in (6443, 8443))
        self.assertNotIn("securityGroupRules", _server(api=common))
        [row] = [
            each
            for each in patches.table()
            if each.value == "apiServer.securityGroupRules"
        ]
        for version in versions.known_charts():
            api_server.check_port(common, version)
            text = specs.refusal(api_server.check_port, other, version)
            self.assertEqual(version in row.charts, not text, version)

    def test_the_port_has_a_place_beside_the_kubelets_arguments(self) -> None:
        cluster = specs.cluster(
            {"kubelet_options": "--max-pods=50"},
            api=cluster_spec.ApiServer(port=8443),
        )
        kubeadm = values.build(cluster)["controlPlane"]["kubeadmConfigSpec"]
        self.assertEqual(
            {"localAPIEndpoint": {"bindPort": 8443}},
            kubeadm["joinConfiguration"]["controlPlane"],
        )
        self.assertIn("nodeRegistration", kubeadm["initConfiguration"])

    def test_an_api_with_an_address_needs_no_load_balancer(self) -> None:
        fixed = {"api_server_fixed_ip": "10.0.0.5"}
        for cluster in (
            _alone({}, BARE),
            _alone({"api_server_floating_ip": "192.0.2.7"}, BARE),
            _alone(fixed, BARE_HIDDEN),
            # Somebody else brings the address to one of three machines.
            specs.cluster(fixed, api=BARE_HIDDEN),
        ):
            api_server.TOPIC.check(cluster)

    def test_an_address_that_nothing_would_have_is_refused(self) -> None:
        for cluster, message in NOWHERE:
            self.assertRegex(
                specs.refusal(api_server.TOPIC.check, cluster), message
            )


class LoadBalancersTest(base.BaseTestCase):
    def test_algorithm_fits_the_provider(self) -> None:
        for given, provider, method in (
            ({}, "amphora", "ROUND_ROBIN"),
            ({"octavia_provider": "ovn"}, "ovn", "SOURCE_IP_PORT"),
        ):
            section = {
                "lb-provider": provider,
                "lb-method": method,
                "create-monitor": True,
            }
            config = {"cloudConfig": {"LoadBalancer": section}}
            self.assertEqual(
                {"addons": {"openstack": config}},
                api_server.LOAD_BALANCERS.cluster(specs.cluster(given)),
            )

    def test_algorithms_that_the_provider_lacks_are_refused(self) -> None:
        """Other providers say themselves what they know."""
        three = "ROUND_ROBIN, LEAST_CONNECTIONS or SOURCE_IP"
        for provider, algorithm, words in (
            ("ovn", "ROUND_ROBIN", "SOURCE_IP_PORT or nothing"),
            ("amphora", "SOURCE_IP_PORT", three),
            ("ovn", "SOURCE_IP_PORT", ""),
            ("f5", "SOURCE_IP_PORT", ""),
        ):
            given = {
                "octavia_provider": provider,
                "octavia_lb_algorithm": algorithm,
            }
            wrong = (
                f"label octavia_lb_algorithm: give {words} with "
                f"octavia_provider={provider}. It is {algorithm!r}"
            )
            said = specs.refusal(
                api_server.LOAD_BALANCERS.check, specs.cluster(given)
            )
            self.assertEqual(wrong if words else "", said)


class AdmissionTest(base.BaseTestCase):
    def test_defaults_and_exemptions_alone_are_no_configuration(self) -> None:
        for given in ({}, {"pod_security_exempt_namespaces": "legacy"}):
            self.assertEqual({}, admission.TOPIC.cluster(specs.cluster(given)))

    def test_lists_that_the_api_server_dies_of_are_refused(self) -> None:
        enabled = "admission_control_list"
        disabled = "admission_control_disabled_list"
        for given, phrase in (
            ({enabled: "PodSecurityPolicy"}, "see pod_security_enforce"),
            (
                {enabled: "PodNodeSelector,EventRateLimit"},
                "EventRateLimit: it needs a configuration of its own",
            ),
            (
                {disabled: "NodeRestriction"},
                "NodeRestriction, which is enabled",
            ),
            (
                {enabled: "PodNodeSelector", disabled: "PodNodeSelector"},
                "PodNodeSelector, which is enabled",
            ),
        ):
            *_, (name, value) = given.items()
            self.assertRegex(
                specs.refusal(admission.TOPIC.check, specs.cluster(given)),
                f"^label {name}: give .*{phrase}.* It is '{value}'$",
            )
        admission.TOPIC.check(specs.cluster({enabled: "AlwaysPullImages"}))
