# SPDX-License-Identifier: Apache-2.0

"""Before going back: what the first operation of 1.4.0 would break."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.swap import back
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import finding
from magnum_capi_helm.tests.unit.swap import group_cases
from magnum_capi_helm.tests.unit.swap import subjects

DEFAULT = evidence.Options()
MOVE = (
    "before you go back, upgrade it with this driver to a template that has "
    "the label capi_helm_chart_version=0.16.0"
)
ALONE = group_cases.ALONE

#: What the cluster is like, its groups apart -> topic, text and what prevents
#: it, of all findings.
CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "1.4.0 made it, and the option has its chart": ({}, []),
    "the option is not set": (
        {"options": DEFAULT},
        [
            (
                "chart",
                "chart 0.10.1 in place of 0.16.0: all machines are replaced; "
                "or helm fails, since CAPO from 0.12 on does not serve "
                "v1alpha7",
                "[capi_helm] default_helm_chart_version = 0.16.0",
            )
        ],
    ),
    "most other clusters have another chart": (
        {"options": DEFAULT, "chart": "0.27.0"},
        [
            (
                "chart",
                "chart 0.10.1 in place of 0.16.0: all machines are replaced; "
                "or helm fails, since CAPO from 0.12 on does not serve "
                "v1alpha7",
                MOVE,
            )
        ],
    ),
    "the template names another chart": (
        {"template": {"labels": {"capi_helm_chart_version": "0.14.1"}}},
        [
            (
                "chart",
                "chart 0.14.1 in place of 0.16.0: the machines of the "
                "control plane are replaced",
                MOVE,
            )
        ],
    ),
    "the template names the chart that it has": (
        {
            "options": DEFAULT,
            "template": {"labels": {"capi_helm_chart_version": "v0.16.0"}},
        },
        [],
    ),
    "another chart of the same machines": (
        {"options": evidence.Options(chart="0.27.0")},
        [
            (
                "chart",
                "chart 0.27.0 in place of 0.16.0: its addons become those "
                "of that version",
                "[capi_helm] default_helm_chart_version = 0.16.0",
            )
        ],
    ),
    "the chart at a path": (
        {"options": evidence.Options(chart_at_path="0.27.0")},
        [
            (
                "chart",
                "chart 0.27.0 in place of 0.16.0: its addons become those "
                "of that version",
                "[capi_helm] helm_chart_name: a chart of version 0.16.0",
            )
        ],
    ),
    "it is on a management cluster that 1.4.0 does not know": (
        {"live": {"reachable": False}},
        [
            (
                "management cluster",
                "[capi_helm] kubeconfig_file leads to another management "
                "cluster: 1.4.0 takes the cluster for gone, and calls its "
                "deletion complete while its machines live on",
                "keep this driver until that cluster is deleted",
            )
        ],
    ),
    "the template's image is gone": (
        {"image": None},
        [
            (
                "image",
                "the template's image ubuntu-1.34 is gone, or does not say "
                "what it is: every operation of 1.4.0 fails",
                "bring the image back, or upgrade the cluster with this "
                "driver to a template whose image exists",
            )
        ],
    ),
    "Glance said nothing of the template's image": (
        {"image": None, "known": False},
        [],
    ),
    "a template with flannel": (
        {"template": {"network_driver": "flannel"}},
        [
            (
                "network driver",
                "network driver flannel: calico is removed, and pods have "
                "no network any more",
                "before you go back, upgrade it with this driver to a "
                "template with network_driver calico",
            )
        ],
    ),
    "a template with the other network": (
        {"template": {"network_driver": "cilium"}},
        [
            (
                "network driver",
                "cilium takes the place of calico in a living cluster",
                "before you go back, upgrade it with this driver to a "
                "template with network_driver calico",
            )
        ],
    ),
    "an allow list that is applied": (
        {
            "labels": {"api_master_lb_allowed_cidrs": "192.0.2.0/24"},
            "values": {
                "apiServer": {
                    "allowedCidrs": ["192.0.2.0/24"],
                    "allowedCIDRs": ["192.0.2.0/24"],
                }
            },
        },
        [
            (
                "allow list",
                "the allow list of the Kubernetes API (192.0.2.0/24) is "
                "taken away: the API is open to all",
                "no option of 1.4.0 prevents it: don't change the cluster, "
                "or close the load balancer's port by other means",
            )
        ],
    ),
    "what a living cluster can't change, and 1.4.0 does not know": (
        {"values": {"apiServer": {"port": 443}}},
        [
            (
                "network",
                "Cluster API's provider refuses the change of "
                "apiServer.port: UPDATE_FAILED",
                ALONE,
            )
        ],
    ),
    "what a living cluster can't change, and an option decides": (
        {
            "values": {
                "apiServer": {"associateFloatingIP": False},
                "clusterNetworking": {
                    "internalNetwork": {"nodeCidr": "10.9.0.0/24"}
                },
            }
        },
        [
            (
                "network",
                "Cluster API's provider refuses the change of "
                "apiServer.associateFloatingIP, "
                "clusterNetworking.internalNetwork.nodeCidr: UPDATE_FAILED",
                "[capi_helm_cluster_labels] fixed_subnet_cidr = 10.9.0.0/24, "
                "master_lb_floating_ip_enabled = false",
            )
        ],
    ),
    "a network of the user's own has no range": (
        {
            "values": {
                "clusterNetworking": {
                    "internalNetwork": {
                        "nodeCidr": None,
                        "networkFilter": {"id": "net-2"},
                    }
                }
            }
        },
        [],
    ),
    "addons that 1.4.0 does not know": (
        {"values": {"addons": {"reloader": {"enabled": True}}}},
        [("addons", "changed or lost: addons.reloader.enabled", ALONE)],
    ),
    "addons that an option decides": (
        {"values": {"addons": {"monitoring": {"enabled": True}}}},
        [
            (
                "addons",
                "changed or lost: addons.monitoring.enabled",
                "[capi_helm_cluster_labels] monitoring_enabled = true",
            )
        ],
    ),
    "the annotations of this driver are missed by nobody": (
        {"values": {"clusterAnnotations": {"a": "b"}}},
        [],
    ),
    "what the chart does by itself, said or not": (
        {
            "values": {
                "authWebhook": "none",
                "addons": {"cni": None, "ingress": None, "monitoring": None},
            }
        },
        [],
    ),
}


class BackTest(base.BaseTestCase):
    def test_cases(self) -> None:
        for name, (changed, expected) in (CASES | group_cases.CASES).items():
            with self.subTest(name):
                found = back.findings(subjects.going_back(**changed))
                self.assertEqual(
                    expected,
                    [(each.about, each.what, each.remedy) for each in found],
                )
                self.assertEqual(
                    {finding.ACT} if expected else set(),
                    {each.level for each in found},
                )

    def test_the_option_that_keeps_most_charts(self) -> None:
        label = {"labels": {"capi_helm_chart_version": "0.14.1"}}
        clusters = [
            subjects.subject(live={"chart": version}, template=template)
            for version, template in (
                ("0.16.0", {}),
                ("0.27.0", {}),
                ("0.27.0", {}),
                ("0.14.1", label),
                ("0.14.1", label),
                ("0.14.1", label),
                ("", {}),
            )
        ]
        self.assertEqual("0.27.0", back.default_chart(clusters, DEFAULT))
        found = back.option(clusters, DEFAULT)
        assert found is not None
        self.assertEqual(
            "[capi_helm] default_helm_chart_version = 0.27.0", found.remedy
        )

    def test_no_option_is_named_where_none_helps(self) -> None:
        clusters = [subjects.SUBJECT]
        for options, of in (
            (evidence.Options(chart="0.16.0"), clusters),
            (evidence.Options(chart_at_path="0.27.0"), clusters),
            (DEFAULT, []),
        ):
            self.assertIsNone(back.option(of, options))
