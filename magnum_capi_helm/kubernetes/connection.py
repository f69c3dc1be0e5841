# SPDX-License-Identifier: Apache-2.0

"""Connections to the API of a management cluster.

The only module that imports pykube. A connection sends every request once,
with a deadline, reads token files for each request, runs ``exec`` plugins and
honours the kubeconfig's ``proxy-url``. It takes nothing from the environment:
a proxy or CA bundle meant for OpenStack must not apply here.

Kubernetes' contract for ``exec`` plugins is ``ExecCredential`` of
``client.authentication.k8s.io``:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/

pykube-ng does not support ``v1``, runs the plugin for each request and has no
timeout for it. Here one run serves all threads until the credential expires
or is refused.
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import subprocess
import threading
import time
from typing import Any, TypeAlias

from oslo_log import log
import pykube
import pykube.exceptions
import pykube.http
import requests

from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

#: As many as Magnum has worker threads (oslo.messaging's default).
POOL = 64

#: Changes when a file is written, replaced or made readable; None when there
#: is no such file.
_FileState: TypeAlias = "tuple[int, int, int, int] | None"


class _TokenFile(requests.auth.AuthBase):
    """A bearer token that is read for each request: it may be rotated."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, request: Any) -> Any:
        with open(self._path, encoding="utf-8") as source:
            token = source.read().strip()
        request.headers["Authorization"] = f"Bearer {token}"
        return request


class _Session:
    """A pool of connections, made from a kubeconfig that is read once."""

    def __init__(
        self, path: str, timeout: tuple[float, float], option: str
    ) -> None:
        # The files go with the session.
        self._memory = kubeconfig.MemoryFiles()
        current = kubeconfig.read(path, self._memory, option)
        self.user = current.user
        #: Certificates and keys that are files of their own.
        self.files = current.files
        config = _pykube_config(current, path)
        adapter = pykube.http.KubernetesHTTPAdapter(
            config,
            pool_connections=1,
            pool_maxsize=POOL,
            pool_block=True,
        )
        self.api = pykube.HTTPClient(
            config, timeout=timeout, http_adapter=adapter
        )
        self.server: str = config.cluster["server"]
        # What pykube-ng does not take from the kubeconfig:
        session = self.api.session
        session.trust_env = False
        if proxy := current.cluster.get("proxy-url"):
            session.proxies = {"http": proxy, "https": proxy}
        if token_file := current.user.get("tokenFile"):
            session.auth = _TokenFile(token_file)
        self.plugin = None
        if plugin := current.user.get("exec"):
            self.plugin = Plugin(plugin, session, self._memory)
            session.auth = self.plugin


class Connection:
    """Connections to a management cluster, made again after a change.

    A credential in a kubeconfig is replaced before the old one expires, and
    the old one is revoked. helm reads the kubeconfig each time; a process
    that reads it once would be refused from then on.

    :param path: kubeconfig
    :param timeout: seconds to connect, seconds to read
    :param option: names the option with the path in messages
    :raises NotConfigured: the kubeconfig can't be used
    """

    def __init__(
        self,
        path: str,
        timeout: tuple[float, float],
        option: str = kubeconfig.OPTION,
    ) -> None:
        self._path = path
        self._open = functools.partial(_Session, path, timeout, option)
        self._lock = threading.Lock()
        self._problem = ""
        self._load()

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        """Return when the kubeconfig's credentials expire.

        :raises NotConfigured: its token file can't be read
        """
        user = self._latest().user
        # Not checked earlier: the file may be written while the process
        # starts.
        kubeconfig.check_readable(user, "tokenFile", self._path)
        return kubeconfig.expiries(user)

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        """Send a request and return the :class:`requests.Response`.

        A request that was answered 401 has written nothing: it is repeated
        with a new credential of a plugin, or of the kubeconfig as it is now.

        :param version: ``v1``, ``group/version``, or a path from the root
        :param url: plural of the kind, and the object's name
        :param options: ``namespace`` and arguments of requests
        :raises requests.RequestException: no answer in time
        """
        options |= {"version": version, "url": url}
        used = self._latest()
        answer = used.api.request(method, **options)
        if answer.status_code != requests.codes.unauthorized:
            return answer
        if used.plugin is not None:
            used.plugin.drop_refused(answer)
        latest = self._latest()
        if latest is used and used.plugin is None:
            return answer
        return latest.api.request(method, **options)

    def _latest(self) -> _Session:
        """Return the session to use, made again after a change."""
        with self._lock:
            if self._file_states() != self._loaded:
                try:
                    self._load()
                except (errors.NotConfigured, OSError) as error:
                    # A file may be half written: keep the session until then.
                    if str(error) != self._problem:
                        LOG.warning("Old kubeconfig is still used: %s", error)
                    self._problem = str(error)
                else:
                    self._problem = ""
                    LOG.info("Kubeconfig %s was read again", self._path)
            return self._session

    def _load(self) -> None:
        # Before it is read: a later change must be noticed.
        state = _file_state(self._path)
        self._session = self._open()
        self.server = self._session.server
        # Certificates and keys are read with the first request.
        self._loaded = (state, *self._file_states()[1:])

    def _file_states(self) -> tuple[_FileState, ...]:
        paths = (self._path, *self._session.files)
        return tuple(_file_state(each) for each in paths)


