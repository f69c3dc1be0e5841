# SPDX-License-Identifier: Apache-2.0

"""The driver's user on a management plane: what its manifest allows.

All of the lab's tests run with it, so that they show when the manifest lacks
something.
"""

import base64
import json
import pathlib
import subprocess

import yaml

from lab import errors
from lab import layout
from lab import manifests
from lab import pki
from lab import planes
from lab import tools

MANIFEST = (
    layout.CHECKOUT / "magnum_capi_helm" / "kubernetes" / "permissions.yaml"
)
_NAME = "magnum-capi-helm"
_TOKEN = f"{_NAME}-token"
_SECONDS = 30


def ready(plane: planes.Plane) -> bool:
    """Whether the API server has it, as the manifest is now."""
    return plane.driver_kubeconfig.exists() and manifests.applied(
        plane, _NAME, _files(plane)
    )


def make(plane: planes.Plane) -> None:
    """Apply the manifest, get a token, write the kubeconfig."""
    plane.driver_kubeconfig.unlink(missing_ok=True)
    token = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": _TOKEN,
            "namespace": _NAME,
            "annotations": {"kubernetes.io/service-account.name": _NAME},
        },
    }
    manifest, request = _files(plane)
    request.write_text(yaml.safe_dump(token))
    manifests.apply(plane, _NAME, [manifest, request])
    text = pki.kubeconfig(plane, {"token": _token(plane)})
    plane.driver_kubeconfig.touch(mode=0o600)
    plane.driver_kubeconfig.write_text(text)


def _files(plane: planes.Plane) -> list[pathlib.Path]:
    return [MANIFEST, plane.manifests / "driver-token.yaml"]


def _token(plane: planes.Plane) -> str:
    """The token, as soon as the controller manager has made it."""
    command = [
        str(layout.BIN / "kubectl"),
        f"--kubeconfig={plane.kubeconfig}",
        f"--namespace={_NAME}",
        "get",
        "secret",
        _TOKEN,
        "--output=json",
    ]
    for _ in range(_SECONDS):
        found = subprocess.run(
            command, capture_output=True, check=True, text=True
        )
        if token := json.loads(found.stdout).get("data", {}).get("token"):
            return base64.b64decode(token).decode()
        tools.pause(1.0)
    raise errors.LabError(f"no token for {_NAME} after {_SECONDS} s")
