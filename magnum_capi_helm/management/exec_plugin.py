# SPDX-License-Identifier: Apache-2.0

"""Credentials that a kubeconfig's ``exec`` plugin gives out.

Kubernetes' contract for such plugins is ``ExecCredential`` of
``client.authentication.k8s.io``:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/

pykube-ng knows no ``v1``, runs the plugin for each request and waits for it
as long as it takes. Here one run serves all threads until what it gave
expires or is refused.
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

from magnum_capi_helm.management import memory_files
from magnum_capi_helm.model import errors

LOG = logging.getLogger(__name__)

_GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_TEXTS = ("token", "clientCertificateData", "clientKeyData")
#: Seconds that a plugin may take, which may ask an identity provider.
DEADLINE = 20.0
#: Seconds before the end of a credential at which another is asked for.
_EARLY = 60.0


class PluginError(Exception):
    """The plugin gave no credential; what it wrote is in the log."""


class Plugin(requests.auth.AuthBase):
    """The authentication of a session, by the plugin of a kubeconfig.

    :param config: ``exec`` of the kubeconfig's user
    :param session: gets the client certificate, when the plugin gives one
    :param files: of the session; a client certificate is one of them
    :raises NotConfigured: a plugin that can't be run by a service
    """

    def __init__(
        self,
        config: dict[str, Any],
        session: requests.Session,
        files: memory_files.Files,
    ) -> None:
        _check(config)
        self._config = config
        self._session = session
        self._files = files
        #: Of the certificate before this one: requests may still need it.
        self._before: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._token = ""
        self._until = 0.0
        self._runs = 0

    def __call__(self, request: Any) -> Any:
        with self._lock:
            if time.time() >= self._until:
                self._renew()
            token, run = self._token, self._runs
        if token:
            request.headers["Authorization"] = f"Bearer {token}"

        def answered(answer: Any, **options: Any) -> Any:
            return self._answered(answer, run, options)

        request.register_hook("response", answered)
        return request

    def _answered(self, answer: Any, run: int, options: Any) -> Any:
        """What a first refusal becomes once the credential is another."""
        if answer.status_code != requests.codes.unauthorized:
            return answer
        with self._lock:
            if run == self._runs:
                self._renew()
            token = self._token
        again = answer.request.copy()
        again.hooks["response"] = []
        if token:
            again.headers["Authorization"] = f"Bearer {token}"
        # What is left of the first answer would block its connection.
        _ = answer.content
        answer.close()
        options["cert"] = self._session.cert
        return answer.connection.send(again, **options)

    def _renew(self) -> None:
        found = self._run()
        self._token = str(found.get("token") or "")
        certificate = found.get("clientCertificateData")
        key = found.get("clientKeyData")
        if not self._token and not (certificate and key):
            raise PluginError(
                f"the kubeconfig's exec plugin {self._config['command']} gave "
                "neither a token nor a client certificate"
            )
        until = self._end(found.get("expirationTimestamp"))
        self._runs += 1
        if certificate and key:
            self._present(certificate, key)
        self._until = until

    def _end(self, text: Any) -> float:
        """Seconds since the epoch until which a credential is used."""
        if not text:
            return float("inf")  # until it is refused, says the contract
        try:
            end = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except (AttributeError, ValueError):
            raise PluginError(
                f"the kubeconfig's exec plugin {self._config['command']} gave "
                f"the expirationTimestamp {text!r}: a time is like "
                "2026-01-31T12:00:00Z"
            ) from None
        return end.timestamp() - _EARLY

    def _present(self, certificate: str, key: str) -> None:
        """The client certificate of all connections from now on.

        urllib3 knows connections by the paths of these files, and keeps
        those of one pair alone: the paths are others than the last ones.
        """
        present = tuple(self._session.cert or ())
        self._session.cert = (
            self._files.write("exec.crt", certificate.encode()),
            self._files.write("exec.key", key.encode()),
        )
        self._files.forget(self._before)
        self._before = present

    def _run(self) -> dict[str, Any]:
        command = [self._config["command"], *(self._config.get("args") or ())]
        try:
            done = subprocess.run(
                command,
                env=_environment(self._config),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=DEADLINE,
            )
            if done.returncode:
                LOG.warning(
                    "the kubeconfig's exec plugin %s says: %s",
                    command[0],
                    done.stderr.decode(errors="replace")[-500:].strip(),
                )
                raise PluginError(
                    f"the kubeconfig's exec plugin {command[0]} ended with "
                    f"{done.returncode}"
                )
            return _status(done.stdout)
        except (OSError, ValueError, KeyError, TypeError) as error:
            # No text of theirs: it would quote what the plugin gave.
            raise PluginError(
                f"the kubeconfig's exec plugin {command[0]} gave no "
                f"ExecCredential ({type(error).__name__})"
            ) from None
        except Exception as error:
            # Under eventlet, up to Magnum 22, it is another class of that
            # name, which no module has.
            if type(error).__name__ != subprocess.TimeoutExpired.__name__:
                raise
            raise PluginError(
                f"the kubeconfig's exec plugin {command[0]} took longer than "
                f"{DEADLINE:g} s"
            ) from error


def _status(written: bytes) -> dict[str, Any]:
    """What a plugin gave, in what it wrote.

    :raises TypeError: something in it is of another kind
    """
    status = json.loads(written)["status"]
    if not isinstance(status, dict):
        raise TypeError
    if not all(isinstance(status.get(each) or "", str) for each in _TEXTS):
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
    asked = {
        "apiVersion": config["apiVersion"],
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    own = {each["name"]: each["value"] for each in config.get("env") or ()}
    return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
