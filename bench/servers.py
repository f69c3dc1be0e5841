# SPDX-License-Identifier: Apache-2.0

"""The bench's own servers: the lab's programs on other ports and data.

Nothing reconciles: what is written stays as it was written. A request costs
the API server what it costs anywhere, but for admission and conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import fcntl
import shutil
import signal
import time

import psycopg2
import yaml

from bench import places
from lab import environment
from lab import errors
from lab import layout
from lab import planes
from lab import postgres
from lab import processes
from lab import service
from lab import tools

_SECONDS = 60.0
#: What the programs of the lab are called in the audit log: nobody else is
#: "lab". The API server speaks to itself, too.
_AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    # A watch has two stages more: it counts once.
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "None", "users": ["system:apiserver", "system:anonymous"]},
        {"level": "Metadata"},
    ],
}


@dataclasses.dataclass(frozen=True)
class Server:
    """A program, and how to know that it is ready."""

    name: str
    argv: tuple[str, ...]
    ready: Callable[[], bool]
    first_signal: signal.Signals = signal.SIGTERM

    def start(self) -> None:
        """Start it and wait until it answers, unless it runs."""
        identity = processes.read(places.record(self.name))
        if not processes.alive(identity):
            processes.spawn(
                self.argv,
                record=places.record(self.name),
                log=places.log(self.name),
                env=environment.inside(),
                cwd=places.STATE,
            )
        deadline = time.monotonic() + _SECONDS
        while not self.ready():
            if time.monotonic() > deadline:
                raise errors.LabError(
                    f"{self.name} gave no answer in {_SECONDS:.0f} s",
                    log=places.log(self.name),
                )
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it, if it runs."""
        identity = processes.read(places.record(self.name))
        if identity is not None and processes.alive(identity):
            processes.stop(identity, first=self.first_signal)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """No other bench of this checkout meanwhile: it would stop the servers."""
    places.STATE.mkdir(parents=True, exist_ok=True)
    with (places.STATE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit("another bench of this checkout runs") from None
        yield


def all_servers() -> list[Server]:
    """In the order of starting."""
    return [etcd(), api_server(), database(), keystone()]


def stop() -> None:
    """Stop all of them."""
    for each in reversed(all_servers()):
        each.stop()


def etcd() -> Server:
    """Holds the objects."""
    peer = f"http://127.0.0.1:{places.ETCD_PORT + 1}"
    return Server(
        "etcd",
        (
            str(layout.BIN / "etcd"),
            f"--data-dir={places.ETCD_DATA}",
            f"--listen-client-urls={places.ETCD}",
            f"--advertise-client-urls={places.ETCD}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--quota-backend-bytes=8589934592",
            "--max-request-bytes=33554432",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
        service.answers(f"{places.ETCD}/health", strict=True),
    )


def api_server() -> Server:
    """The management cluster's API, with the lab's certificates."""
    files = layout.PKI
    return Server(
        "kube-apiserver",
        (
            str(layout.BIN / "kube-apiserver"),
            f"--etcd-servers={places.ETCD}",
            "--bind-address=127.0.0.1",
            f"--secure-port={places.API_PORT}",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={files / 'apiserver.crt'}",
            f"--tls-private-key-file={files / 'apiserver.key'}",
            f"--cert-dir={places.STATE}",
            f"--client-ca-file={planes.FIRST.authority}",
            "--authorization-mode=RBAC",
            "--service-account-issuer="
            "https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={files / 'sa.pub'}",
            f"--service-account-signing-key-file={files / 'sa.key'}",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--audit-policy-file={places.AUDIT_POLICY}",
            f"--audit-log-path={places.AUDIT_LOG}",
            "--audit-log-mode=blocking",
        ),
        service.answers(
            f"{places.API}/readyz",
            strict=True,
            authority=planes.FIRST.authority,
        ),
    )


def database() -> Server:
    """Magnum's database."""
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(places.POSTGRES_PORT),
        "unix_socket_directories": "",
        "max_connections": "300",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
    }
    return Server(
        "postgres",
        (
            *postgres.unprivileged(),
            str(postgres.programs() / "postgres"),
            "-D",
            str(places.POSTGRES_DATA),
            *(f"-c{name}={value}" for name, value in settings.items()),
        ),
        _accepts,
        first_signal=signal.SIGINT,
    )


def keystone() -> Server:
    """A stand-in that lets every cluster's credential in, and counts."""
    return Server(
        "keystone",
        (
            str(layout.PYTHON),
            str(layout.CHECKOUT / "bench" / "keystone.py"),
            str(places.KEYSTONE_PORT),
        ),
        service.answers(f"http://127.0.0.1:{places.KEYSTONE_PORT}/count"),
    )


def connect(name: str) -> psycopg2.extensions.connection:
    """A connection to a database, that commits each statement."""
    made = psycopg2.connect(
        host="127.0.0.1",
        port=places.POSTGRES_PORT,
        user="postgres",
        dbname=name,
    )
    made.autocommit = True
    return made


def _accepts() -> bool:
    with contextlib.suppress(psycopg2.OperationalError):
        connect("postgres").close()
        return True
    return False


def make() -> None:
    """New, empty data folders, and the files that the servers read."""
    stop()
    for folder in (places.ETCD_DATA, places.POSTGRES_DATA):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (places.AUDIT_LOG, places.log("magnum")):
        file.unlink(missing_ok=True)
    places.STATE.mkdir(parents=True, exist_ok=True)
    places.AUDIT_POLICY.write_text(yaml.safe_dump(_AUDIT))
    text = layout.KUBECONFIG.read_text().replace(planes.FIRST.api, places.API)
    places.KUBECONFIG.write_text(text)
    places.KUBECONFIG.chmod(0o600)
    _make_database()


def _make_database() -> None:
    folder = places.POSTGRES_DATA
    folder.mkdir(mode=0o700)
    postgres.give(folder)
    tools.run(
        [
            *postgres.unprivileged(),
            postgres.programs() / "initdb",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-sync",
            folder,
        ],
        log=places.log("initdb"),
    )
