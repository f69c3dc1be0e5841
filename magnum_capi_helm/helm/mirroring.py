# SPDX-License-Identifier: Apache-2.0

"""What a chart version makes the addon provider download, and its images.

The charts of the addons are those of the HelmReleases that the chart renders;
so what switches an addon on is left to the chart itself. Images are those
that rendered objects name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
import pathlib
import re
import shutil
import tempfile
from typing import Any

import yaml

from magnum_capi_helm.features import storage
from magnum_capi_helm.helm import client
from magnum_capi_helm.helm import packages
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

#: File of the names of all images, below the repository.
IMAGES = "images.txt"

_STAGING = ".fetch-"

#: The least that the chart renders with.
_SAMPLE: dict[str, Any] = {
    "cloudCredentialsSecretName": "sample",
    "machineImageId": "sample",
    "controlPlane": {"machineFlavor": "sample", "machineCount": 1},
    "nodeGroups": [
        {"name": "sample", "machineFlavor": "sample", "machineCount": 1}
    ],
}
_KUBERNETES = "1.33"
_NAME = "sample"
_NETWORKS = ("calico", "cilium")
#: Cluster API, in all of its API groups.
_MACHINES = "cluster.x-k8s.io/"

#: What the addon provider fills in from the cluster. Blocks go, loops run
#: once, and an expression becomes some word.
_BLOCK = re.compile(r"\{[%#].*?[%#]\}", re.DOTALL)
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Addon:
    """A chart that the addon provider downloads.

    :param values: what it gets, as far as that is known without a cluster
    """

    name: str
    version: str
    repository: str
    release: str = dataclasses.field(default=_NAME, compare=False)
    namespace: str = dataclasses.field(default=_NAME, compare=False)
    values: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, compare=False
    )


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a version of the chart needs.

    :param images: of what runs on the management cluster
    """

    addons: tuple[Addon, ...]
    images: frozenset[str]


def contents(
    helm: client.Helm,
    chart: str,
    values: Mapping[str, Any],
    *,
    everything: bool,
) -> Contents:
    """What a chart needs with some values, whichever CNI they choose.

    :param chart: path of the packaged chart
    :param everything: with the addons that the values leave switched off
    :raises HelmError: the chart does not accept the values
    """
    package = packages.read(chart)
    objects = [
        each
        for network in _NETWORKS
        for each in _rendered(helm, chart, _sample(package, values, network))
    ]
    addons = [*_released(objects)]
    if everything:
        own = package.values.get("addons") or {}
        # The driver has one more than the chart.
        addons += _known({**own, "nfs": storage.NFS_MOUNTER}, package.version)
    # The images of machines are no images of containers.
    pods = (e for e in objects if _MACHINES not in str(e.get("apiVersion")))
    return Contents(
        # Of two that are equal, the rendered one has the chart's values.
        addons=tuple(sorted(dict.fromkeys(addons), key=lambda a: a.name)),
        images=frozenset(find(pods)),
    )


def fetch(
    helm: client.Helm, addon: Addon, directory: pathlib.Path
) -> pathlib.Path:
    """The chart of an addon in a directory, downloaded when it is missing.

    :raises ChartUnavailable: it is not in its repository
    """
    bare = addon.version.removeprefix("v")
    for version in (bare, f"v{bare}"):
        file = directory / f"{addon.name}-{version}.tgz"
        if file.exists():
            return file
    name, repository = addon.name, addon.repository
    if repository.startswith("oci://"):
        name, repository = f"{repository.rstrip('/')}/{name}", ""
    with tempfile.TemporaryDirectory(dir=directory, prefix=_STAGING) as made:
        helm.pull(name, addon.version, repository, made)
        pulled = next(pathlib.Path(made).glob("*.tgz"), None)
        if pulled is None:
            raise errors.ChartUnavailable(f"helm fetched no {addon.name}")
        return pathlib.Path(shutil.move(pulled, directory / pulled.name))


def images_of(
    helm: client.Helm, addon: Addon, chart: pathlib.Path
) -> frozenset[str]:
    """The images that an addon's objects name.

    :raises HelmError: its chart can't be rendered
    """
    try:
        objects = _rendered(helm, str(chart), addon.values, addon)
    except errors.HelmError:
        # A word in the place of what only a cluster knows may not do.
        objects = _rendered(helm, str(chart), {}, addon)
    return frozenset(find(objects))


def finish(
    helm: client.Helm, images: Iterable[str], directory: pathlib.Path
) -> None:
    """Make the directory a helm repository with a list of images.

    :raises HelmError: helm can't read one of the charts
    """
    for left in directory.glob(f"{_STAGING}*"):
        # helm would index what a killed run left there.
        shutil.rmtree(left, ignore_errors=True)
    lines = "".join(f"{each}\n" for each in sorted(set(images)))
    (directory / IMAGES).write_text(lines)
    helm.index(str(directory))


