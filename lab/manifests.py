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

"""CRDs and webhook configurations for managers that listen on loopback.

The providers ship them for a cluster with cert-manager and Services; here
their webhooks are URLs with the lab's authority, and the CRDs get the labels
that tell Cluster API which contract each version keeps.
"""

import pathlib
from typing import Any

import yaml

from lab import layout
from lab import pki
from lab import stamps
from lab import tools

V1 = {"cluster.x-k8s.io/v1beta1": "v1beta1"}
V2 = {**V1, "cluster.x-k8s.io/v1beta2": "v1beta2"}
# Provider: contract labels, port of its webhooks.
PROVIDERS: dict[str, tuple[dict[str, str], int]] = {
    "core": ({}, 9443),
    "bootstrap": (V2, 9444),
    "kcp": (V2, 9445),
    "capo": (V1, 9446),
    "orc": ({}, 0),
}
ADDONS = layout.SOURCE / "plane" / "addon-crds.yaml"
_APPLIED = layout.ETCD / "stamps"  # goes with the data it speaks of


def _source() -> str:
    files = [*layout.CRDS.rglob("*.yaml"), pki.CA]
    return stamps.fingerprint(str(PROVIDERS), files=files)


def written() -> bool:
    """Whether they were rendered from what is there now."""
    return stamps.fresh("manifests", _source())


def write() -> None:
    """Render crd-*.yaml and webhook-*.yaml below the state folder."""
    layout.MANIFESTS.mkdir(parents=True, exist_ok=True)
    for name, (labels, port) in PROVIDERS.items():
        source = layout.CRDS / name
        crds = [
            _crd(_load(path)[0], labels, port)
            for path in sorted(source.glob("*.yaml"))
        ]
        _dump(_crd_file(name), crds)
        hooks = source / "webhooks" / "manifests.yaml"
        if port and hooks.exists():
            documents = [_webhook(d, name, port) for d in _load(hooks)]
            _dump(_webhook_file(name), documents)
    stamps.write("manifests", _source())


def _crd_file(name: str) -> pathlib.Path:
    return layout.MANIFESTS / f"crd-{name}.yaml"


def _webhook_file(name: str) -> pathlib.Path:
    return layout.MANIFESTS / f"webhook-{name}.yaml"


def _load(path: pathlib.Path) -> list[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open() as stream:
        # The loader is one of yaml's two safe ones.
        return [d for d in yaml.load_all(stream, loader) if d]


def _dump(path: pathlib.Path, documents: list[dict[str, Any]]) -> None:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    with path.open("w") as stream:
        yaml.dump_all(documents, stream, dumper)


def _endpoint(port: int, path: str) -> dict[str, str]:
    url = f"https://127.0.0.1:{port}{path}"
    return {"url": url, "caBundle": pki.encoded(pki.CA)}


def _crd(
    crd: dict[str, Any], labels: dict[str, str], port: int
) -> dict[str, Any]:
    crd["metadata"].setdefault("labels", {}).update(
        {"clusterctl.cluster.x-k8s.io": "", **labels}
    )
    if len(crd["spec"]["versions"]) > 1:
        crd["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": _endpoint(port, "/convert"),
            },
        }
    return crd


def _webhook(document: dict[str, Any], name: str, port: int) -> dict[str, Any]:
    metadata = document["metadata"]
    metadata["name"] = f"{name}-{metadata['name']}"  # they share their names
    for hook in document["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        hook["clientConfig"] = _endpoint(port, path)
    return document


def crds_applied() -> bool:
    """Whether the API server has the CRDs as they are now."""
    return _applied("crds", _crd_files())


def apply_crds() -> None:
    """Give the CRDs to the API server."""
    _apply("crds", _crd_files())


def webhooks_applied() -> bool:
    """Whether the API server calls the managers' webhooks."""
    return _applied("webhooks", _webhook_files())


def apply_webhooks() -> None:
    """Register the webhooks: only now do all managers answer."""
    _apply("webhooks", _webhook_files())


def _crd_files() -> list[pathlib.Path]:
    return [*map(_crd_file, PROVIDERS), ADDONS]


def _webhook_files() -> list[pathlib.Path]:
    return [_webhook_file(n) for n, (_, port) in PROVIDERS.items() if port]


def _applied(kind: str, files: list[pathlib.Path]) -> bool:
    if not all(path.exists() for path in files):
        return False
    return stamps.fresh(kind, stamps.fingerprint(files=files), _APPLIED)


def _apply(kind: str, files: list[pathlib.Path]) -> None:
    # Client-side apply would exceed the size limit of its annotation.
    options = ["--server-side", "--force-conflicts", "--validate=false"]
    tools.run(
        [
            layout.BIN / "kubectl",
            f"--kubeconfig={layout.KUBECONFIG}",
            "apply",
            *options,
            *(f"--filename={path}" for path in files),
        ],
        log=layout.log("manifests"),
    )
    stamps.write(kind, stamps.fingerprint(files=files), _APPLIED)
