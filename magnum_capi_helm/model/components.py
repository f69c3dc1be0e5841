# SPDX-License-Identifier: Apache-2.0

"""Components of a management cluster, compared with the tested versions.

A Deployment is known by its labels or by the name of its image: mirrors give
images other names, and people install things in ways of their own. Where
nothing is found, nothing is said about it: controllers may run elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
import re
from typing import Any

from magnum_capi_helm.model import versions

OK = "ok"
#: It may work; the chart's authors have not tested it.
UNTESTED = "untested"
#: The state can't be determined.
UNKNOWN = "unknown"
FAILED = "failed"
#: The worst first.
_STATES = (FAILED, UNKNOWN, UNTESTED, OK)

#: What to do about an old one.
_OLD = (
    ": upgrade it, or choose a chart that was tested with it "
    "('magnum-capi-helm chart list --all')"
)

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+\S*)")
#: What charts write on all that they make, as name and version.
_CHART = "helm.sh/chart"
_VERSION_LABEL = "app.kubernetes.io/version"

#: All Deployments but those of clusters, one of which each cluster has.
SELECTOR = "!capi.stackhpc.com/cluster"


@dataclasses.dataclass(frozen=True)
class Component:
    """Something that has to be on a management cluster.

    :param field: of :class:`versions.Release`, with its version
    :param labels: that its Deployment has
    :param image: name of its image, without registry and tag
    :param chart: where its version is that of the chart that installs it, as
        its image is tagged with a commit: the chart's name
    :param optional: nothing is missing without it
    :param newer_is_fine: it keeps what worked with older ones
    """

    name: str
    field: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    image: str = ""
    chart: str = ""
    optional: bool = False
    newer_is_fine: bool = False


def _provider(name: str, field: str, label: str, image: str) -> Component:
    """Return a component that clusterctl installs."""
    return Component(name, field, {"cluster.x-k8s.io/provider": label}, image)


def _charted(name: str, field: str, chart: str, **more: bool) -> Component:
    """Return a component whose chart has the name of its image."""
    labels = {"app.kubernetes.io/name": chart}
    return Component(name, field, labels, chart, chart, **more)


COMPONENTS = (
    _provider(
        "Cluster API", "cluster_api", "cluster-api", "cluster-api-controller"
    ),
    _provider(
        "kubeadm bootstrap",
        "cluster_api",
        "bootstrap-kubeadm",
        "kubeadm-bootstrap-controller",
    ),
    _provider(
        "kubeadm control plane",
        "cluster_api",
        "control-plane-kubeadm",
        "kubeadm-control-plane-controller",
    ),
    _provider(
        "CAPO",
        "provider",
        "infrastructure-openstack",
        "capi-openstack-controller",
    ),
    Component(
        "ORC",
        "resources",
        {"app.kubernetes.io/name": "orc"},
        "openstack-resource-controller",
    ),
    _charted("addon provider", "addons", "cluster-api-addon-provider"),
    _charted(
        "janitor", "janitor", "cluster-api-janitor-openstack", optional=True
    ),
    Component(
        "cert-manager",
        "cert_manager",
        {
            "app.kubernetes.io/name": "cert-manager",
            "app.kubernetes.io/component": "controller",
        },
        "cert-manager-controller",
    ),
)
#: Runs on conductors.
HELM = Component("helm", "helm", newer_is_fine=True)


@dataclasses.dataclass(frozen=True)
class Line:
    """The state of one component, and a description of it."""

    name: str
    state: str
    detail: str


@dataclasses.dataclass(frozen=True)
class Running:
    """One Deployment of a component.

    :param version: without v; empty where nothing says which it is
    :param image: in full
    :param idle: why none of its pods works; empty: at least one does
    """

    version: str
    image: str
    idle: str = ""


def compare(
    deployments: Iterable[Mapping[str, Any]],
    release: versions.Release,
    chart: str,
) -> Iterator[Line]:
    """Yield a line for each component that the chart was tested with.

    :param deployments: as the Kubernetes API has them
    :param chart: the version that is configured, for the text
    """
    deployed = list(deployments)
    for component in COMPONENTS:
        wanted = getattr(release, component.field)
        running = [
            _running(component, each)
            for each in deployed
            if _container(component, each) is not None
        ]
        if wanted:
            yield line(component, running, wanted, chart)


def line(
    component: Component,
    running: Iterable[Running],
    wanted: str,
    chart: str,
) -> Line:
    """Compare the Deployments of a component with the tested version.

    :param wanted: version that ``chart`` was tested with
    """
    deployed = list(running)
    what = f"chart {chart} was tested with {wanted}"
    if not deployed:
        missing = UNKNOWN, "found none"
        if component.optional:
            missing = OK, "found none, which is fine"
        return Line(component.name, missing[0], f"{missing[1]}; {what}")
    each = [_verdict(component, one, wanted) for one in deployed]
    states, words = zip(*each, strict=True)
    state = min(states, key=_STATES.index)
    advice = _OLD if state == UNTESTED and _any_older(deployed, wanted) else ""
    detail = f"found {', '.join(words)}; {what}{advice}"
    return Line(component.name, state, detail)


def _any_older(running: Iterable[Running], wanted: str) -> bool:
    return any(
        _number(each.version) < _number(wanted)
        for each in running
        if each.version
    )


def _verdict(
    component: Component, running: Running, wanted: str
) -> tuple[str, str]:
    """Return the state of one Deployment, and a description of it."""
    called = running.version or f"image {running.image}"
    if running.idle:
        return FAILED, f"{called}, {running.idle}"
    if not running.version:
        return UNKNOWN, f"{called}, which tells no version"
    have, want = _number(running.version), _number(wanted)
    if running.version == wanted:
        return OK, called
    if have > want and (component.newer_is_fine or have[:2] == want[:2]):
        return OK, f"{called}, which is newer"
    how = "newer" if have > want else "older"
    if have == want:
        how = "another build"
    return UNTESTED, f"{called}, which is {how}"


def helm(version: str, wanted: str, chart: str) -> Line:
    """Compare helm with the tested version.

    :param version: output of ``helm version``
    """
    bare = _bare(version)
    return line(HELM, [Running(bare, version)], wanted, chart)


def _container(
    component: Component, deployment: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return the component's container, or None for another Deployment."""
    pods = deployment["spec"]["template"]["spec"]
    containers: list[Mapping[str, Any]] = pods["containers"]
    for each in containers:
        if _name(each.get("image", "")) == component.image:
            return each
    labels = deployment["metadata"].get("labels") or {}
    if component.labels.items() <= labels.items():
        return next(
            (each for each in containers if each["name"] == "manager"),
            containers[0],
        )
    return None


