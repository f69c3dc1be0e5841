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
from magnum_capi_helm.model import call
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


class Connection:
    """A pool of connections, made from a kubeconfig that is read once.

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
        memory = kubeconfig.MemoryFiles()
        current = kubeconfig.read(path, memory, option)
        self._user = current.user
        #: Certificates and keys that are files of their own.
        self.files = current.files
        config = _pykube_config(current, path)
        adapter = pykube.http.KubernetesHTTPAdapter(
            config,
            pool_connections=1,
            pool_maxsize=POOL,
            pool_block=True,
        )
        self._api = pykube.HTTPClient(
            config, timeout=timeout, http_adapter=adapter
        )
        self.server: str = config.cluster["server"]
        # What pykube-ng does not take from the kubeconfig:
        session = self._api.session
        session.trust_env = False
        if proxy := current.cluster.get("proxy-url"):
            session.proxies = {"http": proxy, "https": proxy}
        if token_file := current.user.get("tokenFile"):
            session.auth = _TokenFile(token_file)
        self._plugin = None
        if plugin := current.user.get("exec"):
            self._plugin = exec_plugin.Plugin(plugin, session, memory)
            session.auth = self._plugin
        # The files go with the connection.
        self._memory = memory

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        """Return when the kubeconfig's credentials expire.

        :raises NotConfigured: its token file can't be read
        """
        # Not checked earlier: the file may be written while the process
        # starts.
        kubeconfig.check_readable(self._user, "tokenFile", self._path)
        return kubeconfig.expiries(self._user)

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        """Send a request and return the :class:`requests.Response`.

        A request that was answered 401 has written nothing: it is repeated
        with a new credential, if a plugin makes it.

        :param version: ``v1``, ``group/version``, or a path from the root
        :param url: plural of the kind, and the object's name
        :param options: ``namespace`` and arguments of requests
        :raises requests.RequestException: no answer in time
        """
        ask = functools.partial(
            self._api.request, method, version=version, url=url, **options
        )
        with call.waiting(call.MANAGEMENT):
            answer = ask()
            if (
                answer.status_code == requests.codes.unauthorized
                and self._plugin is not None
            ):
                self._plugin.drop_refused(answer)
                answer = ask()
            return answer


class ReloadingConnection:
    """A connection that is made again when its files change.

    A credential in a kubeconfig is replaced before the old one expires, and
    the old one is revoked. helm reads the kubeconfig each time; a process
    that reads it once would be refused from then on.

    Its arguments are those of :class:`Connection`.

    :raises NotConfigured: the kubeconfig can't be used
    """

    def __init__(
        self,
        path: str,
        timeout: tuple[float, float],
        option: str = kubeconfig.OPTION,
    ) -> None:
        self._path = path
        self._connect = functools.partial(Connection, path, timeout, option)
        self._lock = threading.Lock()
        self._problem = ""
        self._reload()

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        """Return when the kubeconfig's credentials expire."""
        return self._latest().expiries()

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        """Send a request; repeat a 401 with the kubeconfig as it is now.

        A request that was answered 401 has written nothing.

        :raises requests.RequestException: no answer in time
        """
        used = self._latest()
        answer = used.request(method, version, url, **options)
        if answer.status_code != requests.codes.unauthorized:
            return answer
        latest = self._latest()
        if latest is used:
            return answer
        return latest.request(method, version, url, **options)

    def _latest(self) -> Connection:
        """Return the connection to use, made again after a change."""
        with self._lock:
            if self._file_states() != self._loaded:
                self._try_reload()
            return self._connection

    def _try_reload(self) -> None:
        try:
            self._reload()
        except (errors.NotConfigured, OSError) as error:
            # A file may be half written: keep the connection until then.
            if str(error) != self._problem:
                LOG.warning("The old kubeconfig is still used: %s", error)
            self._problem = str(error)
        else:
            self._problem = ""
            LOG.info("The kubeconfig %s has changed and is used", self._path)

    def _reload(self) -> None:
        # Before it is read: a later change must be noticed.
        state = _file_state(self._path)
        self._connection = self._connect()
        self.server = self._connection.server
        # Certificates and keys are read with the first request.
        self._loaded = (state, *self._file_states()[1:])

    def _file_states(self) -> tuple[_FileState, ...]:
        paths = (self._path, *self._connection.files)
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
