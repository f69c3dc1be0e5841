# SPDX-License-Identifier: Apache-2.0

"""One pooled connection to the management cluster's API.

The only module that imports pykube. It sends every request once, with a
deadline, reads token files anew, runs ``exec`` plugins, honours the
kubeconfig's ``proxy-url``, and takes nothing from the environment: a proxy or
CA bundle meant for OpenStack must not apply here.
"""

from __future__ import annotations

from typing import Any

import pykube
import pykube.config
import pykube.exceptions
import pykube.http
import requests

from magnum_capi_helm.management import current
from magnum_capi_helm.management import endings
from magnum_capi_helm.management import exec_plugin
from magnum_capi_helm.management import kubeconfig
from magnum_capi_helm.management import memory_files
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import timing

#: As many as Magnum has worker threads (oslo.messaging's default).
POOL = 64


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
    """Requests with a deadline; answers as :class:`requests.Response`.

    :param path: kubeconfig
    :param timeout: seconds to connect, seconds to read
    :param option: where the path is configured
    :raises NotConfigured: the kubeconfig can't be used
    """

    def __init__(
        self,
        path: str,
        timeout: tuple[float, float],
        option: str = kubeconfig.OPTION,
    ) -> None:
        self._path = path
        self._files = memory_files.Files()
        document = current.chosen(kubeconfig.load(path, option), path)
        #: Certificates and keys that are files of their own.
        self.files: tuple[str, ...] = kubeconfig.files_of(document)
        document = kubeconfig.externalise(document, self._files)
        current.check(document, path)
        config = _usable(document, path)
        adapter = pykube.http.KubernetesHTTPAdapter(
            config,
            pool_connections=1,
            pool_maxsize=POOL,
            pool_block=True,
        )
        self._api = pykube.HTTPClient(
            config, timeout=timeout, http_adapter=adapter
        )
        self._user = _plain(config.user)
        self._prepare(config)
        self.server: str = config.cluster["server"]

    def ends(self) -> tuple[endings.Ending, ...]:
        """What of the kubeconfig ends, and when. Asks nobody.

        :raises NotConfigured: its token file can't be read
        """
        # Not before: whoever writes it may do so while we start.
        current.readable(self._user, "tokenFile", self._path)
        return endings.of(self._user)

    def _prepare(self, config: pykube.KubeConfig) -> None:
        """What pykube-ng does not take from the kubeconfig, or too much."""
        session = self._api.session
        session.trust_env = False
        if proxy := config.cluster.get("proxy-url"):
            session.proxies = {"http": proxy, "https": proxy}
        if token_file := config.user.get("tokenFile"):
            session.auth = _TokenFile(token_file)
        if plugin := config.user.pop("exec", None):
            session.auth = exec_plugin.Plugin(plugin, session, self._files)

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        """One request.

        :param version: ``v1``, ``group/version``, or a path from the root
        :param url: plural of the kind, and the object's name
        :param options: ``namespace`` and what requests takes
        :raises requests.RequestException: no answer in time
        """
        with timing.waiting(timing.MANAGEMENT):
            return self._api.request(
                method, version=version, url=url, **options
            )


def _usable(document: dict[str, Any], path: str) -> pykube.KubeConfig:
    config = pykube.KubeConfig(document)
    try:
        _ = config.cluster["server"], config.user
    except (pykube.exceptions.PyKubeError, KeyError, TypeError) as error:
        raise errors.NotConfigured(
            f"the kubeconfig {path} does not say which cluster and user to "
            "take: set its current-context"
        ) from error
    return config


def _plain(user: dict[str, Any]) -> dict[str, Any]:
    """A user with paths, where pykube has objects of its own."""
    return {
        name: str(value.filename())
        if isinstance(value, pykube.config.BytesOrFile)
        else value
        for name, value in user.items()
    }
