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

"""Values of the driver, and an overlay on top of them."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.rendering import overlays

VALUES: dict[str, Any] = {
    "kubernetesVersion": "1.34.2",
    "clusterNetworking": {"internalNetwork": {"nodeCidr": "10.0.0.0/24"}},
    "apiServer": {"allowedCIDRs": ["192.0.2.0/24"], "port": 6443},
    "registryMirrors": None,
    "controlPlane": {
        "machineCount": 3,
        "kubeadmConfigSpec": {
            "files": [{"path": "/etc/proxy"}],
            "preKubeadmCommands": ["start proxy"],
        },
    },
    "nodeGroups": [{"name": "default-worker", "machineCount": 2}],
}


def applied(overlay: dict[str, Any]) -> dict[str, Any]:
    return overlays.apply(VALUES, overlay, "profile gpu")
