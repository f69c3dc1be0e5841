# SPDX-License-Identifier: Apache-2.0

"""The driver's user as its manifest makes it, in place of the administrator.

Kinds that may be read in all namespaces cost the same for both; Secrets are
read in each namespace.
"""

from __future__ import annotations

from collections.abc import Collection

import yaml

from bench import crds
from bench import places
from lab import layout
from lab import tools
from magnum_capi_helm.kubernetes import permissions

_USER = "magnum-capi-helm"
_TOKEN = f"api/v1/namespaces/{_USER}/serviceaccounts/{_USER}/token"
_SECONDS = 86400


def use(namespaces: Collection[str]) -> None:
    """Apply the manifest, and give all drivers that user's kubeconfig."""
    manifest = places.STATE / "permissions.yaml"
    manifest.write_text(permissions.manifest((), namespaces))
    tools.run(
        [
            layout.BIN / "kubectl",
            f"--kubeconfig={places.KUBECONFIG}",
            "apply",
            "--server-side",
            "--force-conflicts",
            f"--filename={manifest}",
        ],
        log=places.log("permissions"),
    )
    with crds.session() as http:
        answer = http.post(
            f"{places.API}/{_TOKEN}",
            json={"spec": {"expirationSeconds": _SECONDS}},
            timeout=30,
        )
    answer.raise_for_status()
    kubeconfig = yaml.safe_load(places.KUBECONFIG.read_text())
    user = kubeconfig["users"][0]
    user["user"] = {"token": answer.json()["status"]["token"]}
    places.KUBECONFIG.write_text(yaml.safe_dump(kubeconfig))
