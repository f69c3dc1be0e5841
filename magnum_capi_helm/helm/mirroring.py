# SPDX-License-Identifier: Apache-2.0

"""List and fetch the addons of a chart version, and list the images.

The charts of the addons are those of the HelmReleases that the chart renders;
so what switches an addon on is left to the chart itself. Images are those
that rendered objects name, and those that Calico's operator starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
import functools
import pathlib
import re
import shutil
import tempfile
from typing import Any

import yaml

from magnum_capi_helm.features import networking
from magnum_capi_helm.features import storage
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

#: File of the names of all images, below the repository.
IMAGES = "images.txt"

_STAGING = ".fetch-"

#: The least that the chart renders with.
_NAME = "sample"
_MACHINE = {paths.FLAVOR: _NAME, paths.COUNT: 1}
_SAMPLE: dict[str, Any] = {
    paths.CREDENTIALS: _NAME,
    paths.IMAGE_ID: _NAME,
    paths.CONTROL_PLANE: _MACHINE,
    paths.GROUPS: [{"name": _NAME, **_MACHINE}],
}
_KUBERNETES = "1.33"
#: Cluster API, in all of its API groups.
_MACHINES = "cluster.x-k8s.io/"

#: Jinja2 that the addon provider renders for a cluster. Blocks go, loops run
#: once, and an expression becomes some word.
_BLOCK = re.compile(r"\{[%#].*?[%#]\}", re.DOTALL)
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Addon:
    """A chart that the addon provider downloads.

    :param values: its values, without those that depend on a cluster
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
    """The addons and images of a chart.

    :param images: of what runs on the management cluster
    """

    addons: tuple[Addon, ...]
    images: frozenset[str]


