# SPDX-License-Identifier: Apache-2.0

"""CRDs and webhook configurations for managers that listen on loopback.

The providers ship them for a cluster with cert-manager and Services; here
their webhooks are URLs with the lab's authority, and the CRDs get the labels
that tell Cluster API which contract each version keeps.
"""

import pathlib
from typing import Any

import yaml

from lab import cluster_api
from lab import layout
from lab import pki
from lab import planes
from lab import stamps
from lab import tools

V1 = {"cluster.x-k8s.io/v1beta1": "v1beta1"}
V2 = {**V1, "cluster.x-k8s.io/v1beta2": "v1beta2"}
# Provider: contract labels, port of its webhooks on the first plane.
PROVIDERS: dict[str, tuple[dict[str, str], int]] = {
    "core": ({}, 9443),
    "bootstrap": (V2, 9444),
    "kcp": (V2, 9445),
    "capo": (V1, 9446),
    "orc": ({}, 0),
}
ADDONS = layout.SOURCE / "plane" / "addon-crds.yaml"


def _source(plane: planes.Plane) -> str:
    files = [plane.authority]
    for name in PROVIDERS:
        files += shipped(name).rglob("*.yaml")
    words = [str(PROVIDERS), str(plane), _unserved("core")]
    return stamps.fingerprint(*words, files=files)


def shipped(name: str) -> pathlib.Path:
    """Return the folder of what a provider ships, of the one that runs."""
    other = cluster_api.other()
    if other and name in other.folders():
        return other.crds / name
    return layout.CRDS / name


def _unserved(name: str) -> str:
    """Return the version that a provider's definitions do not serve."""
    other = cluster_api.other()
    return other.unserved if other and name in other.folders() else ""


def written(plane: planes.Plane) -> bool:
    """Whether they were rendered from what is there now."""
    return stamps.fresh(plane.called("manifests"), _source(plane))


def write(plane: planes.Plane) -> None:
    """Render crd-*.yaml and webhook-*.yaml below the state folder."""
    plane.manifests.mkdir(parents=True, exist_ok=True)
    for name, (labels, port) in PROVIDERS.items():
        source = shipped(name)
        convert = _endpoint(plane, port, "/convert")
        crds = [
            _crd(_load(path)[0], labels, convert, _unserved(name))
            for path in sorted(source.glob("*.yaml"))
        ]
        _dump(_crd_file(plane, name), crds)
        hooks = source / "webhooks" / "manifests.yaml"
        if port and hooks.exists():
            documents = [_webhook(d, name, plane, port) for d in _load(hooks)]
            _dump(_webhook_file(plane, name), documents)
    stamps.write(plane.called("manifests"), _source(plane))


def _crd_file(plane: planes.Plane, name: str) -> pathlib.Path:
    return plane.manifests / f"crd-{name}.yaml"


def _webhook_file(plane: planes.Plane, name: str) -> pathlib.Path:
    return plane.manifests / f"webhook-{name}.yaml"


def _load(path: pathlib.Path) -> list[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open() as stream:
        # The loader is one of yaml's two safe ones.
        return [d for d in yaml.load_all(stream, loader) if d]


def _dump(path: pathlib.Path, documents: list[dict[str, Any]]) -> None:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    with path.open("w") as stream:
        yaml.dump_all(documents, stream, dumper)


def _endpoint(plane: planes.Plane, port: int, path: str) -> dict[str, str]:
    url = f"https://127.0.0.1:{plane.port(port)}{path}"
    return {"url": url, "caBundle": pki.encoded(plane.authority)}


def _crd(
    crd: dict[str, Any],
    labels: dict[str, str],
    convert: dict[str, str],
    unserved: str,
) -> dict[str, Any]:
    crd["metadata"].setdefault("labels", {}).update(
        {"clusterctl.cluster.x-k8s.io": "", **labels}
    )
    for version in crd["spec"]["versions"]:
        version["served"] &= version["name"] != unserved
    if len(crd["spec"]["versions"]) > 1:
        crd["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": convert,
            },
        }
    return crd


def _webhook(
    document: dict[str, Any], name: str, plane: planes.Plane, port: int
) -> dict[str, Any]:
    metadata = document["metadata"]
    metadata["name"] = f"{name}-{metadata['name']}"  # they share their names
    for hook in document["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        hook["clientConfig"] = _endpoint(plane, port, path)
    return document


def crds_applied(plane: planes.Plane) -> bool:
    """Whether the API server has the CRDs as they are now."""
    files = {"crds": _crd_files(plane), "addon-crds": [ADDONS]}
    return all(applied(plane, kind, files[kind]) for kind in files)


def apply_crds(plane: planes.Plane) -> None:
    """Give the CRDs to the API server."""
    apply(plane, "crds", _crd_files(plane))
    apply(plane, "addon-crds", [ADDONS])


def webhooks_applied(plane: planes.Plane) -> bool:
    """Whether the API server calls the managers' webhooks."""
    return applied(plane, "webhooks", _webhook_files(plane))


def apply_webhooks(plane: planes.Plane) -> None:
    """Register the webhooks: only now do all managers answer."""
    apply(plane, "webhooks", _webhook_files(plane))


def _crd_files(plane: planes.Plane) -> list[pathlib.Path]:
    return [_crd_file(plane, name) for name in PROVIDERS]


def _webhook_files(plane: planes.Plane) -> list[pathlib.Path]:
    return [
        _webhook_file(plane, name)
        for name, (_, port) in PROVIDERS.items()
        if port
    ]


def _stamps(plane: planes.Plane) -> pathlib.Path:
    return plane.etcd / "stamps"  # go with the data they speak of


def applied(plane: planes.Plane, kind: str, files: list[pathlib.Path]) -> bool:
    """Whether the API server has these files as they are now."""
    if not all(path.exists() for path in files):
        return False
    return stamps.fresh(kind, stamps.fingerprint(files=files), _stamps(plane))


def apply(plane: planes.Plane, kind: str, files: list[pathlib.Path]) -> None:
    """Give files to the API server, and remember it."""
    # Client-side apply would exceed the size limit of its annotation.
    options = ["--server-side", "--force-conflicts", "--validate=false"]
    tools.run(
        [
            layout.BIN / "kubectl",
            f"--kubeconfig={plane.kubeconfig}",
            "apply",
            *options,
            *(f"--filename={path}" for path in files),
        ],
        log=layout.log(plane.called("manifests")),
    )
    stamps.write(kind, stamps.fingerprint(files=files), _stamps(plane))
