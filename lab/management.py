# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The management plane: a Kubernetes API server and Cluster API's managers.

Everything is the real thing but the infrastructure: OpenStack's provider runs
for its admission webhooks alone (no object carries its watch filter), and
``labinfra`` plays its controllers, the machines, and the addon provider.
"""

from collections.abc import Callable
import pathlib

from lab import layout
from lab import manifests
from lab import pki
from lab import programs
from lab import service

ETCD_PORT = 12379
ETCD = f"http://127.0.0.1:{ETCD_PORT}"
LABINFRA_PORT = 9547
_HEALTH = 100  # a manager's health port is its webhook port plus this
_DIAGNOSTICS = 200
MANAGERS = ("capi-core", "capi-bootstrap", "capi-kcp", "capo")
_IGNITION = "--feature-gates=KubeadmBootstrapFormatIgnition=true"
_CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
)


def services() -> list[service.Service]:
    """All of it, in the order of starting."""
    return [
        _etcd(),
        _api_server(),
        _controller_manager(),
        *map(_manager, MANAGERS),
        _labinfra(),
    ]


def _program(name: str) -> pathlib.Path:
    return layout.BIN / name


def _built(name: str) -> Callable[[], list[pathlib.Path]]:
    """What changes when the program is built anew."""
    return lambda: [programs.stamp(name)]


def _etcd() -> service.Service:
    peer = f"http://127.0.0.1:{ETCD_PORT + 1}"
    return service.Service(
        "etcd",
        (
            str(_program("etcd")),
            f"--data-dir={layout.ETCD / 'data'}",
            f"--listen-client-urls={ETCD}",
            f"--advertise-client-urls={ETCD}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
        layer=1,
        inputs=_built("etcd"),
        ports=(ETCD_PORT, ETCD_PORT + 1),
        probe=service.answers(f"{ETCD}/health", strict=True),
    )


def _api_server() -> service.Service:
    files = layout.PKI
    return service.Service(
        "kube-apiserver",
        (
            str(_program("kube-apiserver")),
            f"--etcd-servers={ETCD}",
            "--bind-address=127.0.0.1",
            f"--secure-port={pki.API_PORT}",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={files / 'apiserver.crt'}",
            f"--tls-private-key-file={files / 'apiserver.key'}",
            f"--cert-dir={files}",
            f"--client-ca-file={pki.CA}",
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
        ports=(pki.API_PORT,),
        probe=service.answers(f"{pki.API}/readyz", strict=True),
        grace=20.0,
    )


def _controller_manager() -> service.Service:
    return service.Service(
        "kube-controller-manager",
        (
            str(_program("kube-controller-manager")),
            f"--kubeconfig={layout.KUBECONFIG}",
            "--secure-port=0",
            "--leader-elect=false",
            f"--service-account-private-key-file={layout.PKI / 'sa.key'}",
            f"--root-ca-file={pki.CA}",
            f"--controllers={','.join(_CONTROLLERS)}",
        ),
        layer=3,
        inputs=_built("kube-controller-manager"),
    )


def _manager(name: str) -> service.Service:
    _, port = manifests.PROVIDERS[name.removeprefix("capi-")]
    # Without a label to match, the OpenStack provider reconciles nothing.
    # Flatcar is configured by Ignition, which is an alpha feature.
    extra = {
        "capo": ("--watch-filter=none",),
        "capi-bootstrap": (_IGNITION,),
        "capi-kcp": (_IGNITION,),
    }.get(name, ())
    health = f"127.0.0.1:{port + _HEALTH}"
    return service.Service(
        name,
        (
            str(_program(name)),
            f"--kubeconfig={layout.KUBECONFIG}",
            f"--webhook-port={port}",
            f"--webhook-cert-dir={layout.PKI}",
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


def _labinfra() -> service.Service:
    health = f"127.0.0.1:{LABINFRA_PORT}"
    return service.Service(
        "labinfra",
        (
            str(_program("labinfra")),
            f"-kubeconfig={layout.KUBECONFIG}",
            f"-health-addr={health}",
            "-v=2",
        ),
        layer=5,
        ports=(LABINFRA_PORT,),
        probe=service.answers(f"http://{health}/readyz", strict=True),
        inputs=_built("labinfra"),
    )
