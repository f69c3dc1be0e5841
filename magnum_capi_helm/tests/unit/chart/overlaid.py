# SPDX-License-Identifier: Apache-2.0

"""Values of the driver, and an overlay on top of them."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.chart import overlays

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
