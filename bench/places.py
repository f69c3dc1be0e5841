# SPDX-License-Identifier: Apache-2.0

"""Paths and ports of the bench; the lab uses other ports."""

from __future__ import annotations

import pathlib

from lab import layout
from lab import planes

STATE = layout.CHECKOUT / ".bench"
KUBECONFIG = STATE / "kubeconfig"
AUDIT_POLICY = STATE / "audit-policy.yaml"
AUDIT_LOG = STATE / "audit.log"
POSTGRES_DATA = STATE / "postgres"
MAGNUM_CONF = STATE / "magnum.conf"
EXPECTED = STATE / "expected.json"
RESULTS = STATE / "results.jsonl"


class _Plane(planes.Plane):
    """The bench's API server and etcd, with the lab's certificates."""

    @property
    def pki(self) -> pathlib.Path:
        return layout.PKI

    @property
    def etcd(self) -> pathlib.Path:
        return STATE / "etcd"


PLANE = _Plane("bench", suffix="-bench", shift=10_000)
#: As lab/management.py has it for the first plane.
ETCD = f"http://127.0.0.1:{PLANE.port(12379)}"
API = PLANE.api
POSTGRES_PORT = PLANE.port(15432)
KEYSTONE_PORT = PLANE.port(15000)
KEYSTONE = f"http://127.0.0.1:{KEYSTONE_PORT}/v3"
DATABASE = f"postgresql+psycopg2://postgres@127.0.0.1:{POSTGRES_PORT}/magnum"


def log(name: str) -> pathlib.Path:
    """Return the log of a program."""
    return STATE / "log" / f"{name}.log"
