# SPDX-License-Identifier: Apache-2.0

"""Where everything lives.

All state is below one folder, so that removing that folder removes the lab.
Only the caches of pip and Go stay where the user has them: a second checkout
then builds in seconds.
"""

import os
import pathlib

CHECKOUT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = CHECKOUT / "lab"
STATE = pathlib.Path(os.environ.get("LAB_DIR") or CHECKOUT / ".lab").resolve()

BIN = STATE / "bin"
VENV = STATE / "venv"
PYTHON = VENV / "bin" / "python"
GO_VENV = STATE / "go-venv"
TOX_VENV = STATE / "tox-venv"
LOGS = STATE / "log"
RUN = STATE / "run"
STAMPS = STATE / "stamps"
PKI = STATE / "pki"
CRDS = STATE / "crds"
HURRIED = STATE / "hurried"
MANIFESTS = STATE / "manifests"
ETCD = STATE / "etcd"
POSTGRES = STATE / "postgres"
CLOUD = STATE / "cloud"
CHARTS = STATE / "charts"
CHART_STORE = STATE / "chart-store"
PROFILES = STATE / "profiles"
DEMO = STATE / "demo"
HORIZON = STATE / "horizon"
HORIZON_VENV = STATE / "horizon-venv"
KUBECONFIG = STATE / "kubeconfig"
DRIVER_KUBECONFIG = STATE / "driver-kubeconfig"
OPENRC = STATE / "openrc"
ADMIN_OPENRC = STATE / "admin-openrc"
CLOUDS_YAML = STATE / "clouds.yaml"
LOCK = STATE / "lock"


def log(name: str) -> pathlib.Path:
    """The log file of a service or of a build step."""
    return LOGS / f"{name}.log"
