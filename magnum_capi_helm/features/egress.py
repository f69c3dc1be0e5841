# SPDX-License-Identifier: Apache-2.0

"""Access of the machines to other networks: proxies, CAs and registries.

Machines need one to pull images, and on Ubuntu and Debian to install packages.
kubelet and kubeadm get none: they talk to the Kubernetes API alone, and its
address, often a floating IP, is not known when their proxy settings are
written. kubeadm would also hand the proxy on to the control plane's own pods.

containerd asks the hosts that a registry's ``hosts.toml`` names one after the
other and then its ``server`` (containerd, ``docs/hosts.md``). The chart
writes one such file for each key of ``registryMirrors``, by default with a
public mirror in front of every registry.
"""

from __future__ import annotations

from collections.abc import Iterator
import re
from typing import Any, TypeAlias

from magnum_capi_helm.features import networking
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

TOPIC = topic.Topic("Proxies")

#: containerd reads its proxy from the environment. systemd shows Environment=
#: to every user of a machine, and a URL may hold a password; the content of
#: an EnvironmentFile= is not shown.
_ENVIRONMENT = "/etc/containerd/proxy.env"
_DROP_IN = "/etc/systemd/system/containerd.service.d/http-proxy.conf"
_APT = "/etc/apt/apt.conf.d/90proxy"

#: Nothing that a shell, systemd, apt, or cloud-init's templates would read as
#: anything but itself.
_USER = r"[\w.~%!*+=-]+(?::[\w.~%!*+=-]*)?@"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\])"
_URL = re.compile(rf"https?://(?:{_USER})?{_HOST}(?::[0-9]{{1,5}})?/?", re.A)
_EXCEPTION = re.compile(r"[\w.*:/\[\]-]+", re.A)

#: Addresses of the machine itself, and Nova's metadata.
_ALWAYS = ("localhost", "127.0.0.1", "::1", "169.254.169.254")


def _check(cluster: cluster_spec.Cluster) -> None:
    proxy = cluster.proxy
    for name, url in (
        ("http_proxy", proxy.http),
        ("https_proxy", proxy.https),
    ):
        if url and not _URL.fullmatch(url):
            # Not quoted: it may hold a password.
            raise errors.InvalidInput(
                f"{name} of the template: give a URL, with special characters "
                "of a password as %XX. An example is "
                "http://proxy.example.org:3128"
            )
    for each in proxy.exceptions:
        if not _EXCEPTION.fullmatch(each):
            raise errors.InvalidInput(
                "no_proxy: give host names, domains, addresses and networks "
                f"separated by commas. {errors.shown(each)} is none"
            )


def _exceptions(cluster: cluster_spec.Cluster) -> Iterator[str]:
    """Yield destinations without proxy: the cluster's own and the user's."""
    yield from _ALWAYS
    yield from cluster.labels[networking.PODS]
    yield from cluster.labels[networking.SERVICES]
    yield from networking.node_ranges(cluster)
    yield ".svc"
    yield f".{cluster.labels[networking.DOMAIN]}"
    yield from cluster.proxy.exceptions


def _environment(cluster: cluster_spec.Cluster) -> str:
    lines = {
        "HTTP_PROXY": cluster.proxy.http,
        "HTTPS_PROXY": cluster.proxy.https,
        "NO_PROXY": ",".join(dict.fromkeys(_exceptions(cluster))),
    }
    return "".join(f"{key}={text}\n" for key, text in lines.items() if text)


def _apt(proxy: cluster_spec.Proxy) -> str:
    schemes = {"http": proxy.http, "https": proxy.https}
    return "".join(
        f'Acquire::{scheme}::Proxy "{url}";\n'
        for scheme, url in schemes.items()
        if url
    )


def _distro(cluster: cluster_spec.Cluster) -> str:
    return cluster.control_plane.image.os_distro


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    proxy = cluster.proxy
    if not (proxy.http or proxy.https):
        return {}
    drop_in = f"[Service]\nEnvironmentFile={_ENVIRONMENT}\n"
    files = [
        topic.machine_file(_ENVIRONMENT, _environment(cluster), "0600"),
        topic.machine_file(_DROP_IN, drop_in, "0644"),
    ]
    if _distro(cluster) == "flatcar":
        # Ignition writes files before systemd starts its first unit.
        return topic.on_all_machines(files)
    # The chart installs packages by apt alone.
    if _distro(cluster) != "rocky":
        files.append(topic.machine_file(_APT, _apt(proxy), "0600"))
    return topic.on_all_machines(
        files,
        "systemctl daemon-reload",
        "systemctl restart containerd",
    )


