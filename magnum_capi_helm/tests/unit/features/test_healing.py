# SPDX-License-Identifier: Apache-2.0
"""Auto-healing, replacement and renewal of certificates: whole values."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import healing
from magnum_capi_helm.tests.unit.features import specs

NOT_READY = [
    {"type": "Ready", "status": "Unknown", "timeout": "10m"},
    {"type": "Ready", "status": "False", "timeout": "10m"},
]


class ClusterTest(base.BaseTestCase):
    def test_the_label_switches_control_plane_and_all_groups(self) -> None:
        for text, enabled in (("true", True), ("false", False)):
            check = {"healthCheck": {"enabled": enabled}}
            self.assertEqual(
                {"controlPlane": check, "nodeGroupDefaults": check},
                healing.TOPIC.cluster(
                    specs.cluster({"auto_healing_enabled": text})
                ),
            )

    def test_a_count_is_a_number(self) -> None:
        cluster = specs.cluster({"auto_healing_max_unhealthy": "2"})
        found = healing.TOPIC.cluster(cluster)["nodeGroupDefaults"]
        self.assertEqual(
            {"enabled": True, "spec": {"maxUnhealthy": 2}},
            found["healthCheck"],
        )


class GroupTest(base.BaseTestCase):
    def test_a_group_says_only_what_differs_from_the_cluster(self) -> None:
        of_cluster = {"auto_healing_unhealthy_timeout": "10m"}
        of_group = {**of_cluster, "auto_healing_node_startup_timeout": "2h"}
        cluster = specs.cluster(of_cluster)
        self.assertEqual(
            {}, healing.TOPIC.group(cluster, specs.group(of_cluster))
        )
        self.assertEqual(
            {
                "healthCheck": {
                    "spec": {
                        "nodeStartupTimeout": "2h",
                        "unhealthyConditions": NOT_READY,
                    }
                }
            },
            healing.TOPIC.group(cluster, specs.group(of_group)),
        )


_LABEL = "certificates_expiry_days"


class RenewalTest(base.BaseTestCase):
    def test_zero_switches_the_renewal_off(self) -> None:
        for given in ({}, {_LABEL: "0"}):
            self.assertEqual(
                {}, healing.CERTIFICATES.cluster(specs.cluster(given))
            )

    def test_the_former_option_is_the_default_of_the_label(self) -> None:
        [option] = [e for e in conf.label_opts if e.name == _LABEL]
        self.assertEqual(
            [("capi_helm", "renew_certificates_days")],
            [(old.group, old.name) for old in option.deprecated_opts],
        )


_TIMEOUTS = {
    "nodeDrainTimeout": "1h30m",
    "nodeVolumeDetachTimeout": "10m",
    "nodeDeletionTimeout": "0s",
}
#: Labels -> values of the control plane, and of a group of workers.
_ROWS: tuple[tuple[dict[str, str], dict[str, Any], dict[str, Any]], ...] = (
    ({}, {}, {}),
    (
        {
            "node_drain_timeout": "1h30m",
            "node_volume_detach_timeout": "10m",
            "node_deletion_timeout": "0s",
        },
        {"controlPlane": _TIMEOUTS},
        _TIMEOUTS,
    ),
    *(
        (
            {"rollout_max_surge": f"{surge}"},
            {},
            {
                "rolloutStrategy": {
                    "rollingUpdate": {
                        "maxSurge": surge,
                        "maxUnavailable": "0%",
                    }
                }
            },
        )
        for surge in (1, "25%")
    ),
)


class ReplacementTest(base.BaseTestCase):
    def test_labels_of_a_nodegroup_concern_its_machines(self) -> None:
        cluster = specs.cluster()
        for given, control_plane, workers in _ROWS:
            group = specs.group(given)
            self.assertEqual(
                workers, healing.REPLACEMENT.group(cluster, group), str(given)
            )
            master = dataclasses.replace(
                cluster.control_plane, labels=group.labels
            )
            self.assertEqual(
                control_plane,
                healing.REPLACEMENT.cluster(
                    dataclasses.replace(cluster, control_plane=master)
                ),
                str(given),
            )
