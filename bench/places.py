# SPDX-License-Identifier: Apache-2.0

"""Paths and ports of the bench; the lab uses other ports."""

from __future__ import annotations

import pathlib

from lab import layout

STATE = layout.CHECKOUT / ".bench"
RECORDED = pathlib.Path(__file__).parent / "recorded"
KUBECONFIG = STATE / "kubeconfig"
AUDIT_POLICY = STATE / "audit-policy.yaml"
AUDIT_LOG = STATE / "audit.log"
ETCD_DATA = STATE / "etcd"
POSTGRES_DATA = STATE / "postgres"
MAGNUM_CONF = STATE / "magnum.conf"
EXPECTED = STATE / "expected.json"
RESULTS = STATE / "results.jsonl"

ETCD_PORT = 22379
API_PORT = 26443
POSTGRES_PORT = 25432
KEYSTONE_PORT = 25000

ETCD = f"http://127.0.0.1:{ETCD_PORT}"
API = f"https://127.0.0.1:{API_PORT}"
KEYSTONE = f"http://127.0.0.1:{KEYSTONE_PORT}/v3"
DATABASE = f"postgresql+psycopg2://postgres@127.0.0.1:{POSTGRES_PORT}/magnum"


def log(name: str) -> pathlib.Path:
    """Return the log of a program."""
    return STATE / "log" / f"{name}.log"


def record(name: str) -> pathlib.Path:
    """Return the file with the id of a program's process."""
    return STATE / "run" / f"{name}.pid"
