# SPDX-License-Identifier: Apache-2.0

"""Requests to the management cluster's API, by kind.

Which version of a kind to ask for is discovered; what cannot be reached,
served or allowed is an exception of the driver's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import functools
import threading
from typing import Any, Protocol, TypeAlias, TypeVar

import requests

from magnum_capi_helm.management import answers
from magnum_capi_helm.management import discovery
from magnum_capi_helm.management import endings
from magnum_capi_helm.management import exec_plugin
from magnum_capi_helm.management import insistence
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import error_text
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import lease_guard

T = TypeVar("T")
#: What is in a page, and how to ask for the next one.
Take: TypeAlias = Callable[[Any], tuple[list[T], str]]


class Transport(Protocol):
    """What carries a request: :class:`connection.Connection`."""

    server: str

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any: ...

    def ends(self) -> tuple[endings.Ending, ...]: ...


class Calls:
    """One connection, shared by all threads of a process.

    :param connect: makes the connection; called once, on first use
    :param pinned: versions that the operator chose, by kind
    :param who: the management cluster, as messages call it
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        pinned: Mapping[str, Mapping[str, str]],
        who: str = "the management cluster",
    ) -> None:
        self._who = who
        self._connect = connect
        self._lock = threading.Lock()
        self._connection: Transport | None = None
        self._versions = discovery.Versions(
            lambda path: self._send("GET", path), pinned
        )

    def ends(self) -> tuple[endings.Ending, ...]:
        """What of the kubeconfig ends, and when. Asks nobody.

        :raises NotConfigured: the kubeconfig can't be used
        """
        return self._connected().ends()

    def date(self) -> float | None:
        """What the clock of the API server says, in whole seconds since 1970.

        :returns: None when it does not say
        :raises ManagementUnreachable: no answer
        """
        return answers.date(self._send("GET", "/version"))

    def version(self, kind: kinds.Kind) -> str:
        """``group/version`` to use for a kind; empty when none is served.

        :raises ManagementUnreachable: no answer
        """
        return self._versions.of(kind)

    def expect(self, kind: kinds.Kind) -> None:
        """Look whether a kind is served.

        :raises ManagementUnserved: it is not, at least for now
        :raises ManagementUnreachable: no answer
        """
        if not self.version(kind):
            raise self._unserved(kind)

    def served(self, group: str) -> dict[str, frozenset[str]]:
        """Versions by kind, of all that a group serves at this moment.

        :raises ManagementUnreachable: no answer
        """
        return self._versions.of_group(group)

    def pages(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        params: dict[str, Any],
        headers: dict[str, str],
        take: Take[T],
    ) -> list[T]:
        """What is in all pages of a LIST.

        :param take: says what is in an answer, and how to go on; empty: with
            nothing
        """
        ask = functools.partial(
            self.call, "GET", kind, namespace, headers=headers
        )
        try:
            return _all_pages(ask, params, take)
        except answers.ExpiredError:
            # The list changed too much between two pages: start again.
            return _all_pages(ask, params, take)

    def call(
        self,
        method: str,
        kind: kinds.Kind,
        namespace: str | None,
        name: str = "",
        **options: Any,
    ) -> Any:
        """The answer, or None when there is no such object.

        A path that is not served may have moved to another version: the
        group is discovered again, once.

        :raises ManagementUnserved: a kind that must be there is not
            served, at least for now
        :raises LeaseLost: it would write, and another conductor took over
        """
        url = f"{self._versions.plural(kind)}/{name}".rstrip("/")
        for _ in range(2):
            version = self.version(kind)
            if not version:
                break
            answer = self._send(
                method,
                version,
                url,
                namespace=namespace or None,
                **options,
            )
            if not answers.is_unserved(answer):
                what = f"{method} {kind.name} {name}".strip()
                return self._checked(answer, what)
            self._versions.forget(kind)
        if kind.optional:
            return None
        raise self._unserved(kind)

    def _checked(self, answer: Any, what: str) -> Any:
        """The answer, or None when there is no such object."""
        if answer.status_code == requests.codes.not_found:
            return None
        answers.raise_for(answer, what, self._who)
        return answer

    def _unserved(self, kind: kinds.Kind) -> errors.ManagementUnserved:
        return errors.ManagementUnserved(
            f"{self._who} serves no {kind.name}: the provider that has it is "
            "not installed there, or this is not the management cluster that "
            f"was meant. Its API group is {kind.group or 'the core group'}"
        )

    def _send(
        self,
        method: str,
        version: str,
        url: str = "",
        **options: Any,
    ) -> Any:
        connection = self._connected()

        def ask() -> Any:
            # The process may have stood still before this try.
            if method != "GET":
                lease_guard.check()
            return connection.request(method, version, url, **options)

        try:
            return insistence.insisted(ask)
        except exec_plugin.PluginError as error:
            raise errors.ManagementUnreachable(
                f"{self._who} can't be asked. It is {connection.server}; "
                f"{error}"
            ) from error
        except (requests.RequestException, OSError) as error:
            # OSError: a token, CA or key file of the kubeconfig is missing.
            where = f"It is {connection.server}"
            if untrusted := error_text.untrusted(error):
                raise answers.UntrustedError(
                    f"the certificate of {self._who} is not trusted, and "
                    "nothing was sent; check server and "
                    "certificate-authority-data of the kubeconfig. "
                    f"{where}: {untrusted}"
                ) from error
            raise errors.ManagementUnreachable(
                f"{self._who} does not answer ({error_text.words(error)}). "
                f"{where}"
            ) from error
        except ValueError as error:
            # Its text, which is not told, and not chained, quotes the token.
            kind = type(error).__name__
        raise errors.ManagementUnreachable(
            f"{self._who} can't be asked ({kind}): the kubeconfig's token "
            f"has to be one line of ASCII. It is {connection.server}"
        )

    def _connected(self) -> Transport:
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection


def _all_pages(
    ask: Callable[..., Any], params: dict[str, Any], take: Take[T]
) -> list[T]:
    found: list[T] = []
    while True:
        answer = ask(params=params)
        if answer is None:
            return []
        more, token = take(answer)
        found += more
        if not token:
            return found
        params = {**params, "continue": token}
