# SPDX-License-Identifier: Apache-2.0
"""Admission plugins and Pod Security."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.features import admission
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

ADDONS = [
    "calico-apiserver",
    "calico-system",
    "cert-manager",
    "csi-ceph-system",
    "gpu-operator",
    "ingress-nginx",
    "intel",
    "kube-amd-gpu",
    "kube-system",
    "monitoring-system",
    "network-operator",
    "node-feature-discovery",
    "node-problem-detector",
    "openstack-system",
    "tigera-operator",
    "traefik",
]


def _arguments(given: dict[str, str]) -> Any:
    made = admission.TOPIC.cluster(specs.cluster(given))
    kubeadm = made["controlPlane"]["kubeadmConfigSpec"]
    return kubeadm["clusterConfiguration"]["apiServer"]["extraArgs"]


class PluginsTest(base.BaseTestCase):
    def test_defaults_leave_the_plugins_of_kubeadm(self) -> None:
        self.assertEqual({}, admission.TOPIC.cluster(specs.cluster()))

    def test_plugins_are_added_to_the_one_of_kubeadm(self) -> None:
        self.assertEqual(
            {
                "enable-admission-plugins": "NodeRestriction,"
                "AlwaysPullImages,PodNodeSelector",
                "disable-admission-plugins": "DefaultStorageClass",
            },
            _arguments(
                {
                    "admission_control_list": "AlwaysPullImages,"
                    "NodeRestriction,PodNodeSelector",
                    "admission_control_disabled_list": "DefaultStorageClass",
                }
            ),
        )

    def test_lists_that_the_api_server_dies_of_are_refused(self) -> None:
        rows = [
            (
                {"admission_control_list": "PodSecurityPolicy"},
                ("PodSecurityPolicy", "see pod_security_enforce"),
            ),
            (
                {"admission_control_list": "PodNodeSelector,EventRateLimit"},
                ("EventRateLimit", "needs a configuration of its own"),
            ),
            (
                {"admission_control_disabled_list": "NodeRestriction"},
                ("NodeRestriction", "which is enabled"),
            ),
            (
                {
                    "admission_control_list": "PodNodeSelector",
                    "admission_control_disabled_list": "PodNodeSelector",
                },
                ("PodNodeSelector", "which is enabled"),
            ),
        ]
        for given, phrases in rows:
            error = self.assertRaises(
                errors.LabelError,
                admission.TOPIC.check,
                specs.cluster(given),
            )
            *_, refused = given.items()
            self.assertEqual(refused, (error.name, error.value))
            for phrase in phrases:
                self.assertIn(phrase, error.allowed)
        admission.TOPIC.check(
            specs.cluster({"admission_control_list": "AlwaysPullImages"})
        )


class PodSecurityTest(base.BaseTestCase):
    def test_levels_leave_the_addons_alone(self) -> None:
        self.assertEqual(
            {
                "apiServer": {
                    "admissionConfiguration": {
                        "PodSecurity": {
                            "apiVersion": "pod-security.admission.config."
                            "k8s.io/v1",
                            "kind": "PodSecurityConfiguration",
                            "defaults": {
                                "enforce": "baseline",
                                "warn": "restricted",
                            },
                            "exemptions": {
                                "namespaces": sorted([*ADDONS, "legacy"])
                            },
                        }
                    }
                }
            },
            admission.TOPIC.cluster(
                specs.cluster(
                    {
                        "pod_security_enforce": "baseline",
                        "pod_security_warn": "restricted",
                        "pod_security_exempt_namespaces": "legacy,kube-system",
                    }
                )
            ),
        )

    def test_exemptions_alone_are_no_configuration(self) -> None:
        given = {"pod_security_exempt_namespaces": "legacy"}
        self.assertEqual({}, admission.TOPIC.cluster(specs.cluster(given)))
