# SPDX-License-Identifier: Apache-2.0

"""Authenticate with the ``exec`` plugin of a kubeconfig.

Kubernetes' contract for such plugins is ``ExecCredential`` of
``client.authentication.k8s.io``:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/

pykube-ng does not support ``v1``, runs the plugin for each request and has no
timeout for it. Here one run serves all threads until the credential expires
or is refused.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import threading
import time
from typing import Any

from oslo_log import log as logging
import requests

from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import errors

LOG = logging.getLogger(__name__)

_GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_TEXTS = ("token", "clientCertificateData", "clientKeyData")
#: Seconds that a plugin may take; it may ask an identity provider.
DEADLINE = 20.0
#: Seconds before the end of a credential at which the plugin runs again.
_EARLY = 60.0


class PluginError(Exception):
    """The plugin returned no credential; its stderr is in the log."""


class Plugin(requests.auth.AuthBase):
    """The authentication of a session by a plugin.

    :param config: ``exec`` of the kubeconfig's user
    :param session: gets the client certificate, if the plugin returns one
    :param files: of the session; holds the client certificate
    :raises NotConfigured: a service can't run the plugin
    """

    def __init__(
        self,
        config: dict[str, Any],
        session: requests.Session,
        files: kubeconfig.MemoryFiles,
    ) -> None:
        _check(config)
        self._config = config
        self._title = f"the kubeconfig's exec plugin {config['command']}"
        self._session = session
        self._files = files
        #: Files of the last certificate: requests may still need them.
        self._old_files: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._token = ""
        self._expires = 0.0

    def __call__(self, request: Any) -> Any:
        with self._lock:
            if time.time() >= self._expires:
                self._renew()
            token = self._token
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        return request

    def drop_refused(self, answer: requests.Response) -> None:
        """Stop using a refused credential; another thread may have done it.

        :param answer: 401
        """
        refused = str(answer.request.headers.get("Authorization", ""))
        with self._lock:
            if refused.removeprefix("Bearer ") == self._token:
                self._expires = 0.0

    def _renew(self) -> None:
        status = self._run()
        self._token = str(status.get("token") or "")
        certificate = status.get("clientCertificateData")
        key = status.get("clientKeyData")
        if not self._token and not (certificate and key):
            raise PluginError(
                f"{self._title} gave neither a token nor a client certificate"
            )
        expires = self._expiry(status.get("expirationTimestamp"))
        if certificate and key:
            self._use_certificate(certificate, key)
        self._expires = expires

    def _expiry(self, text: Any) -> float:
        """Return until when a credential is used, in seconds since 1970."""
        if not text:
            # The contract: until it is refused.
            return float("inf")
        try:
            end = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except (AttributeError, ValueError):
            raise PluginError(
                f"{self._title} gave the expirationTimestamp {text!r}: a time "
                "is like 2026-01-31T12:00:00Z"
            ) from None
        return end.timestamp() - _EARLY

    def _use_certificate(self, certificate: str, key: str) -> None:
        """Set the client certificate of new connections.

        urllib3 identifies connections by the paths of these files: a new
        certificate needs new paths.
        """
        in_use = tuple(self._session.cert or ())
        self._session.cert = (
            self._files.write("exec.crt", certificate.encode()),
            self._files.write("exec.key", key.encode()),
        )
        self._files.forget(self._old_files)
        self._old_files = in_use

    def _run(self) -> dict[str, Any]:
        """Run the plugin and return the ``status`` of its ExecCredential."""
        try:
            done = subprocess.run(
                [self._config["command"], *(self._config.get("args") or ())],
                env=_environment(self._config),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=DEADLINE,
            )
            if done.returncode:
                stderr = done.stderr.decode(errors="replace")
                LOG.warning("%s says: %s", self._title, stderr[-500:].strip())
                raise PluginError(
                    f"{self._title} ended with {done.returncode}"
                )
            return _status(done.stdout)
        except (OSError, ValueError, KeyError, TypeError) as error:
            # Without the text of the error: it would quote the credential.
            raise PluginError(
                f"{self._title} gave no ExecCredential "
                f"({type(error).__name__})"
            ) from None
        except Exception as error:
            # Under eventlet, up to Magnum 22, TimeoutExpired is another class
            # of that name, which no module has.
            if type(error).__name__ != subprocess.TimeoutExpired.__name__:
                raise
            raise PluginError(
                f"{self._title} took longer than {DEADLINE:g} s"
            ) from error


def _status(output: bytes) -> dict[str, Any]:
    """Return the ``status`` in the output of a plugin.

    :raises TypeError: a field has the wrong type
    """
    status = json.loads(output)["status"]
    if not isinstance(status, dict) or not all(
        isinstance(status.get(each) or "", str) for each in _TEXTS
    ):
        raise TypeError
    return status


def _check(config: dict[str, Any]) -> None:
    version = config.get("apiVersion")
    if version not in VERSIONS:
        raise errors.NotConfigured(
            f"the kubeconfig's exec plugin speaks {version}: it must be one "
            f"of {', '.join(VERSIONS)}"
        )
    if not config.get("command"):
        raise errors.NotConfigured(
            "the kubeconfig's exec plugin has no command"
        )
    if config.get("interactiveMode") == "Always":
        raise errors.NotConfigured(
            "the kubeconfig's exec plugin has interactiveMode Always: there "
            "is nobody that it could ask"
        )


def _environment(config: dict[str, Any]) -> dict[str, str]:
    info = {
        "apiVersion": config["apiVersion"],
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    own = {each["name"]: each["value"] for each in config.get("env") or ()}
    return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}
