# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Reads and writes of objects on the management cluster.

Plain dictionaries in and out, the driver's own exceptions. Absent (None, an
empty list), unreadable (an exception) and whatever the object says are three
different answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import json
import threading
from typing import Any, Protocol, TypeAlias

from oslo_log import log
import requests

from magnum_capi_helm import exceptions
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import discovery
from magnum_capi_helm.management import kinds

LOG = log.getLogger(__name__)

Object: TypeAlias = dict[str, Any]
Objects: TypeAlias = list[dict[str, Any]]

#: Owner of the fields that the driver applies, as in 1.4.0.
FIELD_MANAGER = "magnum"

_PAGE = 250
_METADATA_ONLY = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)
_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"


class Transport(Protocol):
    """What carries a request: :class:`connection.Connection`."""

    server: str

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any: ...


class Client:
    """The management cluster, shared by all threads of a process.

    :param connect: makes the connection; called once, on first use
    :param pinned: versions that the operator chose, by kind
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        pinned: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._connection: Transport | None = None
        self._versions = discovery.Versions(
            lambda path: self._send("GET", path), pinned or {}
        )

    # Reading

    def get(
        self, kind: kinds.Kind, namespace: str, name: str
    ) -> Object | None:
        """The object, or None when there is none of that name."""
        answer = self._call("GET", kind, namespace, name)
        return None if answer is None else answers.body(answer)

    def list(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        selector: str = "",
        *,
        metadata_only: bool = False,
    ) -> list[Object]:
        """All objects that match, page by page.

        :param namespace: None for all namespaces
        :param selector: label selector
        :param metadata_only: leave spec, status and data away
        :returns: an empty list also for an optional kind that is not served
        """
        params: dict[str, Any] = {"limit": _PAGE}
        if selector:
            params["labelSelector"] = selector
        headers = {"Accept": _METADATA_ONLY} if metadata_only else {}
        try:
            return self._pages(kind, namespace, params, headers)
        except answers.ExpiredError:
            # The list changed too much between two pages: start again.
            return self._pages(kind, namespace, params, headers)

    def _pages(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        params: dict[str, Any],
        headers: dict[str, str],
    ) -> Objects:
        found: Objects = []
        while True:
            answer = self._call(
                "GET", kind, namespace, params=params, headers=headers
            )
            if answer is None:
                return []
            body = answers.body(answer)
            found += answers.items(body, kind)
            token = (body.get("metadata") or {}).get("continue")
            if not token:
                return found
            params = {**params, "continue": token}

    def api_version(self, kind: kinds.Kind) -> str:
        """``group/version`` to use for a kind; empty when none is served.

        :raises ManagementUnreachable: no answer
        """
        return self._versions.of(kind)

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
            headers={"Content-Type": _APPLY_PATCH},
        )

    def patch(
        self, kind: kinds.Kind, namespace: str, name: str, change: Object
    ) -> Object | None:
        """Merge ``change`` into the object; None when there is none."""
        answer = self._call(
            "PATCH",
            kind,
            namespace,
            name,
            data=json.dumps(change),
            headers={"Content-Type": _MERGE_PATCH},
        )
        return None if answer is None else answers.body(answer)

    def delete(self, kind: kinds.Kind, namespace: str, name: str) -> None:
        """Delete the object; that it is already gone is fine."""
        self._call(
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
        answer = self._call(
            method, kind, meta.get("namespace", ""), name, **options
        )
        if answer is None:
            raise exceptions.ManagementError(
                f"the management cluster has no {kind.plural}"
                f" or no namespace {meta.get('namespace')}"
            )
        return answers.body(answer)

    def _typed(self, kind: kinds.Kind, obj: Object) -> Object:
        return {
            "apiVersion": self.api_version(kind),
            "kind": kind.name,
            **obj,
        }

    def _call(
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
        """
        plural = self._versions.plural(kind)
        url = f"{plural}/{name}" if name else plural
        for _ in range(2):
            version = self.api_version(kind)
            if not version:
                break
            answer = self._send(
                method, version, url, namespace=namespace or None, **options
            )
            if not answers.is_unserved(answer):
                if answer.status_code == requests.codes.not_found:
                    return None
                what = f"{method} {kind.name} {name}".strip()
                answers.raise_for(answer, what)
                return answer
            self._versions.forget(kind)
        if kind.optional:
            return None
        raise exceptions.ManagementUnserved(
            f"the management cluster serves no {kind.name} of "
            f"{kind.group or 'the core group'}: is its provider installed?"
        )

    def _send(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        connection = self._connected()
        try:
            return connection.request(method, version, url, **options)
        except (requests.RequestException, OSError) as error:
            # OSError: a token, CA or key file of the kubeconfig is missing.
            raise exceptions.ManagementUnreachable(
                f"the management cluster {connection.server} does not answer"
                f" ({type(error).__name__})"
            ) from error

    def _connected(self) -> Transport:
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection
