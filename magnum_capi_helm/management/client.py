# SPDX-License-Identifier: Apache-2.0

"""Reads and writes of objects on the management cluster.

Plain dictionaries in and out, the driver's own exceptions. Absent (None, an
empty list), unreadable (an exception) and whatever the object says are three
different answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import json
from typing import Any, TypeAlias, TypeVar

from magnum_capi_helm.management import answers
from magnum_capi_helm.management import calls
from magnum_capi_helm.management import endings
from magnum_capi_helm.management import items
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import media_types
from magnum_capi_helm.model import errors

Object: TypeAlias = dict[str, Any]
Objects: TypeAlias = list[dict[str, Any]]
T = TypeVar("T")
#: Of any type. Client's own ``list`` hides the name within it.
Some: TypeAlias = list[T]

#: Owner of the fields that the driver applies, as in 1.4.0.
FIELD_MANAGER = "magnum"

#: Objects in one page of a LIST. A busy API server has ten seconds for one
#: (``api_read_timeout``), and 200 Machines are 3 MB.
_PAGE = 200


class Client:
    """The management cluster, shared by all threads of a process.

    :param connect: makes the connection; called once, on first use
    :param pinned: versions that the operator chose, by kind
    :param name: what the operator calls it, of several
    """

    def __init__(
        self,
        connect: Callable[[], calls.Transport],
        pinned: Mapping[str, Mapping[str, str]] | None = None,
        name: str = "",
    ) -> None:
        self._called = f"the management cluster {name}".rstrip()
        self._calls = calls.Calls(connect, pinned or {}, self._called)
        #: Kinds that the kubeconfig's user may not read, as the log says.
        self.unreadable: set[str] = set()

    def ends(self) -> tuple[endings.Ending, ...]:
        """What of the kubeconfig ends, and when. Asks nobody.

        :raises NotConfigured: the kubeconfig can't be used
        """
        return self._calls.ends()

    def date(self) -> float | None:
        """What the clock of the API server says, in whole seconds since 1970.

        :returns: None when it does not say
        :raises ManagementUnreachable: no answer
        """
        return self._calls.date()

    # Reading

    def get(
        self, kind: kinds.Kind, namespace: str, name: str
    ) -> Object | None:
        """The object, or None when there is none of that name."""
        answer = self._calls.call("GET", kind, namespace, name)
        return None if answer is None else answers.body(answer)

    def list(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        selector: str = "",
        *,
        metadata_only: bool = False,
    ) -> Objects:
        """All objects that match, page by page.

        :param namespace: None for all namespaces
        :param selector: label selector
        :param metadata_only: leave spec, status and data away
        :returns: an empty list also for an optional kind that is not served
        """
        params: dict[str, Any] = {"limit": _PAGE}
        if selector:
            params["labelSelector"] = selector
        headers = (
            {"Accept": media_types.METADATA_LIST} if metadata_only else {}
        )

        def take(answer: Any) -> tuple[Objects, str]:
            body = answers.body(answer)
            token = (body.get("metadata") or {}).get("continue") or ""
            return answers.items(body, kind), token

        return self._calls.pages(kind, namespace, params, headers, take)

    def scan(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        selector: str,
        take: Callable[[bytes], tuple[Some[T], str]],
        *,
        metadata_only: bool = False,
        cached: bool = False,
    ) -> Some[T]:
        """As :meth:`list`, with what ``take`` makes of each page.

        :param take: returns what it found, and what asks for the next page
        :param cached: take what the API server has in memory, which may be
            a moment old; all in one page
        """
        # Its memory is all that it would do to read it again page by page.
        params: dict[str, Any] = (
            {"resourceVersion": "0"} if cached else {"limit": _PAGE}
        )
        params["labelSelector"] = selector
        # Packing and unpacking costs both sides more than the network does.
        headers = {"Accept-Encoding": "identity"}
        if metadata_only:
            headers["Accept"] = media_types.METADATA_LIST

        def taken(answer: Any) -> tuple[Some[T], str]:
            return take(answer.content)

        return self._calls.pages(kind, namespace, params, headers, taken)

    def watch(
        self,
        kind: kinds.Kind,
        selector: str,
        version: str,
        *,
        metadata_only: bool = False,
    ) -> Iterator[items.Event]:
        """What changed in all namespaces since ``version``, in one second.

        :raises ExpiredError: that is too long ago: list it anew
        """
        # It is read at once: the server ends it, and the connection lives on.
        answer = self._calls.call(
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
            headers={"Accept": media_types.METADATA} if metadata_only else {},
        )
        if answer is None:
            raise answers.ExpiredError(f"no {kind.name} is served any more")
        return map(items.Event, answer.content.splitlines())

    def api_version(self, kind: kinds.Kind) -> str:
        """``group/version`` to use for a kind; empty when none is served.

        :raises ManagementUnreachable: no answer
        """
        return self._calls.version(kind)

    def expect(self, kind: kinds.Kind) -> None:
        """Look whether a kind is served.

        :raises ManagementUnserved: it is not, at least for now
        """
        self._calls.expect(kind)

    def served(self, group: str) -> dict[str, frozenset[str]]:
        """Versions by kind, of all that a group serves at this moment.

        :returns: nothing for a group that is not served; "" is the core one
        :raises ManagementUnreachable: no answer
        """
        return self._calls.served(group)

    def identity(self) -> str:
        """UID of ``kube-system``: one management cluster, one identity.

        :raises ManagementUnreachable: no answer
        """
        found = self.get(kinds.NAMESPACE, "", "kube-system")
        return str(found["metadata"]["uid"]) if found else ""

    # Writing

    def create(self, kind: kinds.Kind, obj: Object) -> Object:
        """Create ``obj``.

        :raises Conflict: an object of that name exists
        """
        return self._write("POST", kind, obj, json=self._typed(kind, obj))

    def replace(self, kind: kinds.Kind, obj: Object) -> Object:
        """Replace ``obj``, as it was when it was read.

        :raises Conflict: it changed since
        """
        return self._write(
            "PUT", kind, obj, named=True, json=self._typed(kind, obj)
        )

    def apply(
        self, kind: kinds.Kind, obj: Object, *, dry_run: bool = False
    ) -> Object:
        """Server-side apply: idempotent, and ours against any other.

        :param dry_run: ask all webhooks, and write nothing
        """
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        if dry_run:
            params["dryRun"] = "All"
        return self._write(
            "PATCH",
            kind,
            obj,
            named=True,
            data=json.dumps(self._typed(kind, obj)),
            params=params,
            headers={"Content-Type": media_types.APPLY_PATCH},
        )

    def patch(
        self, kind: kinds.Kind, namespace: str, name: str, change: Object
    ) -> Object | None:
        """Merge ``change`` into the object; None when there is none."""
        answer = self._calls.call(
            "PATCH",
            kind,
            namespace,
            name,
            data=json.dumps(change),
            headers={"Content-Type": media_types.MERGE_PATCH},
        )
        return None if answer is None else answers.body(answer)

    def delete(self, kind: kinds.Kind, namespace: str, name: str) -> None:
        """Delete the object; that it is already gone is fine."""
        self._calls.call(
            "DELETE",
            kind,
            namespace,
            name,
            json={"propagationPolicy": "Background"},
        )

    # Below

    def _write(
        self,
        method: str,
        kind: kinds.Kind,
        obj: Object,
        *,
        named: bool = False,
        **options: Any,
    ) -> Object:
        meta = obj["metadata"]
        name = meta["name"] if named else ""
        answer = self._calls.call(
            method, kind, meta.get("namespace", ""), name, **options
        )
        if answer is None:
            where = f"namespace {meta.get('namespace')}"
            raise errors.ManagementError(
                f"{self._called} has no {kind.plural} or no {where}"
            )
        return answers.body(answer)

    def _typed(self, kind: kinds.Kind, obj: Object) -> Object:
        return {
            "apiVersion": self.api_version(kind),
            "kind": kind.name,
            **obj,
        }
