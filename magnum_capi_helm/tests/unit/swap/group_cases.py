# SPDX-License-Identifier: Apache-2.0

"""Before going back: what 1.4.0 would break of machines and nodegroups."""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm.tests.unit.swap import subjects

WORKER: dict[str, Any] = {
    "name": "default-worker",
    "machineFlavor": "m1.w",
    "machineCount": 2,
}
GPU: dict[str, Any] = {
    "name": "gpu",
    "machineFlavor": "m1.gpu",
    "machineCount": 1,
}
WITH_GPU = (subjects.MASTER, subjects.WORKER, subjects.GPU)
ALONE = "no option of 1.4.0 prevents it: don't change the cluster"
SCALED = {
    **WORKER,
    "autoscale": True,
    "machineCountMin": 1,
    "machineCountMax": 5,
}

#: What its groups are like -> topic, text and what prevents it, of all
#: findings.
CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "a group has an image and a version of its own": (
        {
            "groups": WITH_GPU,
            "values": {
                "nodeGroups": [
                    WORKER,
                    {
                        **GPU,
                        "machineImageId": "i-0",
                        "kubernetesVersion": "1.33.1",
                    },
                ]
            },
        },
        [
            (
                "image",
                "machines are replaced by those of the template's image: "
                "gpu (1.33.1 of image i-0, then 1.34.2 of image i-1)",
                "before you go back, upgrade these nodegroups with this "
                "driver to the template's image",
            )
        ],
    ),
    "each group says the template's image itself": (
        {
            "values": {
                "nodeGroups": [
                    {
                        **WORKER,
                        "machineImageId": "i-1",
                        "kubernetesVersion": "1.34.2",
                    },
                ]
            },
        },
        [],
    ),
    "labels of nodes, which 1.4.0 does not send": (
        {"values": {"nodeGroups": [{**WORKER, "nodeLabels": {"a": "b"}}]}},
        [
            (
                "machines",
                "machines are replaced: default-worker (nodeLabels)",
                ALONE,
            )
        ],
    ),
    "metadata of all servers": (
        {"values": {"machineMetadata": {"a": "b"}}},
        [
            (
                "machines",
                "machines are replaced: control plane (machineMetadata), "
                "default-worker (machineMetadata)",
                ALONE,
            )
        ],
    ),
    "the control plane's OIDC": (
        {"values": {"oidc": {"clientId": "k"}}},
        [
            (
                "machines",
                "machines are replaced: control plane (oidc.clientId)",
                ALONE,
            )
        ],
    ),
    "an option that changed since keeps what it has when it is set again": (
        {
            "values": {
                "controlPlane": {"machineRootVolume": {"diskSize": 40}},
                "nodeGroupDefaults": {"machineRootVolume": {"diskSize": 40}},
            }
        },
        [
            (
                "machines",
                "machines are replaced: control plane "
                "(machineRootVolume.diskSize), default-worker "
                "(machineRootVolume.diskSize)",
                "[capi_helm_cluster_labels] boot_volume_size = 40",
            )
        ],
    ),
    "no option beats a label": (
        {
            "labels": {"boot_volume_size": "50"},
            "values": {
                "controlPlane": {"machineRootVolume": {"diskSize": 50}},
                "nodeGroupDefaults": {"machineRootVolume": {"diskSize": 40}},
            },
        },
        [
            (
                "machines",
                "machines are replaced: default-worker "
                "(machineRootVolume.diskSize)",
                ALONE,
            )
        ],
    ),
    "a flavor that the row calls by its UUID": (
        {
            "groups": (
                subjects.MASTER,
                dataclasses.replace(subjects.WORKER, flavor="f-uuid"),
            )
        },
        [
            (
                "machines",
                "machines are replaced: default-worker (machineFlavor)",
                ALONE,
            )
        ],
    ),
    "a name that 1.4.0 makes otherwise": (
        {
            "groups": (
                subjects.MASTER,
                subjects.WORKER,
                dataclasses.replace(
                    subjects.GPU, name="gpu_1", chart_name="gpu-1--0a1b2c3d"
                ),
            ),
            "values": {
                "nodeGroups": [WORKER, {**GPU, "name": "gpu-1--0a1b2c3d"}]
            },
        },
        [
            (
                "nodegroup",
                "nodegroup gpu_1 is called gpu-1 in place of "
                "gpu-1--0a1b2c3d: all its machines are replaced, or it "
                "meets another group of that name",
                "before you go back, move its work to a nodegroup whose "
                "name is of lower case letters, digits and hyphens",
            )
        ],
    ),
    "a group that is being deleted": (
        {
            "groups": (
                subjects.MASTER,
                subjects.WORKER,
                dataclasses.replace(subjects.GPU, leaving=True),
            )
        },
        [
            (
                "nodegroup",
                "nodegroup gpu, which is being deleted, comes back",
                "let the deletion end before you go back",
            )
        ],
    ),
    "a group that was refused": (
        {
            "groups": (
                subjects.MASTER,
                subjects.WORKER,
                dataclasses.replace(subjects.GPU, refused=True),
            )
        },
        [
            (
                "nodegroup",
                "nodegroup gpu, which was refused, is made",
                "delete that nodegroup before you go back",
            )
        ],
    ),
    "a group of the autoscaler, which no label or option says": (
        {"values": {"nodeGroups": [SCALED]}},
        [
            (
                "autoscaling",
                "nodegroup default-worker: autoscaled from 1 to 5, then 2 "
                "nodes without autoscaling",
                "[capi_helm_cluster_labels] auto_scaling_enabled = true, "
                "and openstack coe nodegroup update: min_node_count=1, "
                "max_node_count=5",
            )
        ],
    ),
    "a group of the autoscaler, with the same bounds": (
        {
            "labels": {
                "auto_scaling_enabled": "true",
                "min_node_count": "1",
                "max_node_count": "5",
            },
            "values": {"nodeGroups": [SCALED]},
        },
        [],
    ),
    "bounds that 1.4.0 refuses": (
        {
            "labels": {
                "auto_scaling_enabled": "true",
                "min_node_count": "0",
            },
            "values": {"nodeGroups": [SCALED]},
        },
        [
            (
                "autoscaling",
                "nodegroup default-worker has a minimum below 1: every "
                "operation of 1.4.0 is refused",
                "openstack coe nodegroup update: bounds that fit, at least 1",
            )
        ],
    ),
}
