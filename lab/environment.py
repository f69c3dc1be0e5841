# SPDX-License-Identifier: Apache-2.0

"""The two environments that programs are run in.

*Outside* tools (pip, Go, tox) fetch packages and need the user's proxies and
certificate bundles. Everything *inside* the lab talks to loopback only, where
a proxy would swallow the requests and a certificate bundle in the environment
would override the lab's own authority.
"""

import os

from lab import layout

_HIDDEN = frozenset(
    {
        "ALL_PROXY",
        "CURL_CA_BUNDLE",
        "FTP_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "KUBECONFIG",
        "PYTHONHOME",
        "PYTHONPATH",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "VIRTUAL_ENV",
    }
)
_LOOPBACK = "127.0.0.0/8,127.0.0.1,localhost"
# The handed-on lock is for this process alone.
_outside = {k: v for k, v in os.environ.items() if k != "LAB_LOCK_FD"}


def outside(**extra: str) -> dict[str, str]:
    """The user's own environment, as it was when the lab was called."""
    return {**_outside, **extra}


def inside(**extra: str) -> dict[str, str]:
    """An environment for the lab's services and for clients of them."""
    kept = {
        name: value
        for name, value in _outside.items()
        if name.upper() not in _HIDDEN and not name.startswith("OS_")
    }
    path = [str(layout.BIN), str(layout.VENV / "bin"), kept.get("PATH", "")]
    # "openstack coe cluster config" wants it, and tox hides it.
    kept.setdefault("SHELL", "/bin/sh")
    kept.update(
        PATH=os.pathsep.join(path),
        NO_PROXY=_LOOPBACK,
        no_proxy=_LOOPBACK,
        PYTHONUNBUFFERED="1",
        # Caches that would else be written to the user's home.
        KUBECACHEDIR=str(layout.STATE / "cache" / "kube"),
        HELM_CACHE_HOME=str(layout.STATE / "cache" / "helm"),
        HELM_CONFIG_HOME=str(layout.STATE / "cache" / "helm-config"),
        HELM_DATA_HOME=str(layout.STATE / "cache" / "helm-data"),
    )
    return {**kept, **extra}


def enter() -> None:
    """Make this process itself an inside one: it is a client of the lab."""
    os.environ.clear()
    os.environ.update(inside())
