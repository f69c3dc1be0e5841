# SPDX-License-Identifier: Apache-2.0

"""Arguments of kube-proxy, which are fields of its file."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.features import arguments
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs


class KubeProxyTest(base.BaseTestCase):
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

    def test_what_has_no_field_names_what_has_one(self) -> None:
        rows = [
            (
                "kubeconfig=a",
                f"it without kubeconfig; kube-proxy takes "
                f"{', '.join(arguments.KUBE_PROXY_ARGUMENTS)}",
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
        ]
        for text, allowed in rows:
            error = self.assertRaises(
                errors.LabelError,
                arguments.TOPIC.check,
                specs.cluster({"kubeproxy_options": text}),
            )
            self.assertEqual(allowed, error.allowed)

    def test_with_cilium_there_is_none(self) -> None:
        given = {"kubeproxy_options": "--v=4"}
        cluster = specs.cluster(given, cni="cilium")
        error = self.assertRaises(
            errors.LabelError, arguments.TOPIC.check, cluster
        )
        self.assertEqual(
            "none: with cilium there is no kube-proxy", error.allowed
        )
        # An operator's default is for the clusters that have one.
        self.assertEqual({}, arguments.TOPIC.cluster(cluster))