TOPIC.leaves = _leaves
TOPIC.check = _check


TRUST = topic.Topic("Trusted CAs")

#: Folder of trusted CAs, and the command that reads it, by distribution.
_CA_FOLDERS = {
    "flatcar": ("/etc/ssl/certs", "update-ca-certificates"),
    "rocky": ("/etc/pki/ca-trust/source/anchors", "update-ca-trust"),
}


def _trusted_cas(cluster: cluster_spec.Cluster) -> topic.Leaves:
    """Return the certificates, as files where the chart's value does not fit.

    Flatcar can't write to the folder that the value uses, and Rocky Linux
    reads another one and lacks its command.
    """
    cas = cluster.site.trusted_cas
    if not cas or _distro(cluster) not in _CA_FOLDERS:
        return {paths.TRUSTED_CAS: dict(cas)}
    folder, command = _CA_FOLDERS[_distro(cluster)]
    files = [
        topic.machine_file(f"{folder}/{name}.pem", pem, "0644")
        for name, pem in cas
    ]
    return topic.on_all_machines(files, command)


TRUST.leaves = _trusted_cas


REGISTRIES = topic.Topic("Registries")

#: Registries that have a mirror in every version of the chart.
_CHART_DEFAULTS = (
    "docker.io",
    "ghcr.io",
    "nvcr.io",
    "quay.io",
    "registry.k8s.io",
)
#: Registries that the operator's mirror replaces.
_MIRRORED = (*_CHART_DEFAULTS, "gcr.io")

_REGISTRY_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?"
_PATH = r"(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
_REGISTRY = re.compile(_REGISTRY_HOST)
_PREFIX = re.compile(_REGISTRY_HOST + _PATH + "/?")
#: An address that can stand in a quoted string of any kind.
_MIRROR_URL = re.compile(rf"https?://{_REGISTRY_HOST}(?:/[A-Za-z0-9._~/-]*)?")

#: Words of a boolean, which Terraform sends where a field takes text. Those of
#: the first kind mean that nothing is given.
_NO = frozenset({"false", "no", "none", "null", "off"})
_YES = frozenset({"true", "yes", "on"})

#: Characters of a registry: containerd has a directory of its name.
_LONGEST = 253

_NONE = "none"

#: Registry -> addresses of its mirrors in order; none: it has no mirror.
Mirrors: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def is_registry(text: str) -> bool:
    """Return whether the text is ``host`` or ``host:port``."""
    return len(text) <= _LONGEST and _names(text, _REGISTRY)


def is_prefix(text: str) -> bool:
    """Return whether the text is ``host[:port][/path][/]``."""
    return _names(text, _PREFIX)


def _names(text: str, form: re.Pattern[str]) -> bool:
    word = text.rstrip("/").lower()
    return word not in _NO | _YES and form.fullmatch(text) is not None


def given(text: str | None) -> str:
    """Return a text, or "" for a word that means that nothing is given."""
    return "" if (text or "").strip().lower() in _NO else text or ""


class _Mirrors(label_types.TextType):
    """``registry=URL`` pairs, or ``none``: no registry has a mirror."""

    kind = "registry=URL pairs"
    allowed = (
        "registry=URL pairs between commas or spaces; registry=none, or none "
        "alone, for no mirror"
    )

    def __call__(self, value: str | Mirrors) -> Mirrors:
        if not isinstance(value, str):
            return value
        if value.strip() == _NONE:
            return ()
        pairs = label_types.split(value)
        if not pairs:
            raise ValueError("no mirror")
        mirrors: dict[str, list[str]] = {}
        for pair in pairs:
            registry, _, url = pair.partition("=")
            if not is_registry(registry):
                raise ValueError(f"{registry!r} is not a registry")
            mirrors.setdefault(registry, []).append(url)
        return tuple((each, _urls(urls)) for each, urls in mirrors.items())

    def _formatter(self, value: Mirrors) -> str:
        return (
            ",".join(
                f"{registry}={url}"
                for registry, urls in value
                for url in urls or (_NONE,)
            )
            or _NONE
        )


def _urls(urls: list[str]) -> tuple[str, ...]:
    if urls == [_NONE]:
        return ()
    if not all(_MIRROR_URL.fullmatch(url) for url in urls):
        raise ValueError(f"{urls!r} are not URLs")
    return tuple(_api_url(url) for url in urls)


