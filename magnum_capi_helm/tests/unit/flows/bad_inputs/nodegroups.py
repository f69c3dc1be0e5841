# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Nodegroups that are refused; the fields are those of the group."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.flows import bad_inputs

#: One character more than Kubernetes takes.
LONG = "x" * 64

GROUPS: bad_inputs.Table = {
    "a size in words": bad_inputs.Input(
        "label boot_volume_size='big' is not allowed: give a size in GB; 0 "
        "boots from the flavor's own disk",
        labels={"boot_volume_size": "big"},
    ),
    "a type of volumes that is not there": bad_inputs.Input(
        "label boot_volume_type='gold' is not allowed: give the name of a "
        "Cinder volume type that is there (fast, slow)",
        labels={"boot_volume_size": "20", "boot_volume_type": "gold"},
    ),
    "an argument with a command": bad_inputs.Input(
        "label kubelet_options='--max-pods=$(id)' is not allowed: give "
        "max-pods as letters, digits and _ . , : = / + @ % * < [ ] - alone",
        labels={"kubelet_options": "--max-pods=$(id)"},
    ),
    "a node label with a key of 64 characters": bad_inputs.Input(
        "node_labels of nodegroup gpu: "
        "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' "
        "is no key: up to 63 of A-Z a-z 0-9 - _ . , a letter or digit at "
        "both ends",
        fields={"name": "gpu", "node_labels": {LONG: "1"}},
    ),
    "a node label that is not ASCII": bad_inputs.Input(
        "node_labels of nodegroup größe: 'größe' is no value: up to 63 of "
        "A-Z a-z 0-9 - _ . , a letter or digit at both ends",
        fields={"name": "größe", "node_labels": {"tier": "größe"}},
    ),
    "a taint with an effect that is none": bad_inputs.Input(
        "node_taints of nodegroup tainted: 'Never' is no effect: one of "
        "NoSchedule, PreferNoSchedule, NoExecute",
        fields={
            "name": "tainted",
            "node_taints": [{"key": "gpu", "effect": "Never"}],
        },
    ),
}
