# SPDX-License-Identifier: Apache-2.0

"""The lab's CRDs, as they are needed without any controller.

Each kind is served and stored in the one version that was recorded, which is
the one that 1.4.0 asks for: both drivers read the same bytes, and nothing has
to be converted.
"""

from __future__ import annotations

import time
from typing import Any

import requests
import yaml

from bench import places
from lab import layout
from lab import manifests
from lab import planes

#: Group and version (the one that 1.4.0 asks for), and plurals.
KINDS = {
    "apis/cluster.x-k8s.io/v1beta1": (
        *("clusters", "machinedeployments", "machinehealthchecks"),
        *("machines", "machinesets"),
    ),
    "apis/controlplane.cluster.x-k8s.io/v1beta1": ("kubeadmcontrolplanes",),
    "apis/bootstrap.cluster.x-k8s.io/v1beta1": (
        "kubeadmconfigs",
        "kubeadmconfigtemplates",
    ),
    "apis/infrastructure.cluster.x-k8s.io/v1beta1": (
        *("openstackclusters", "openstackmachines"),
        "openstackmachinetemplates",
    ),
    "apis/addons.stackhpc.com/v1alpha1": ("helmreleases", "manifests"),
    "apis/coordination.k8s.io/v1": ("leases",),
    "api/v1": ("secrets",),
}
_SECONDS = 60.0
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def wait_until_read() -> None:
    """Wait until the API server has what was written behind its back.

    Before that it refuses a LIST: "Too large resource version" (504).
    """
    with session() as http:
        for version, found in KINDS.items():
            for plural in found:
                _wait(http, f"/{version}/{plural}?limit=1")


def session() -> requests.Session:
    """Talks to the bench's API server as its administrator."""
    made = requests.Session()
    made.trust_env = False
    made.verify = str(planes.FIRST.authority)
    made.cert = (str(layout.PKI / "admin.crt"), str(layout.PKI / "admin.key"))
    return made


def plurals() -> dict[str, str]:
    """Plural by kind of what is recorded."""
    found = {"Lease": "leases"}
    names = [each["spec"]["names"] for each in _wanted()]
    return found | {each["kind"]: each["plural"] for each in names}


def apply() -> None:
    """Make the CRDs, and wait until the API server serves all kinds."""
    with session() as http:
        for each in _wanted():
            answer = http.post(places.API + _CRDS, json=each, timeout=30)
            if answer.status_code != requests.codes.conflict:
                answer.raise_for_status()
    wait_until_read()


def _wait(http: requests.Session, path: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not http.get(places.API + path, timeout=60).ok:
        if time.monotonic() > deadline:
            raise SystemExit(f"the API server does not serve {path}")
        time.sleep(0.2)


def _wanted() -> list[dict[str, Any]]:
    files = [*sorted(layout.MANIFESTS.glob("crd-*.yaml")), manifests.ADDONS]
    served = {
        (group, plural): version
        for prefix, listed in KINDS.items()
        for group, _, version in [prefix.removeprefix("apis/").partition("/")]
        for plural in listed
    }
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = []
    for path in files:
        # The loader is one of yaml's two safe ones.
        for crd in yaml.load_all(path.read_text(), loader):
            if not crd:
                continue
            spec = crd["spec"]
            key = (spec["group"], spec["names"]["plural"])
            if key in served:
                found.append(_plain(crd, served[key]))
    return found


def _plain(crd: dict[str, Any], version: str) -> dict[str, Any]:
    """With one version, and without conversion."""
    spec = crd["spec"]
    (kept,) = (each for each in spec["versions"] if each["name"] == version)
    spec["versions"] = [{**kept, "served": True, "storage": True}]
    spec.pop("conversion", None)
    return crd