def _running(component: Component, deployment: Mapping[str, Any]) -> Running:
    container = _container(component, deployment) or {}
    labels = deployment["metadata"].get("labels") or {}
    image = str(container.get("image", ""))
    said = (
        labels.get(_CHART, "").removeprefix(f"{component.chart}-"),
        _tag(image),
        labels.get(_VERSION_LABEL, ""),
    )
    version = next(filter(None, map(_bare, said)), "")
    return Running(version, image, _idle(deployment))


def _idle(deployment: Mapping[str, Any]) -> str:
    """Return why no pod of a Deployment works, or ""."""
    wanted = deployment["spec"].get("replicas", 1)
    if not wanted:
        return "which is scaled to 0"
    ready = (deployment.get("status") or {}).get("readyReplicas", 0)
    return "" if ready else f"of which 0 of {wanted} pods are ready"


def _name(image: str) -> str:
    """``r.example:5000/a/b:v1@sha256:...`` is called b."""
    last = image.partition("@")[0].rpartition("/")[2]
    return last.partition(":")[0]


def _tag(image: str) -> str:
    last = image.partition("@")[0].rpartition("/")[2]
    return last.partition(":")[2]


def _bare(text: str) -> str:
    """Return a version without v; empty for what is none."""
    match = _VERSION.fullmatch(text)
    return match[1] if match else ""


def _number(version: str) -> versions.Number:
    return versions.number(version) or (0, 0, 0)
