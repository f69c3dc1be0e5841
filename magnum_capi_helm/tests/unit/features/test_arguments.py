# SPDX-License-Identifier: Apache-2.0

"""Arguments of Kubernetes' components."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.features import arguments
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

RSA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"

#: Arguments, and to whom each belongs.
OWNED_BY_OTHERS = [
    ("kubeapi", "audit-log-path", "see audit_log_enabled"),
    ("kubeapi", "oidc-client-id", "see oidc_issuer_url"),
    ("kubeapi", "enable-admission-plugins", "see admission_control_list"),
    ("kubeapi", "admission-control-config-file", "see pod_security_enforce"),
    ("kubeapi", "encryption-provider-config", "see etcd_encryption_enabled"),
    ("kubeapi", "authorization-mode", "see keystone_auth_enabled"),
    ("kubeapi", "v", "see api_server_log_level"),
    ("kubeapi", "client-ca-file", "kubeadm sets it"),
    ("kubeapi", "etcd-servers", "kubeadm sets it"),
    ("kubeapi", "cloud-provider", "the chart sets it"),
    ("kubeapi", "token-auth-file", "machines have no such file"),
    ("kubecontroller", "bind-address", "the chart sets it"),
    ("kubecontroller", "cluster-signing-key-file", "kubeadm sets it"),
    ("kubescheduler", "leader-elect", "kubeadm sets it"),
    ("kubescheduler", "config", "machines have no such file"),
    ("kubelet", "node-labels", "see node_labels"),
    ("kubelet", "tls-cipher-suites", "see kubelet_tls_cipher_suites"),
    ("kubelet", "bootstrap-kubeconfig", "kubeadm sets it"),
    ("kubelet", "node-ip", "each machine has its own"),
]


def _kubeadm(given: dict[str, str], **changes: Any) -> Any:
    made = arguments.TOPIC.cluster(specs.cluster(given, **changes))
    return made["controlPlane"]["kubeadmConfigSpec"]


class ArgumentsTestCase(base.BaseTestCase):
    def _refusal(self, given: dict[str, str], **changes: Any) -> str:
        error = self.assertRaises(
            errors.LabelError,
            arguments.TOPIC.check,
            specs.cluster(given, **changes),
        )
        return f"{error.name}: {error.allowed}"


class ComponentsTest(ArgumentsTestCase):
    def test_defaults_send_no_argument(self) -> None:
        cluster = specs.cluster()
        self.assertEqual({}, arguments.TOPIC.cluster(cluster))
        self.assertEqual(
            {}, arguments.TOPIC.group(cluster, cluster.node_groups[0])
        )
        arguments.TOPIC.check(cluster)

    def test_kubelet_of_the_control_plane_has_those_of_its_group(self) -> None:
        control_plane = dataclasses.replace(
            specs.cluster().control_plane,
            labels=specs.parsed({"kubelet_options": "--max-pods=50"}),
        )
        registration = {
            "nodeRegistration": {"kubeletExtraArgs": {"max-pods": "50"}}
        }
        self.assertEqual(
            {
                "initConfiguration": registration,
                "joinConfiguration": registration,
            },
            _kubeadm(
                {"kubelet_options": "--max-pods=200"},
                control_plane=control_plane,
            ),
        )

    def test_an_argument_of_another_owner_names_the_owner(self) -> None:
        for component, name, why in OWNED_BY_OTHERS:
            label = f"{component}_options"
            self.assertEqual(
                f"{label}: it without {name}: {why}",
                self._refusal({label: f"--a=b --{name}=x"}),
            )

    def test_a_label_that_a_refusal_names_is_there(self) -> None:
        declared = {label.name for label in features.LABELS}
        named = {
            word
            for table in arguments._OWNED.values()
            for why in table.values()
            for word in re.findall(r"see (\w+_\w+)", why)
        }
        self.assertEqual(set(), named - declared)

    def test_a_value_that_somebody_would_interpret_is_refused(self) -> None:
        characters = (
            "letters, digits, full stops and _ , : = / + @ % * < [ ] -"
        )
        for label in (
            "kubeapi_options",
            "kubecontroller_options",
            "kubescheduler_options",
            "kubelet_options",
            "kubeproxy_options",
        ):
            for value in ("{{ds}}", "$(HOSTNAME)", "`id`", "'a'"):
                self.assertEqual(
                    f"{label}: feature-gates a value of only {characters}",
                    self._refusal({label: f"--feature-gates={value}"}),
                )

    def test_a_group_can_not_take_what_the_cluster_can_not(self) -> None:
        group = specs.group({"kubelet_options": "--node-ip=10.0.0.9"})
        self.assertEqual(
            "kubelet_options: it without node-ip: each machine has its own",
            self._refusal({}, node_groups=(group,)),
        )

    def test_cipher_suites_of_tls_1_3_can_not_be_chosen(self) -> None:
        for component in ("api_server", "kubelet"):
            version = f"{component}_tls_min_version"
            suites = f"{component}_tls_cipher_suites"
            self.assertEqual(
                f"{suites}: none with this {version}",
                self._refusal({suites: RSA, version: "1.3"}),
            )


class KubeProxyTest(ArgumentsTestCase):
    def test_arguments_become_fields_of_its_file(self) -> None:
        given = {
            "kubeproxy_options": "--proxy-mode=ipvs --ipvs-scheduler=lc "
            "--ipvs-strict-arp=true --conntrack-max-per-core=0 "
            "--conntrack-tcp-timeout-established=1h30m "
            "--nodeport-addresses=10.0.0.0/8,192.168.0.0/16 "
            "--feature-gates=A=true,B=false --v=4"
        }
        made = arguments.TOPIC.cluster(specs.cluster(given))
        self.assertEqual(
            {
                "kubeProxyConfiguration": {
                    "mode": "ipvs",
                    "ipvs": {"scheduler": "lc", "strictARP": True},
                    "conntrack": {
                        "maxPerCore": 0,
                        "tcpEstablishedTimeout": "1h30m",
                    },
                    "nodePortAddresses": ["10.0.0.0/8", "192.168.0.0/16"],
                    "featureGates": {"A": True, "B": False},
                    "logging": {"verbosity": 4},
                }
            },
            made["controlPlane"]["kubeadmConfigSpec"],
        )
        arguments.TOPIC.check(specs.cluster(given))

    def test_a_wrong_argument_of_kube_proxy_names_the_allowed(self) -> None:
        names = ", ".join(arguments.KUBE_PROXY_ARGUMENTS)
        for text, allowed in (
            (
                "kubeconfig=a",
                f"it without kubeconfig; kube-proxy takes {names}",
            ),
            (
                "proxy-mode=userspace",
                "proxy-mode as iptables, ipvs or nftables",
            ),
            ("conntrack-min=many", "conntrack-min as a whole number"),
            ("ipvs-strict-arp=yes", "ipvs-strict-arp as true or false"),
            (
                "ipvs-sync-period=30",
                "ipvs-sync-period as a duration such as 90s or 1h30m",
            ),
            (
                "feature-gates=A",
                "feature-gates as a list such as Name=true,Other=false",
            ),
        ):
            given = {"kubeproxy_options": text}
            self.assertEqual(
                f"kubeproxy_options: {allowed}", self._refusal(given)
            )

    def test_with_cilium_there_is_none(self) -> None:
        given = {"kubeproxy_options": "--v=4"}
        cluster = specs.cluster(given, cni="cilium")
        self.assertIn(
            "give none: with cilium there is no kube-proxy",
            specs.refusal(arguments.TOPIC.check, cluster),
        )
        # An operator's default is for the clusters that have one.
        self.assertEqual({}, arguments.TOPIC.cluster(cluster))


class ArgumentTypesTest(base.BaseTestCase):
    def test_harmless_is_what_no_reader_on_the_way_interprets(self) -> None:
        for value in (
            "memory.available<100Mi,nodefs.available<10%",
            "[::1]:10249",
            "kernel.msg*,net.core.somaxconn",
            "A=true,B=false",
            "Node.User@example.org/x_y",
        ):
            self.assertTrue(arguments.harmless(value), value)
        for value in (
            *("{{ds}}", "{%x", "$(HOSTNAME)", "${HOSTNAME}", "`id`", "'a'"),
            *('"a"', "a\\b", "a;b", "a&b", "a|b", "#a", "a\nb", "a\x00"),
            *("\u00e4", ""),
        ):
            self.assertFalse(arguments.harmless(value), value)
