# SPDX-License-Identifier: Apache-2.0

"""Components of a management cluster, compared with the tested versions.

The driver finds a Deployment by its labels or by the name of its image,
because mirrors rename images, and not every installation sets the labels. A
missing Deployment is no failure: the controller may run elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import dataclasses
import re
from typing import Any, NamedTuple

from magnum_capi_helm.model import versions

OK = "ok"
#: It may work; the chart's authors have not tested it.
UNTESTED = "untested"
#: The state can't be determined.
UNKNOWN = "unknown"
FAILED = "failed"
#: The worst first.
_STATES = (FAILED, UNKNOWN, UNTESTED, OK)

#: Advice for an older version.
_OLD = (
    ": upgrade it, or choose a chart that was tested with it "
    "('magnum-capi-helm chart list --all')"
)

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+\S*)")
#: Label with name and version that charts give their objects.
_CHART = "helm.sh/chart"
_NAME = "app.kubernetes.io/name"
_VERSION_LABEL = "app.kubernetes.io/version"

_NO_CACHE = "--scope-cache-max-size=0"

#: All Deployments but those of clusters, one of which each cluster has.
SELECTOR = "!capi.stackhpc.com/cluster"


@dataclasses.dataclass(frozen=True)
class Component:
    """Software that has to be on a management cluster, as a Deployment.

    :param field: of :class:`versions.Release`, with its version
    :param image: name of its image, without registry and tag
    :param labels: that its Deployment has
    :param chart: name of the chart that installs it, if the image's tag is a
        commit and the chart has the version
    :param optional: it may be absent
    """

    name: str
    field: str
    image: str
    labels: Mapping[str, str]
    chart: str = ""
    optional: bool = False


def _provider(name: str, field: str, image: str, label: str) -> Component:
    """Return a component that clusterctl installs."""
    return Component(name, field, image, {"cluster.x-k8s.io/provider": label})


def _charted(
    name: str, field: str, chart: str, optional: bool = False
) -> Component:
    """Return a component whose chart has the name of its image."""
    return Component(name, field, chart, {_NAME: chart}, chart, optional)


COMPONENTS = (
    _provider(
        "Cluster API", "cluster_api", "cluster-api-controller", "cluster-api"
    ),
    _provider(
        "kubeadm bootstrap",
        "cluster_api",
        "kubeadm-bootstrap-controller",
        "bootstrap-kubeadm",
    ),
    _provider(
        "kubeadm control plane",
        "cluster_api",
        "kubeadm-control-plane-controller",
        "control-plane-kubeadm",
    ),
    _provider(
        "CAPO",
        "provider",
        "capi-openstack-controller",
        "infrastructure-openstack",
    ),
    Component(
        "ORC", "resources", "openstack-resource-controller", {_NAME: "orc"}
    ),
    _charted("addon provider", "addons", "cluster-api-addon-provider"),
    _charted(
        "janitor", "janitor", "cluster-api-janitor-openstack", optional=True
    ),
    Component(
        "cert-manager",
        "cert_manager",
        "cert-manager-controller",
        {_NAME: "cert-manager", "app.kubernetes.io/component": "controller"},
    ),
)


@dataclasses.dataclass(frozen=True)
class Result:
    """The subject of a check, its state, and the value or advice.

    :param state: only :data:`FAILED` is a reason for a create not to work
    """

    name: str
    state: str
    detail: str


def compare(
    deployments: Iterable[Mapping[str, Any]],
    release: versions.Release,
    chart: str,
) -> Iterator[Result]:
    """Yield a result for each component that the chart was tested with.

    :param deployments: as the Kubernetes API has them
    :param chart: the version that is configured, for the text
    """
    deployed = list(deployments)
    for component in COMPONENTS:
        tested = getattr(release, component.field)
        if tested:
            running = [
                _deployment_verdict(component, each, container, tested)
                for each in deployed
                if (container := _container(component, each)) is not None
            ]
            missing = _Verdict(UNKNOWN, "none")
            if component.optional:
                missing = _Verdict(OK, "none, which is fine")
            yield _result(component.name, running or [missing], tested, chart)


def token_caches(deployments: Iterable[Mapping[str, Any]]) -> Iterator[Result]:
    """Yield a failure for each CAPO that can't use credentials with rules.

    With a cache, CAPO asks Keystone how long its token is valid
    (``ExtractToken`` in ``pkg/scope/provider.go`` of 0.14.6). Keystone refuses
    that to clients that do not know access rules
    (``_validate_token_access_rules`` in ``keystone/token/provider.py``).
    """
    [capo] = [each for each in COMPONENTS if each.name == "CAPO"]
    for each in deployments:
        container = _container(capo, each)
        if container is not None and _NO_CACHE not in container.get(
            "args", ()
        ):
            yield Result(
                "CAPO arguments",
                FAILED,
                "no cluster can be made with [capi_helm] "
                f"app_cred_access_rules: add {_NO_CACHE} to the arguments of "
                f"Deployment {each['metadata']['name']}",
            )


def helm(version: str, tested: str, chart: str) -> Result:
    """Compare a conductor's helm with the tested version.

    :param version: output of ``helm version``
    """
    verdict = _verdict(_bare(version), version, tested, newer_is_fine=True)
    return _result("helm", [verdict], tested, chart)


class _Verdict(NamedTuple):
    """The state of one Deployment, a description, and whether it is old."""

    state: str
    text: str
    old: bool = False


def _result(
    name: str, verdicts: Sequence[_Verdict], tested: str, chart: str
) -> Result:
    state = min((each.state for each in verdicts), key=_STATES.index)
    old = state == UNTESTED and any(each.old for each in verdicts)
    detail = (
        f"found {', '.join(each.text for each in verdicts)}; chart {chart} "
        f"was tested with {tested}{_OLD if old else ''}"
    )
    return Result(f"{name} version", state, detail)


def _deployment_verdict(
    component: Component,
    deployment: Mapping[str, Any],
    container: Mapping[str, Any],
    tested: str,
) -> _Verdict:
    labels = deployment["metadata"].get("labels") or {}
    image = str(container.get("image", ""))
    sources = (
        labels.get(_CHART, "").removeprefix(f"{component.chart}-"),
        _name_and_tag(image)[1],
        labels.get(_VERSION_LABEL, ""),
    )
    version = next(filter(None, map(_bare, sources)), "")
    if idle := _idle(deployment):
        return _Verdict(FAILED, f"{version or f'image {image}'}, {idle}")
    return _verdict(version, f"image {image}", tested)


def _verdict(
    version: str, source: str, tested: str, newer_is_fine: bool = False
) -> _Verdict:
    """Compare a version with the tested one.

    :param version: without v; empty: the source has none
    :param newer_is_fine: newer versions remain compatible
    """
    if not version:
        return _Verdict(UNKNOWN, f"{source}, which tells no version")
    if version == tested:
        return _Verdict(OK, version)
    have, want = _number(version), _number(tested)
    if have > want:
        fine = newer_is_fine or have[:2] == want[:2]
        return _Verdict(OK if fine else UNTESTED, f"{version}, which is newer")
    other = "another build" if have == want else "older"
    return _Verdict(UNTESTED, f"{version}, which is {other}", have < want)


def _container(
    component: Component, deployment: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return the component's container, or None for another Deployment."""
    pods = deployment["spec"]["template"]["spec"]
    containers: list[Mapping[str, Any]] = pods["containers"]
    for each in containers:
        if _name_and_tag(each.get("image", ""))[0] == component.image:
            return each
    labels = deployment["metadata"].get("labels") or {}
    if component.labels.items() <= labels.items():
        return next(
            (each for each in containers if each["name"] == "manager"),
            containers[0],
        )
    return None


def _idle(deployment: Mapping[str, Any]) -> str:
    """Return why no pod of a Deployment works, or ""."""
    wanted = deployment["spec"].get("replicas", 1)
    if not wanted:
        return "which is scaled to 0"
    ready = (deployment.get("status") or {}).get("readyReplicas", 0)
    return "" if ready else f"of which 0 of {wanted} pods are ready"


def _name_and_tag(image: str) -> tuple[str, str]:
    """Return b and v1 of ``r.example:5000/a/b:v1@sha256:...``."""
    last = image.partition("@")[0].rpartition("/")[2]
    name, _, tag = last.partition(":")
    return name, tag


def _bare(text: str) -> str:
    """Return a version without v; empty for what is none."""
    match = _VERSION.fullmatch(text)
    return match[1] if match else ""


def _number(version: str) -> versions.Number:
    return versions.number(version) or (0, 0, 0)
