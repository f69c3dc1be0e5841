# SPDX-License-Identifier: Apache-2.0

"""The CRDs and webhooks that providers ship, kept for the API server.

Go's cache, where they come from, may be cleaned any time.
"""

from collections.abc import Mapping
import pathlib
import shutil
from typing import NamedTuple

from lab import cluster_api
from lab import golang
from lab import layout
from lab import stamps

PROVIDER = "sigs.k8s.io/cluster-api-provider-openstack"
_RESOURCES = "github.com/k-orc/openstack-resource-controller/v2"

# Module, folder inside it: where each provider keeps CRDs and webhooks.
CONFIGS = {
    "core": (cluster_api.MODULE, "config"),
    "bootstrap": (cluster_api.MODULE, "bootstrap/kubeadm/config"),
    "kcp": (cluster_api.MODULE, "controlplane/kubeadm/config"),
    "capo": (PROVIDER, "config"),
    "orc": (_RESOURCES, "config"),
}


class _Configs(NamedTuple):
    """Those of one Go module, and where they are kept."""

    stamp: str
    module: pathlib.Path
    target: pathlib.Path
    folders: Mapping[str, tuple[str, str]]


def ready(other: cluster_api.Release | None) -> bool:
    """Whether they are there, and those of another Cluster API."""
    return all(map(_kept, _all(other)))


def copy(go: str, other: cluster_api.Release | None) -> None:
    """Take those that are not there from the modules' sources."""
    for configs in _all(other):
        if not _kept(configs):
            _copy(configs, go)


def _all(other: cluster_api.Release | None) -> list[_Configs]:
    found = [_Configs("crds", cluster_api.MODULES, layout.CRDS, CONFIGS)]
    if other:
        folders = {
            name: (cluster_api.MODULE, f"{folder}/config")
            for name, folder in other.folders().items()
        }
        found.append(
            _Configs(other.called("crds"), other.module, other.crds, folders)
        )
    return found


def _kept(configs: _Configs) -> bool:
    return stamps.fresh(configs.stamp, _of_configs(configs))


def _of_configs(configs: _Configs) -> str:
    go_mod = configs.module / "go.mod"
    return stamps.fingerprint(str(configs.folders), files=[go_mod])


def _copy(configs: _Configs, go: str) -> None:
    for name, (module, folder) in configs.folders.items():
        config = golang.downloaded(go, module, configs.module) / folder
        target = configs.target / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in config.glob("crd/bases/*.yaml"):
            (target / path.name).write_bytes(path.read_bytes())
        webhooks = config / "webhook" / "manifests.yaml"
        if webhooks.exists():
            hooks = target / "webhooks"
            hooks.mkdir()
            (hooks / webhooks.name).write_bytes(webhooks.read_bytes())
    stamps.write(configs.stamp, _of_configs(configs))