def _sample(
    package: packages.Package, values: Mapping[str, Any], network: str
) -> dict[str, Any]:
    """Values of a cluster that is none, with those of the operator."""
    tested = versions.find_tested(package.version)
    kubernetes = tested.kubernetes[1] if tested else _KUBERNETES
    base = {**_SAMPLE, "kubernetesVersion": f"{kubernetes}.0"}
    own = packages.merged(base, values, keep_nulls=True)
    return packages.merged(own, {"addons": {"cni": {"type": network}}})


def _rendered(
    helm: client.Helm,
    chart: str,
    values: Mapping[str, Any],
    addon: Addon | None = None,
) -> list[dict[str, Any]]:
    text = helm.render(
        addon.release if addon else _NAME,
        addon.namespace if addon else _NAME,
        chart,
        values,
        hooks=True,
    )
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = list(yaml.load_all(text, Loader=loader))
    except yaml.YAMLError as why:
        raise errors.HelmError(
            f"helm template: {chart} makes no YAML ({type(why).__name__})"
        ) from why
    return [each for each in found if isinstance(each, dict)]


def _released(objects: Iterable[Mapping[str, Any]]) -> Iterator[Addon]:
    """The addons of HelmReleases, with the values in their Secrets."""
    objects = list(objects)
    secrets = {
        each["metadata"]["name"]: each.get("stringData") or {}
        for each in objects
        if each.get("kind") == "Secret"
    }
    for each in objects:
        if each.get("kind") != "HelmRelease":
            continue
        spec = each["spec"]
        values: dict[str, Any] = {}
        for source in spec.get("valuesSources") or []:
            where = source.get("secret") or {}
            text = secrets.get(where.get("name"), {}).get(where.get("key"))
            values = packages.merged(values, _without_templates(text or ""))
        yield Addon(
            name=str(spec["chart"]["name"]),
            version=str(spec["chart"]["version"]),
            repository=str(spec["chart"]["repo"]),
            release=str(spec.get("releaseName") or _NAME),
            namespace=str(spec.get("targetNamespace") or _NAME),
            values=values,
        )


def _without_templates(text: str) -> dict[str, Any]:
    """The YAML in a text that the addon provider renders with Jinja2."""
    plain = _EXPRESSION.sub("sample", _BLOCK.sub("", text))
    try:
        found = yaml.safe_load(plain)
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def _known(node: Mapping[str, Any], version: str) -> Iterator[Addon]:
    """All addons that a chart's default values have, switched on or not.

    :param version: of an addon that has the cluster chart's own
    """
    chart = node.get("chart")
    if isinstance(chart, Mapping) and chart.get("repo") and chart.get("name"):
        release = node.get("release") or {}
        yield Addon(
            name=str(chart["name"]),
            version=str(chart.get("version") or version),
            repository=str(chart["repo"]),
            namespace=str(release.get("namespace") or _NAME),
            values=release.get("values") or node.get("values") or {},
        )
    for value in node.values():
        if isinstance(value, Mapping):
            yield from _known(value, version)


_PATH = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_TAG = r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@sha256:[0-9a-f]{64})?"
_IMAGE_NAME = re.compile(
    rf"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?{_PATH}(?:/{_PATH})*{_TAG}"
)
#: An argument or an environment variable says nothing about what it is: a
#: host, a path and a tag are asked for.
_ARGUMENT = re.compile(
    rf"(?:--?[\w.-]+=)?((?:[a-z0-9-]+\.)+[a-z]+(?::[0-9]+)?(?:/{_PATH})+"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]*|@sha256:[0-9a-f]{64})+)"
)
#: Taints look alike (node-role.kubernetes.io/control-plane:NoSchedule).
_NO_REGISTRY = ".kubernetes.io"


def find(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Full names of all images: registry, path, and tag or digest.

    Fields named ``image``; the parts ``repository``, ``image`` and
    ``version`` by which custom resources name one; and what looks like an
    image among the arguments and the environment of containers.
    """
    for each in objects:
        yield from _in_node(each)


def full(name: str) -> str:
    """The name of an image as containerd completes it."""
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif not ("." in first or ":" in first or first == "localhost"):
        name = f"docker.io/{name}"
    last = name.rpartition("/")[2]
    return name if ":" in last or "@" in last else f"{name}:latest"


def _in_node(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _in_node(each)
    elif isinstance(node, Mapping):
        yield from _in_fields(node)
        for key, value in node.items():
            if key in ("args", "command"):
                yield from _in_arguments(value)
            elif key == "env" and isinstance(value, list):
                yield from _in_arguments(
                    each.get("value")
                    for each in value
                    if isinstance(each, Mapping)
                )
            yield from _in_node(value)


def _in_fields(node: Mapping[str, Any]) -> Iterator[str]:
    image = node.get("image")
    if not isinstance(image, str) or not image:
        return
    repository, version = node.get("repository"), node.get("version")
    if repository and version:
        digest = str(version).startswith("sha256:")
        image = f"{repository}/{image}{'@' if digest else ':'}{version}"
    if _IMAGE_NAME.fullmatch(image):
        yield full(image)


def _in_arguments(values: Any) -> Iterator[str]:
    for each in values or ():
        found = _ARGUMENT.fullmatch(each) if isinstance(each, str) else None
        if found and _NO_REGISTRY not in found[1].partition("/")[0]:
            yield found[1]