def contents(
    helm: client.Helm,
    chart: str,
    values: paths.Values,
    *,
    everything: bool,
) -> Contents:
    """Return what a chart needs with some values and any CNI.

    :param chart: path of the packaged chart
    :param everything: with the addons that the values leave switched off
    :raises HelmError: the chart does not accept the values
    """
    package = charts.read(chart)
    objects = [
        each
        for network in networking.CNIS
        for each in helm.render(
            _NAME,
            _NAME,
            chart,
            _sample(package, values, network),
            hooks=True,
        )
    ]
    addons = [*_released(objects)]
    if everything:
        own = package.values.get(paths.ADDONS) or {}
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
    """Return the chart of an addon; download it if the directory lacks it.

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
    """Return the images of an addon.

    :raises HelmError: its chart can't be rendered
    """
    render = functools.partial(
        helm.render, addon.release, addon.namespace, str(chart), hooks=True
    )
    try:
        objects = render(addon.values)
    except errors.HelmError:
        # The chart may refuse the samples of values that clusters fill in.
        objects = render({})
    return frozenset((*find(objects), *_of_calico(objects, addon.version)))


#: Kinds of the tigera-operator -> the images that it starts for them
#: (``charts/tigera-operator`` of projectcalico/calico, and
#: ``pkg/components/calico.go`` of tigera/operator).
_CALICO = {
    "Installation": (
        "cni",
        "csi",
        "kube-controllers",
        "node",
        "node-driver-registrar",
        "pod2daemon-flexvol",
        "typha",
    ),
    "APIServer": ("apiserver",),
    "Goldmane": ("goldmane",),
    "Whisker": ("whisker", "whisker-backend"),
}
_CALICO_API = "operator.tigera.io/"
#: Versions of Calico -> the registry of its images.
_CALICO_REGISTRIES = {
    versions.Range(until="3.30.99"): "docker.io",
    versions.Range(since="3.31.0"): "quay.io",
}


def _of_calico(
    objects: Iterable[Mapping[str, Any]], version: str
) -> Iterator[str]:
    """Yield the images that the tigera-operator starts.

    :param version: of its chart, which is that of Calico
    """
    specs = {
        each["kind"]: each.get("spec") or {}
        for each in objects
        if str(each.get("apiVersion")).startswith(_CALICO_API)
    }
    installation = specs.get("Installation", {})
    for versions_of, registry in _CALICO_REGISTRIES.items():
        if version not in versions_of:
            continue
        registry = str(installation.get("registry") or registry).rstrip("/")
        path = installation.get("imagePath") or "calico"
        for kind in specs:
            for name in _CALICO.get(kind, ()):
                yield f"{registry}/{path}/{name}:v{version.removeprefix('v')}"


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
    package: charts.Package, values: paths.Values, network: str
) -> dict[str, Any]:
    """Return values of an invented cluster, with those of the operator."""
    tested = versions.find_tested(package.version)
    kubernetes = tested.kubernetes[1] if tested else _KUBERNETES
    base = {**_SAMPLE, paths.KUBERNETES: f"{kubernetes}.0"}
    own = charts.merged(base, paths.named(values), keep_nulls=True)
    paths.put(own, paths.CNI, network)
    return paths.spelled(own, package.version)


def _released(objects: Iterable[Mapping[str, Any]]) -> Iterator[Addon]:
    """Yield the addons of HelmReleases, with values of their Secrets."""
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
            values = charts.merged(values, _without_templates(text or ""))
        yield Addon(
            name=str(spec["chart"]["name"]),
            version=str(spec["chart"]["version"]),
            repository=str(spec["chart"]["repo"]),
            release=str(spec.get("releaseName") or _NAME),
            namespace=str(spec.get("targetNamespace") or _NAME),
            values=values,
        )


def _without_templates(text: str) -> dict[str, Any]:
    """Return the YAML of a text that the addon provider renders."""
    plain = _EXPRESSION.sub("sample", _BLOCK.sub("", text))
    try:
        values = yaml.safe_load(plain)
    except yaml.YAMLError:
        return {}
    return values if isinstance(values, dict) else {}


def _known(addons: Mapping[str, Any], version: str) -> Iterator[Addon]:
    """Yield all addons of a chart's default values, switched on or not.

    :param version: of an addon that has the cluster chart's own
    """
    for each in _mappings(addons):
        chart = each.get("chart")
        if not isinstance(chart, Mapping) or not (
            chart.get("repo") and chart.get("name")
        ):
            continue
        release = each.get("release") or {}
        yield Addon(
            name=str(chart["name"]),
            version=str(chart.get("version") or version),
            repository=str(chart["repo"]),
            namespace=str(release.get("namespace") or _NAME),
            values=release.get("values") or each.get("values") or {},
        )


def _mappings(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a mapping and all mappings in it."""
    if isinstance(node, Mapping):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from _mappings(each)


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
    """Yield full names of all images: registry, path, and tag or digest.

    Fields named ``image``; the parts ``repository``, ``image`` and
    ``version`` by which custom resources name one; and arguments and
    environment variables of containers that look like an image.
    """
    for each in _mappings(list(objects)):
        yield from _in_fields(each)
        for key in ("args", "command"):
            yield from _in_arguments(each.get(key))
        env = each.get("env")
        if isinstance(env, list):
            yield from _in_arguments(v.get("value") for v in _mappings(env))


def full(name: str) -> str:
    """Return the name of an image as containerd completes it."""
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif not ("." in first or ":" in first or first == "localhost"):
        name = f"docker.io/{name}"
    last = name.rpartition("/")[2]
    return name if ":" in last or "@" in last else f"{name}:latest"


#: NVIDIA's operator adds the node's system to the tag of this image
#: (``resolveDriverTag`` in ``controllers/object_controls.go``).
_DRIVER = "driver"
_DRIVER_SYSTEMS = ("ubuntu22.04", "ubuntu24.04")


def _in_fields(node: Mapping[str, Any]) -> Iterator[str]:
    image = node.get("image")
    if not isinstance(image, str) or not image:
        return
    repository, version = node.get("repository"), node.get("version")
    if repository and version:
        digest = str(version).startswith("sha256:")
        if image == _DRIVER and not digest:
            for system in _DRIVER_SYSTEMS:
                yield full(f"{repository}/{image}:{version}-{system}")
            return
        image = f"{repository}/{image}{'@' if digest else ':'}{version}"
    if _IMAGE_NAME.fullmatch(image):
        yield full(image)


def _in_arguments(values: Any) -> Iterator[str]:
    for each in values or ():
        image = _ARGUMENT.fullmatch(each) if isinstance(each, str) else None
        if image and _NO_REGISTRY not in image[1].partition("/")[0]:
            yield image[1]