def _api_url(url: str) -> str:
    """Return the URL of the registry's API, as containerd completes it.

    The chart makes containerd take an address as it is (``override_path``).
    """
    url = url.rstrip("/")
    _, _, _, *path = url.split("/")
    return url if "v2" in path else f"{url}/v2"


class _Prefix(label_types.TextType):
    """A registry with a path, or nothing."""

    kind = "registry"
    allowed = "a registry, with or without a path"

    def __call__(self, value: str) -> str:
        value = given(value)
        if value and not is_prefix(value):
            raise ValueError(f"{value!r} is not a registry")
        return value.rstrip("/")


MIRRORS: labels.Label[Mirrors | None] = REGISTRIES.label(
    "registry_mirrors",
    _Mirrors(),
    details="an example is docker.io=https://mirror.example.org/v2/docker.io",
    help="Mirrors that machines try before the registry itself. Machines try "
    "several mirrors of one registry in the order of the label. The driver "
    "appends /v2 to an address without /v2 in its path. Any other registry "
    "keeps its mirror: the operator's registry_mirror, else the public mirror "
    "of the chart.",
    becomes=("registryMirrors",),
)
PREFIX = REGISTRIES.label(
    "container_infra_prefix",
    _Prefix(),
    "",
    details="an example is registry.example.org:5000/kubernetes",
    help="Registry from which kubeadm pulls the images of the control plane, "
    "kube-proxy and CoreDNS. For all other images, machines try PREFIX/"
    "docker.io, PREFIX/quay.io and so on before the registry itself, except "
    "for registries that registry_mirrors names.",
    becomes=(
        f"{paths.PLANE_KUBEADM}.clusterConfiguration.imageRepository",
        *MIRRORS.becomes,
    ),
)


def _check_registry(cluster: cluster_spec.Cluster) -> None:
    host = cluster.insecure_registry
    if host and not is_registry(host):
        raise errors.InvalidInput(
            "insecure_registry: give a registry as host or host:port. It is "
            f"{errors.shown(host)}"
        )


def _insecure(host: str) -> paths.Values:
    """Accept any certificate, and plain HTTP, as docker does."""
    return {
        "upstream": f"http://{host}",
        "mirrors": [{"url": f"https://{host}/v2", "skipVerify": True}],
    }


def _below(prefix: str, registry: str) -> str:
    """Return the URL of a registry's mirror below ``host[:port][/path]``."""
    host, _, path = prefix.partition("/")
    return "/".join(filter(None, (f"https://{host}/v2", path, registry)))


def _entry(
    registry: str, urls: tuple[str, ...], operators: str | None
) -> list[str] | paths.Values:
    """Return the mirrors of a registry, the operator's as the last one."""
    if operators is None or registry not in _MIRRORED:
        return list(urls)
    url = _below(operators, registry)
    # As the server it keeps containerd from asking the registry itself.
    return {"upstream": url, "mirrors": [*urls, url]}


def _mirrors(cluster: cluster_spec.Cluster) -> paths.Values | None:
    """Return the mirrors by registry.

    helm removes the chart's default of a registry whose value is None.

    :returns: {} keeps the chart's defaults; None removes all of them
    """
    chosen = cluster.labels[MIRRORS]
    operators = cluster.site.registry_mirror
    host = cluster.insecure_registry
    insecure = {host: _insecure(host)} if host else {}
    if chosen == ():
        none = dict.fromkeys(_CHART_DEFAULTS)
        return {**none, **insecure} if insecure else None
    entries: paths.Values = {}
    prefix = cluster.labels[PREFIX]
    if operators or prefix:
        for each in _MIRRORED:
            own = (_below(prefix, each),) if prefix else ()
            entries[each] = _entry(each, own, operators)
    entries.update(insecure)
    for registry, urls in chosen or ():
        entries[registry] = _entry(registry, urls, operators) if urls else None
    return entries


def _registry_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    site = cluster.site
    mirrors = _mirrors(cluster)
    leaves: dict[str, Any] = {
        MIRRORS.becomes[0]: paths.NULL if mirrors is None else mirrors,
        paths.REGISTRY_AUTH: {
            host: {"username": username, "password": password}
            for host, username, password in site.registry_auth
        },
        PREFIX.becomes[0]: cluster.labels[PREFIX],
    }
    if site.registry_mirror:
        # It runs on the management cluster: the operator's mirror counts for
        # it, and never what a tenant says.
        leaves["autoscaler.image.repository"] = (
            f"{site.registry_mirror}/registry.k8s.io/autoscaling/"
            "cluster-autoscaler"
        )
    return leaves


REGISTRIES.leaves = _registry_leaves
REGISTRIES.check = _check_registry