def _file_state(path: str) -> _FileState:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    # st_ctime changes with the mode: a file may have become readable.
    return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_size)


def _pykube_config(
    current: kubeconfig.Kubeconfig, path: str
) -> pykube.KubeConfig:
    # pykube-ng would run a plugin for each request.
    user = {key: each for key, each in current.user.items() if key != "exec"}
    name = "current"
    config = pykube.KubeConfig(
        {
            "clusters": [{"name": name, "cluster": current.cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [
                {"name": name, "context": {"cluster": name, "user": name}}
            ],
            "current-context": name,
        }
    )
    try:
        _ = config.cluster, config.user
    except (pykube.exceptions.PyKubeError, KeyError, TypeError) as error:
        raise errors.NotConfigured(
            f"the kubeconfig {path}: its user can't be used "
            f"({type(error).__name__}); check its auth-provider"
        ) from error
    return config


# Authentication by exec plugins

_GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_TEXTS = ("token", "clientCertificateData", "clientKeyData")
#: Seconds that a plugin may take; it may ask an identity provider.
DEADLINE = 20.0
#: Seconds before the end of a credential at which the plugin runs again.
_EARLY = 60.0


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
        _check_plugin(config)
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
            raise kubeconfig.PluginError(
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
            raise kubeconfig.PluginError(
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
                raise kubeconfig.PluginError(
                    f"{self._title} ended with {done.returncode}"
                )
            return _status(done.stdout)
        except (OSError, ValueError, KeyError, TypeError) as error:
            # Without the text of the error: it would quote the credential.
            raise kubeconfig.PluginError(
                f"{self._title} gave no ExecCredential "
                f"({type(error).__name__})"
            ) from None
        except Exception as error:
            # Under eventlet, up to Magnum 22, TimeoutExpired is another class
            # of that name, which no module has.
            if type(error).__name__ != subprocess.TimeoutExpired.__name__:
                raise
            raise kubeconfig.PluginError(
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


def _check_plugin(config: dict[str, Any]) -> None:
    problem, version = "", config.get("apiVersion")
    if version not in VERSIONS:
        problem = f"speaks {version}: it must be one of {', '.join(VERSIONS)}"
    elif not config.get("command"):
        problem = "has no command"
    elif config.get("interactiveMode") == "Always":
        problem = (
            "has interactiveMode Always: there is nobody that it could ask"
        )
    if problem:
        raise errors.NotConfigured(f"the kubeconfig's exec plugin {problem}")


def _environment(config: dict[str, Any]) -> dict[str, str]:
    info = {
        "apiVersion": config["apiVersion"],
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    own = {each["name"]: each["value"] for each in config.get("env") or ()}
    return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}
