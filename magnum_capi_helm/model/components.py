# SPDX-License-Identifier: Apache-2.0

"""Components of a management cluster, with their versions.

A component is known by the labels of its Deployment or by the name of its
image, because mirrors rename images, and not every installation sets the
labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
import re
from typing import Any, NamedTuple

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

OK = "ok"
#: The state can't be determined.
UNKNOWN = "unknown"
FAILED = "failed"

#: All Deployments but those of clusters, one of which each cluster has.
SELECTOR = "!capi.stackhpc.com/cluster"

#: Label of Deployments that clusterctl installs.
_PROVIDER = "cluster.x-k8s.io/provider"
_NAME = "app.kubernetes.io/name"
#: Label with name and version that charts give their objects.
_CHART = "helm.sh/chart"
_VERSION_LABEL = "app.kubernetes.io/version"
_VERSION = re.compile(r"v?\d+\.\d+\.\d+\S*")

#: By the value of one of the first two labels, or the name of the image.
_COMPONENTS: dict[str, str] = encoding.package_data("model/components.yaml")


@dataclasses.dataclass(frozen=True)
class Result:
    """The subject of a check, its state, and the value or advice.

    :param state: only :data:`FAILED` is a reason for a create not to work
    """

    name: str
    state: str
    detail: str


class UndeterminedError(errors.CapiHelmError):
    """The state can't be determined now; this is no failure."""


class NoWayInError(errors.CapiHelmError):
    """The management cluster can't be asked, so other checks are skipped."""


class Component(NamedTuple):
    """A Deployment of a component.

    :param version: without v; the image's name and tag if they tell none
    :param ready: number of its ready pods
    """

    name: str
    version: str
    ready: int


def read(deployments: Iterable[Mapping[str, Any]]) -> Iterator[Component]:
    """Yield the components among the Deployments of the Kubernetes API."""
    for each in deployments:
        labels = each["metadata"].get("labels") or {}
        containers = each["spec"]["template"]["spec"]["containers"]
        names = [container["name"] for container in containers]
        main = names.index("manager") if "manager" in names else 0
        # b and v1 of r.example:5000/a/b:v1@sha256:...
        path = containers[main].get("image", "").partition("@")[0]
        image, _, tag = path.rpartition("/")[2].partition(":")
        for key in (labels.get(_PROVIDER), labels.get(_NAME), image):
            if key in _COMPONENTS:
                status = each.get("status") or {}
                yield Component(
                    _COMPONENTS[key],
                    _version(labels, tag) or f"image {path}",
                    status.get("readyReplicas", 0),
                )
                break


def _version(labels: Mapping[str, str], tag: str) -> str:
    """Return a version without v; empty: labels and tag have none.

    The tag of some images is a commit, and their chart has the version.
    """
    sources = (
        labels.get(_CHART, "").removeprefix(f"{labels.get(_NAME)}-"),
        tag,
        labels.get(_VERSION_LABEL, ""),
    )
    version = next(filter(_VERSION.fullmatch, sources), "")
    return version.removeprefix("v")
