# SPDX-License-Identifier: Apache-2.0

"""Access of the machines to other networks: proxies and trusted CAs.

Machines need one to pull images, and on Ubuntu to install packages. kubelet
and kubeadm get none: they talk to the Kubernetes API alone, and its address,
often a floating IP, is not known when their proxy settings are written.
kubeadm would also hand the proxy on to the control plane's own pods.
"""

from __future__ import annotations

from collections.abc import Iterator
import re

from magnum_capi_helm.features import networking
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors

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


def _is_flatcar(cluster: cluster_spec.Cluster) -> bool:
    return cluster.control_plane.image.os_distro == "flatcar"


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    proxy = cluster.proxy
    if not (proxy.http or proxy.https):
        return {}
    drop_in = f"[Service]\nEnvironmentFile={_ENVIRONMENT}\n"
    files = [
        topic.machine_file(_ENVIRONMENT, _environment(cluster), "0600"),
        topic.machine_file(_DROP_IN, drop_in, "0644"),
    ]
    if _is_flatcar(cluster):
        # Ignition writes files before systemd starts its first unit.
        return topic.on_all_machines(files)
    return topic.on_all_machines(
        [*files, topic.machine_file(_APT, _apt(proxy), "0600")],
        "systemctl daemon-reload",
        "systemctl restart containerd",
    )


TOPIC = topic.Topic(name="Proxies", leaves=_leaves, check=_check)


def _trusted_cas(cluster: cluster_spec.Cluster) -> topic.Leaves:
    """Return the certificates, for Flatcar as files, as its guide says.

    Flatcar can't write to the folder that the chart's value uses.
    """
    cas = cluster.site.trusted_cas
    if not cas or not _is_flatcar(cluster):
        return {"trustedCAs": dict(cas)}
    files = [
        topic.machine_file(f"/etc/ssl/certs/{name}.pem", pem, "0644")
        for name, pem in cas
    ]
    return topic.on_all_machines(files, "update-ca-certificates")


TRUST = topic.Topic(name="Trusted CAs", leaves=_trusted_cas)
