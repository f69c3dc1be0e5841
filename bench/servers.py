# SPDX-License-Identifier: Apache-2.0

"""The bench's own servers: the lab's programs on other ports and data.

Nothing reconciles: what is written stays as it was written. A request costs
the API server what it costs anywhere, but for admission and conversion.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import fcntl
import shutil

import yaml

from bench import places
from lab import layout
from lab import management
from lab import planes
from lab import postgres
from lab import service

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


def all_servers() -> list[service.Service]:
    """In the order of starting."""
    etcd, api_server, *_ = management.services(places.PLANE)
    large = (
        "--quota-backend-bytes=8589934592",
        "--max-request-bytes=33554432",
    )
    etcd = dataclasses.replace(etcd, argv=(*etcd.argv, *large))
    # Without the lab's options that spare memory and CPU.
    audited = (
        "--enable-priority-and-fairness=true",
        f"--audit-policy-file={places.AUDIT_POLICY}",
        f"--audit-log-path={places.AUDIT_LOG}",
        "--audit-log-mode=blocking",
    )
    api_server = dataclasses.replace(
        api_server, argv=(*api_server.argv, *audited), env={}
    )
    database = postgres.server(
        places.PLANE.called("postgres"),
        places.POSTGRES_DATA,
        places.POSTGRES_PORT,
    )
    return [etcd, api_server, database, _keystone()]


def stop() -> None:
    """Stop all of them."""
    for each in reversed(all_servers()):
        each.stop()


def _keystone() -> service.Service:
    """A stand-in that lets every cluster's credential in."""
    script = layout.CHECKOUT / "bench" / "keystone.py"
    return service.Service(
        places.PLANE.called("keystone"),
        (str(layout.PYTHON), str(script), str(places.KEYSTONE_PORT)),
        layer=1,
        ports=(places.KEYSTONE_PORT,),
        probe=service.answers(places.KEYSTONE),
    )


def make() -> None:
    """New, empty data folders, and the files that the servers read."""
    stop()
    for folder in (places.PLANE.etcd, places.POSTGRES_DATA):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (places.AUDIT_LOG, places.log("magnum")):
        file.unlink(missing_ok=True)
    places.AUDIT_POLICY.write_text(yaml.safe_dump(_AUDIT))
    text = layout.KUBECONFIG.read_text().replace(planes.FIRST.api, places.API)
    places.KUBECONFIG.write_text(text)
    places.KUBECONFIG.chmod(0o600)
    postgres.initialize(places.POSTGRES_DATA)
