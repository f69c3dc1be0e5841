# SPDX-License-Identifier: Apache-2.0

"""Nodegroups that are refused; the fields are those of the group."""

from __future__ import annotations

from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import bad_inputs

#: One character more than Kubernetes takes.
LONG = "x" * 64

#: Images beside the one of the cluster.
IMAGES = [
    openstack.image("flatcar", os_distro="flatcar"),
    openstack.image("ubuntu-1.33", kube_version="v1.33.4"),
    openstack.image("ubuntu-1.35", kube_version="v1.35.0"),
]

GROUPS: bad_inputs.Table = {
    "a size in words": bad_inputs.Input(
        "label boot_volume_size: give a size in GB from 0 to 65536. It is "
        "'big'; with 0, machines boot from the disk of the flavor",
        labels={"boot_volume_size": "big"},
    ),
    "a type of volumes that is not there": bad_inputs.Input(
        "label boot_volume_type: give the name of a Cinder volume type. It "
        "is 'gold'; 'gold' is none of those that are there (fast, slow)",
        labels={"boot_volume_size": "20", "boot_volume_type": "gold"},
    ),
    "an argument with a command": bad_inputs.Input(
        "label kubelet_options: give max-pods a value of only letters, "
        "digits, full stops and _ , : = / + @ % * < [ ] -. It is "
        "'--max-pods=$(id)'",
        labels={"kubelet_options": "--max-pods=$(id)"},
    ),
    "a node label with a key of 64 characters": bad_inputs.Input(
        "node_labels: a label of a nodegroup is not allowed. It is "
        f"nodegroup 'gpu': '{LONG}' "
        "is no key: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        fields={"name": "gpu", "node_labels": {LONG: "1"}},
    ),
    "a node label that is not ASCII": bad_inputs.Input(
        "node_labels: a label of a nodegroup is not allowed. It is nodegroup "
        "'größe': 'größe' is no value: up to 63 of A-Z a-z 0-9 - _ . , a "
        "letter or digit at both ends",
        fields={"name": "größe", "node_labels": {"tier": "größe"}},
    ),
    "an image of another distribution": bad_inputs.Input(
        "image_id: all machines of a cluster have one os_distro. Image "
        "'flatcar' has flatcar, and this cluster's machines are ubuntu",
        fields={"image_id": "flatcar"},
    ),
    "an image that is newer than the control plane": bad_inputs.Input(
        "image_id: a new machine joins a control plane of its own minor "
        "version of Kubernetes alone. Image 'ubuntu-1.35' has 1.35.0, and "
        "the control plane has 1.34.2",
        fields={"image_id": "ubuntu-1.35"},
    ),
    "an image that is older than the control plane": bad_inputs.Input(
        "image_id: a new machine joins a control plane of its own minor "
        "version of Kubernetes alone. Image 'ubuntu-1.33' has 1.33.4, and "
        "the control plane has 1.34.2",
        fields={"image_id": "ubuntu-1.33"},
    ),
    "a label that nobody knows": bad_inputs.Input(
        "label 'boot_volume_sise' is not known (did you mean "
        "boot_volume_size?)",
        labels={"boot_volume_sise": "20"},
        options={"unknown_labels": "reject"},
    ),
    "a label that another driver applies": bad_inputs.Input(
        "label different_failure_domain has no effect: the chart passes no "
        "scheduler hints to Nova; server_group_policies spreads machines over "
        "hosts. It is 'true'",
        labels={"different_failure_domain": "true"},
        options={"unknown_labels": "reject"},
    ),
    "a label of the cluster": bad_inputs.Input(
        "label pods_cidr is read from the template and the cluster alone",
        labels={"pods_cidr": "banana"},
        options={"unknown_labels": "reject"},
    ),
    "a taint with an effect that is none": bad_inputs.Input(
        "node_taints: a taint of a nodegroup is not allowed. It is nodegroup "
        "'tainted': 'Never' is no effect; give NoSchedule, PreferNoSchedule "
        "or NoExecute",
        fields={
            "name": "tainted",
            "node_taints": [{"key": "gpu", "effect": "Never"}],
        },
    ),
}
