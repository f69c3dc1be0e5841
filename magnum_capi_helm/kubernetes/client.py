# SPDX-License-Identifier: Apache-2.0

"""Client of the API of one management cluster.

Objects are plain dictionaries; errors are the driver's own exceptions. An
object that does not exist (None, an empty list), an object that cannot be
read (an exception) and the content of an object are three different answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import functools
import json
import threading
import time
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
from oslo_log import log
import requests

from magnum_capi_helm.kubernetes import discovery
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)

Object: TypeAlias = dict[str, Any]
T = TypeVar("T")
#: ``list`` within Client is its method.
_List: TypeAlias = list[T]

#: Owner of the fields that the driver applies, as in 1.4.0.
FIELD_MANAGER = "magnum"

# https://kubernetes.io/docs/reference/using-api/api-concepts/
_METADATA_LIST = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_DRY_RUN: dict[str, Any] = {"params": {"dryRun": "All"}}
_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"

#: Objects in one page of a LIST. A busy API server has ten seconds for one
#: (``api_read_timeout``), and 200 Machines are 3 MB.
_PAGE = 200

#: Seconds between tries of a request.
PAUSES = (0.2, 1.0)
#: Longest pause that the API server may ask for, in seconds.
_LONGEST_PAUSE = 5.0
#: No try begins later than this many seconds after the first.
RETRY_LIMIT = 12.0
_TEMPORARY = frozenset({429, 500, 502, 503, 504})


class Transport(Protocol):
    """Sends requests: a connection of ``connection.py``."""

    server: str

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any: ...

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]: ...


class Client:
    """The management cluster, shared by all threads of a process.

    :param connect: makes the connection; called once, on first use
    :param pinned: versions that the operator chose, by kind
    :param name: name of the management cluster, if there are several
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        pinned: Mapping[str, Mapping[str, str]] | None = None,
        name: str = "",
    ) -> None:
        self._title = f"the management cluster {name}".rstrip()
        self._connect = connect
        self._lock = threading.Lock()
        self._connection: Transport | None = None
        self._versions = discovery.ServedVersions(
            functools.partial(self._send, "GET"), pinned or {}
        )
        self._warnings: set[str] = set()

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        """Return when the kubeconfig's credentials expire.

        Reads files only; sends no request.

        :raises NotConfigured: the kubeconfig can't be used
        """
        return self._connected().expiries()

    def date(self) -> float | None:
        """Return the API server's time in whole seconds since 1970.

        :returns: None when the answer has no date
        :raises ManagementUnreachable: no answer
        """
        return responses.date(self._send("GET", "/version"))

    def warn_once(self, text: str, *arguments: object) -> None:
        """Log a warning that this client has not logged before.

        :param text: as for a logger; identifies the warning
        """
        if text not in self._warnings:
            self._warnings.add(text)
            LOG.warning(text, *arguments)

    # Discovery

    def api_version(self, kind: kinds.Kind) -> str:
        """Return the ``group/version`` to use for a kind; "" when unserved.

        :raises ManagementUnreachable: no answer
        """
        return self._versions.choose(kind)

    def expect(self, kind: kinds.Kind) -> None:
        """Check that a kind is served.

        :raises ManagementUnserved: it is not, at least for now
        :raises ManagementUnreachable: no answer
        """
        if not self.api_version(kind):
            raise self._unserved(kind)

    def served(self, group: str) -> dict[str, frozenset[str]]:
        """Return the versions of each kind that a group serves now.

        :param group: empty for the core group
        :returns: empty for a group that is not served
        :raises ManagementUnreachable: no answer
        """
        return self._versions.read_group(group)

    # Reading

    def get(
        self, kind: kinds.Kind, namespace: str, name: str
    ) -> Object | None:
        """Return an object, or None when there is none of that name."""
        answer = self._call("GET", kind, namespace, name)
        return None if answer is None else responses.body(answer)

    def list(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        selector: str = "",
        *,
        metadata_only: bool = False,
    ) -> _List[Object]:
        """Return all objects that match, page by page.

        :param namespace: None for all namespaces
        :param selector: label selector
        :param metadata_only: without spec, status and data
        :returns: an empty list also for an optional kind that is not served
        """

        def convert(raw: msgspec.Raw) -> Object:
            obj: Object = responses.decoded(responses.decode_json, raw)
            # The API server leaves both out of the items.
            return self._typed(kind, obj)

        return self.scan(
            kind, namespace, selector, convert, metadata_only=metadata_only
        )[0]

    def scan(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        selector: str,
        convert: Callable[[msgspec.Raw], T],
        *,
        fields: str = "",
        metadata_only: bool = False,
        cached: bool = False,
    ) -> tuple[_List[T], str]:
        """List objects, convert each of them, and return the list's version.

        :param convert: gets the JSON of an object; a page is dropped when
            its objects are converted
        :param fields: field selector
        :param cached: read from the API server's cache, which may be a
            moment old; all in one page
        """
        # The cache serves no pages: it would read from etcd.
        params: dict[str, Any] = (
            {"resourceVersion": "0"} if cached else {"limit": _PAGE}
        )
        if selector:
            params["labelSelector"] = selector
        if fields:
            params["fieldSelector"] = fields
        # Compression costs both sides more than the network does.
        headers = {"Accept-Encoding": "identity"}
        if metadata_only:
            headers["Accept"] = _METADATA_LIST
        ask = functools.partial(
            self._call, "GET", kind, namespace, headers=headers
        )
        try:
            return _all_pages(ask, params, convert)
        except responses.ExpiredError:
            # The list changed too much between two pages: start again.
            return _all_pages(ask, params, convert)

    def watch(
        self,
        kind: kinds.Kind,
        selector: str,
        version: str,
        *,
        metadata_only: bool = False,
    ) -> Iterator[bytes]:
        """Return the changes in all namespaces since ``version``.

        The API server ends the watch after a second.

        :returns: events, as JSON
        :raises ExpiredError: ``version`` is too old: list the objects again
        """
        # The whole answer is read at once, so the connection is reused.
        answer = self._call(
            "GET",
            kind,
            None,
            params={
                "watch": "true",
                "timeoutSeconds": 1,
                "allowWatchBookmarks": "true",
                "resourceVersion": version,
                "labelSelector": selector,
            },
            headers={"Accept": _METADATA} if metadata_only else {},
        )
        if answer is None:
            raise responses.ExpiredError(f"{kind.name} is not served any more")
        return iter(answer.content.splitlines())

    # Writing

    def create(
        self, kind: kinds.Kind, obj: Object, *, dry_run: bool = False
    ) -> Object:
        """Create ``obj``.

        :param dry_run: call all webhooks but write nothing
        :raises Conflict: an object of that name exists
        """
        return self._write(
            "POST",
            kind,
            obj,
            json=self._typed(kind, obj),
            **(_DRY_RUN if dry_run else {}),
        )

    def replace(self, kind: kinds.Kind, obj: Object) -> Object:
        """Replace ``obj`` if it has not changed since it was read.

        :raises Conflict: it has changed
        """
        return self._write(
            "PUT", kind, obj, named=True, json=self._typed(kind, obj)
        )

    def apply(self, kind: kinds.Kind, obj: Object) -> Object:
        """Apply ``obj`` on the server and take over fields of others."""
        return self._write(
            "PATCH",
            kind,
            obj,
            named=True,
            data=json.dumps(self._typed(kind, obj)),
            params={"fieldManager": FIELD_MANAGER, "force": "true"},
            headers={"Content-Type": _APPLY_PATCH},
        )

    def patch(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        change: Object,
        *,
        dry_run: bool = False,
    ) -> Object | None:
        """Merge ``change`` into an object; return None if there is none.

        :param dry_run: call all webhooks but write nothing
        """
        answer = self._call(
            "PATCH",
            kind,
            namespace,
            name,
            data=json.dumps(change),
            **(_DRY_RUN if dry_run else {}),
            headers={"Content-Type": _MERGE_PATCH},
        )
        return None if answer is None else responses.body(answer)

    def delete(self, kind: kinds.Kind, namespace: str, name: str) -> None:
        """Delete an object, if it exists."""
        self._call(
            "DELETE",
            kind,
            namespace,
            name,
            json={"propagationPolicy": "Background"},
        )

    # Requests

    def _write(
        self,
        method: str,
        kind: kinds.Kind,
        obj: Object,
        *,
        named: bool = False,
        **options: Any,
    ) -> Object:
        namespace = obj["metadata"].get("namespace", "")
        name = obj["metadata"]["name"] if named else ""
        answer = self._call(method, kind, namespace, name, **options)
        if answer is None:
            raise errors.ManagementError(
                f"{self._title} has no {kind.plural} or no namespace "
                f"{namespace}"
            )
        return responses.body(answer)

    def _typed(self, kind: kinds.Kind, obj: Object) -> Object:
        return {"apiVersion": self.api_version(kind), "kind": kind.name} | obj

    def _call(
        self,
        method: str,
        kind: kinds.Kind,
        namespace: str | None,
        name: str = "",
        **options: Any,
    ) -> Any:
        """Return the answer, or None when there is no such object.

        A path that is not served may have moved to another version: the
        group is discovered again, once.

        :raises ManagementUnserved: a kind that must exist is not served, at
            least for now
        :raises LeaseLost: the request would write, and another conductor
            has taken the Lease
        """
        url = f"{self._versions.plural(kind)}/{name}".rstrip("/")
        for _ in range(2):
            version = self.api_version(kind)
            if not version:
                break
            answer = self._send(
                method, version, url, namespace=namespace or None, **options
            )
            if not responses.is_unserved(answer):
                if answer.status_code == requests.codes.not_found:
                    return None
                request = f"{method} {kind.name} {name}".strip()
                responses.raise_for(answer, request, self._title)
                return answer
            self._versions.forget(kind)
        if kind.optional:
            return None
        raise self._unserved(kind)

    def _unserved(self, kind: kinds.Kind) -> errors.ManagementUnserved:
        group = kind.group or "the core group"
        return errors.ManagementUnserved(
            f"{self._title} serves no {kind.name}: the provider that has it "
            "is not installed there, or this is not the management cluster "
            f"that was meant. Its API group is {group}"
        )

    def _send(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        """Send a request, with retries, and translate failures."""
        connection = self._connected()
        asks = method == "GET" or options.get("params") == _DRY_RUN["params"]

        def ask() -> Any:
            # The process may have been stopped before this try.
            if not asks:
                call.check_lease()
            return connection.request(method, version, url, **options)

        address = f"It is {connection.server}"
        try:
            return with_retries(ask)
        except kubeconfig.PluginError as error:
            raise errors.ManagementUnreachable(
                f"{self._title} can't be asked",
                detail=f"{address}; {error}",
            ) from error
        except (requests.RequestException, OSError) as error:
            # OSError: a token, CA or key file of the kubeconfig is missing.
            if untrusted := errors.certificate_problem(error):
                raise responses.UntrustedError(
                    f"the certificate of {self._title} is not trusted, and "
                    "nothing was sent",
                    detail="Check server and certificate-authority-data of "
                    f"the kubeconfig. {address}: {untrusted}",
                ) from error
            raise errors.ManagementUnreachable(
                f"{self._title} does not answer ({errors.reason(error)})",
                detail=address,
            ) from error
        except ValueError as error:
            # The text of this error quotes the token: it is neither shown
            # nor chained.
            problem = type(error).__name__
        raise errors.ManagementUnreachable(
            f"{self._title} can't be asked ({problem})",
            detail="The kubeconfig's token has to be one line of ASCII. "
            f"{address}",
        )

    def _connected(self) -> Transport:
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection


def _all_pages(
    ask: Callable[..., Any],
    params: dict[str, Any],
    convert: Callable[[msgspec.Raw], T],
) -> tuple[list[T], str]:
    items: list[T] = []
    while (answer := ask(params=params)) is not None:
        page = responses.decoded(responses.decode_page, answer.content)
        items += map(convert, page.items or ())
        if not page.metadata.token:
            return items, page.metadata.resource_version
        params = {**params, "continue": page.metadata.token}
    return [], ""


def with_retries(
    ask: Callable[[], Any],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Any:
    """Return the answer to ``ask``, which is called three times at most.

    Nothing else repeats requests: requests, urllib3 and pykube send each one
    once. An API server that restarts cuts connections and answers 503 for a
    moment; an overloaded one answers 429 with ``Retry-After``. client-go
    repeats requests in the same cases (``rest/with_retry.go``).

    Reads, patches of whole values and deletions can be repeated. The API
    server answers 409 to the second creation or replacement of an object; the
    caller then checks whether the object is its own.

    :param clock: monotonic seconds
    :raises requests.RequestException: as the last try
    """
    end = clock() + RETRY_LIMIT
    for pause in PAUSES:
        try:
            answer = ask()
        except requests.RequestException as error:
            if _is_lasting(error) or clock() + pause > end:
                raise
        else:
            if answer.status_code not in _TEMPORARY:
                return answer
            pause = _requested_pause(answer, pause)
            if clock() + pause > end:
                return answer
        sleep(pause)
    return ask()


def _is_lasting(error: requests.RequestException) -> bool:
    """Return whether another try would take long or fail the same way."""
    return isinstance(error, requests.Timeout) or bool(
        errors.certificate_problem(error)
    )


def _requested_pause(answer: Any, pause: float) -> float:
    """Return the seconds that the API server asks for, within reason."""
    try:
        seconds = float(answer.headers.get("Retry-After", pause))
    except (AttributeError, ValueError):
        return pause
    return min(max(seconds, pause), _LONGEST_PAUSE)
