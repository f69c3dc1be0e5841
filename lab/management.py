# SPDX-License-Identifier: Apache-2.0

"""A management plane: a Kubernetes API server and Cluster API's managers.

Among them are those of Cluster API's OpenStack provider (CAPO). ``labinfra``
plays the inside of the machines, and the addon provider.
"""

from collections.abc import Callable
import pathlib

from lab import layout
from lab import manifests
from lab import planes
from lab import programs
from lab import service
from lab.nodes import mode

# Ports of the first plane.
_ETCD_PORT = 12379
_LABINFRA_PORT = 9547
_HEALTH = 100  # a manager's health port is its webhook port plus this
_DIAGNOSTICS = 200
_MANAGERS = ("capi-core", "capi-bootstrap", "capi-kcp", "capo")
_IGNITION = "--feature-gates=KubeadmBootstrapFormatIgnition=true"
_CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
)


def services(plane: planes.Plane) -> list[service.Service]:
    """All of it, in the order of starting."""
    return [
        _etcd(plane),
        _api_server(plane),
        _controller_manager(plane),
        *(_manager(plane, name) for name in _MANAGERS),
        *([] if mode.chosen() else [labinfra(plane)]),
    ]


def _built(name: str) -> Callable[[], list[pathlib.Path]]:
    """Return the stamp of a program, which a new build changes."""
    return lambda: [programs.stamp(name)]


def managers(plane: planes.Plane) -> list[str]:
    """The names of the services that answer webhooks."""
    return [plane.called(name) for name in _MANAGERS]


def _etcd_url(plane: planes.Plane) -> str:
    return f"http://127.0.0.1:{plane.port(_ETCD_PORT)}"


def _etcd(plane: planes.Plane) -> service.Service:
    port = plane.port(_ETCD_PORT)
    url = _etcd_url(plane)
    peer = f"http://127.0.0.1:{port + 1}"
    return service.Service(
        plane.called("etcd"),
        (
            str(programs.path("etcd")),
            f"--data-dir={plane.etcd / 'data'}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
        layer=1,
        inputs=_built("etcd"),
        ports=(port, port + 1),
        probe=service.answers(f"{url}/health", strict=True),
    )


def _api_server(plane: planes.Plane) -> service.Service:
    files = plane.pki
    return service.Service(
        plane.called("kube-apiserver"),
        (
            str(programs.path("kube-apiserver")),
            f"--etcd-servers={_etcd_url(plane)}",
            "--bind-address=127.0.0.1",
            f"--secure-port={plane.api_port}",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={files / 'apiserver.crt'}",
            f"--tls-private-key-file={files / 'apiserver.key'}",
            f"--cert-dir={files}",
            f"--client-ca-file={plane.authority}",
            "--authorization-mode=RBAC",
            "--service-account-issuer="
            "https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={files / 'sa.pub'}",
            f"--service-account-signing-key-file={files / 'sa.key'}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--allow-privileged=true",
            "--enable-priority-and-fairness=false",
            "--profiling=false",
        ),
        layer=2,
        inputs=_built("kube-apiserver"),
        ports=(plane.api_port,),
        # It makes much garbage, converting objects for all who wrote parts
        # of them: a quarter of its time went into collecting it. Without the
        # limit it grows to 3.5 GB.
        env={"GOGC": "300", "GOMEMLIMIT": "1500MiB"},
        probe=service.answers(
            f"{plane.api}/readyz", strict=True, authority=plane.authority
        ),
        grace=20.0,
    )


def _controller_manager(plane: planes.Plane) -> service.Service:
    return service.Service(
        plane.called("kube-controller-manager"),
        (
            str(programs.path("kube-controller-manager")),
            f"--kubeconfig={plane.kubeconfig}",
            "--secure-port=0",
            "--leader-elect=false",
            f"--service-account-private-key-file={plane.pki / 'sa.key'}",
            f"--root-ca-file={plane.authority}",
            f"--controllers={','.join(_CONTROLLERS)}",
        ),
        layer=3,
        inputs=_built("kube-controller-manager"),
    )


def _manager(plane: planes.Plane, name: str) -> service.Service:
    _, first = manifests.PROVIDERS[name.removeprefix("capi-")]
    port = plane.port(first)
    # Flatcar is configured by Ignition, which is an alpha feature.
    extra = {
        "capi-bootstrap": (_IGNITION,),
        "capi-kcp": (_IGNITION,),
    }.get(name, ())
    health = f"127.0.0.1:{port + _HEALTH}"
    return service.Service(
        plane.called(name),
        (
            str(programs.path(name)),
            f"--kubeconfig={plane.kubeconfig}",
            f"--webhook-port={port}",
            f"--webhook-cert-dir={plane.pki}",
            f"--health-addr={health}",
            f"--diagnostics-address=127.0.0.1:{port + _DIAGNOSTICS}",
            "--insecure-diagnostics=true",
            "-v=2",
            *extra,
        ),
        layer=4,
        inputs=_built(name),
        ports=(port, port + _HEALTH, port + _DIAGNOSTICS),
        probe=service.answers(f"http://{health}/readyz", strict=True),
    )


def labinfra(plane: planes.Plane) -> service.Service:
    """The inside of machines, where they are simulated."""
    port = plane.port(_LABINFRA_PORT)
    health = f"127.0.0.1:{port}"
    return service.Service(
        plane.called("labinfra"),
        (
            str(programs.path("labinfra")),
            f"-kubeconfig={plane.kubeconfig}",
            f"-health-addr={health}",
            f"-clouds={layout.CLOUDS_YAML}",
            "-v=2",
        ),
        layer=5,
        ports=(port,),
        probe=service.answers(f"http://{health}/readyz", strict=True),
        inputs=_built("labinfra"),
    )
