# SPDX-License-Identifier: Apache-2.0

"""Removal and replacement of machines."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.features import healing
from magnum_capi_helm.tests.unit.features import specs

#: Labels -> values of the control plane, and of a group of workers.
_ROWS: tuple[tuple[dict[str, str], dict[str, Any], dict[str, Any]], ...] = (
    ({}, {}, {}),
    (
        {
            "node_drain_timeout": "1h30m",
            "node_volume_detach_timeout": "10m",
            "node_deletion_timeout": "0s",
        },
        {
            "controlPlane": {
                "nodeDrainTimeout": "1h30m",
                "nodeVolumeDetachTimeout": "10m",
                "nodeDeletionTimeout": "0s",
            }
        },
        {
            "nodeDrainTimeout": "1h30m",
            "nodeVolumeDetachTimeout": "10m",
            "nodeDeletionTimeout": "0s",
        },
    ),
    (
        {"rollout_max_surge": "1"},
        {},
        {
            "rolloutStrategy": {
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "0%"}
            }
        },
    ),
    (
        {"rollout_max_surge": "25%"},
        {},
        {
            "rolloutStrategy": {
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "0%"}
            }
        },
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
