# SPDX-License-Identifier: Apache-2.0

"""Connections to the API of a management cluster.

The only module that imports pykube. A connection sends every request once,
with a deadline, reads token files for each request, runs ``exec`` plugins and
honours the kubeconfig's ``proxy-url``. It takes nothing from the environment:
a proxy or CA bundle meant for OpenStack must not apply here.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import Any, TypeAlias

from oslo_log import log
import pykube
import pykube.exceptions
import pykube.http
import requests

from magnum_capi_helm.kubernetes import exec_plugin
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
            self.plugin = exec_plugin.Plugin(plugin, session, self._memory)
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
