# SPDX-License-Identifier: Apache-2.0

"""The client of the management cluster, without one.

The same methods as :class:`magnum_capi_helm.kubernetes.client.Client`. It
counts requests, and can be told to fail: for some verbs, kinds or names, a
number of times or until :meth:`FakeManagement.recover`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
import dataclasses
import json
import time
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import api_server

T = TypeVar("T")
#: ``list`` within the class is its method.
list_: TypeAlias = list[T]


#: Requests that change nothing.
READS = ("get", "list", "scan", "watch", "discover", "date", "dry-run")


#: Of the management cluster.
ADDRESS = "https://fake"


class Request(NamedTuple):
    """One request that was made."""

    verb: str
    kind: str
    name: str


@dataclasses.dataclass
class Fault:
    """An error, and the requests that meet it.

    :param times: how many of them; ``None``: all
    :param after: requests that succeed before
    """

    error: BaseException
    verbs: Collection[str]
    kind: kinds.Kind | None
    name: str
    times: int | None
    after: int = 0

    def hits(self, request: Request) -> bool:
        """Whether a request meets it."""
        return (
            self.times != 0
            and (not self.verbs or request.verb in self.verbs)
            and (self.kind is None or request.kind == self.kind.name)
            and self.name in request.name
        )


class Killed(BaseException):
    """The conductor was killed at this point: nothing after it happens."""


class FakeManagement:
    """Requests to an :class:`api_server.ApiServer`."""

    def __init__(self, server: api_server.ApiServer) -> None:
        self.server = server
        self.requests: list[Request] = []
        self.dead = False
        #: Kinds whose provider is not installed.
        self.unserved: set[kinds.Kind] = set()
        #: Kinds whose CRD was removed, and those of others in the group not.
        self.removed: set[kinds.Kind] = set()
        #: Versions of groups that are not served, as an object's
        #: ``apiVersion`` has them. CAPO 0.15 is the first with v1beta2.
        self.retired = {"infrastructure.cluster.x-k8s.io/v1beta2"}
        #: What RBAC refuses, as check spells it.
        self.refused: set[str] = set()
        #: Seconds by which its clock is ahead of this host's; None: it tells
        #: no date.
        self.clock_ahead: float | None = 0.0
        #: What of the kubeconfig ends, or why it can't be used.
        self.kubeconfig: tuple[kubeconfig.Expiry, ...] | Exception = ()
        self._warnings: set[str] = set()
        #: Called before each request.
        self.before: Callable[[], None] = lambda: None
        self._faults: list[Fault] = []

    # Faults

    def fail(
        self,
        error: BaseException,
        *,
        verbs: Collection[str] = (),
        kind: kinds.Kind | None = None,
        name: str = "",
        times: int | None = None,
    ) -> None:
        """Raise ``error`` for requests that match, ``times`` times.

        :param verbs: names of methods; empty for all
        :param name: part of the object's name
        """
        self._faults.append(Fault(error, verbs, kind, name, times))

    def unreachable(self, times: int | None = None) -> None:
        """No answer from the API server."""
        error = errors.ManagementUnreachable(
            "the management cluster does not answer (ConnectTimeout)",
            detail=f"It is {ADDRESS}",
        )
        self.fail(error, times=times)

    def kill_before(
        self, verb: str, kind: kinds.Kind, name: str = "", after: int = 0
    ) -> None:
        """Kill the conductor when it is about to make such a request.

        :param after: such requests that succeed before
        """
        self._faults.append(Fault(Killed(), (verb,), kind, name, 1, after))

    def recover(self) -> None:
        """No faults any more; a killed conductor has started again."""
        self.dead = False
        self._faults.clear()

    @property
    def answers(self) -> bool:
        """Whether a request that nobody singled out gets an answer."""
        probe = Request("", "", "")
        return not any(fault.hits(probe) for fault in self._faults)

    # The client's methods

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        """As the real one."""
        if isinstance(self.kubeconfig, Exception):
            raise self.kubeconfig
        return self.kubeconfig

    def warn_once(self, text: str, *arguments: object) -> None:
        """As the real one."""
        if text not in self._warnings:
            self._warnings.add(text)
            client.LOG.warning(text, *arguments)

    def date(self) -> float | None:
        """As the real one."""
        self._request("date", kinds.Kind("Version", "", ()))
        if self.clock_ahead is None:
            return None
        return float(int(time.time() + self.clock_ahead))

    def get(
        self, kind: kinds.Kind, namespace: str, name: str
    ) -> client.Object | None:
        """As the real one."""
        self._request("get", kind, name)
        if self._is_retired(kind):
            return None
        return self.server.get(kind, namespace, name)

    def list(
        self,
        kind: kinds.Kind,
        namespace: str | None,
        selector: str = "",
        *,
        metadata_only: bool = False,
    ) -> list[client.Object]:
        """As the real one."""
        self._request("list", kind)
        found = self.server.list(kind, namespace, selector)
        if not metadata_only:
            return found
        kept = ("apiVersion", "kind", "metadata")
        return [{key: each[key] for key in kept} for each in found]

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
    ) -> tuple[list_[T], str]:
        """As the real one, from the same JSON; fields select nothing."""
        found = self.list(
            kind, namespace, selector, metadata_only=metadata_only
        )
        raws = [msgspec.Raw(json.dumps(each).encode()) for each in found]
        return [convert(each) for each in raws], ""

    def watch(
        self,
        kind: kinds.Kind,
        selector: str,
        version: str,
        *,
        metadata_only: bool = False,
    ) -> Iterator[bytes]:
        """As a real one that has just started: it knows of no change."""
        self._request("watch", kind)
        raise responses.ExpiredError("too old resource version (410)")

    def api_version(self, kind: kinds.Kind) -> str:
        """The preferred version; none while the kind is not served."""
        served = (
            "/".join(filter(None, (kind.group, each)))
            for each in kind.versions
            if kind not in self.unserved
        )
        return next((e for e in served if e not in self.retired), "")

    def expect(self, kind: kinds.Kind) -> None:
        """As the real one."""
        if kind in self.unserved:
            raise _unserved(kind)

    def served(self, group: str) -> dict[str, frozenset[str]]:
        """As the real one."""
        self._request("discover", kinds.Kind("APIGroup", group, ()), group)
        return self.mapped(group)

    def mapped(self, group: str) -> dict[str, frozenset[str]]:
        """Versions by kind; no request is made for it."""
        found = {}
        for kind in (*kinds.ALL, *kinds.PLAIN):
            gone = self.unserved | self.removed
            if kind.group == group and kind not in gone:
                found[kind.name] = frozenset(
                    each
                    for each in kind.versions
                    if f"{group}/{each}" not in self.retired
                )
        return {kind: versions for kind, versions in found.items() if versions}

    def identity(self) -> str:
        """Return the UID of its kube-system."""
        namespace = self.server.get(kinds.NAMESPACE, "", "kube-system")
        return str(namespace["metadata"]["uid"]) if namespace else ""

    def create(
        self, kind: kinds.Kind, obj: client.Object, *, dry_run: bool = False
    ) -> client.Object:
        """As the real one; a dry run is a verb of its own."""
        verb = "dry-run" if dry_run else "create"
        self._request(verb, kind, obj["metadata"].get("name", ""))
        if dry_run:
            return obj
        if self._is_retired(kind):
            raise errors.ManagementError(f"no {kind.plural} or no namespace")
        if kind.name == "SelfSubjectAccessReview":
            return self._review(obj)
        return self.server.create(kind, obj)

    def _review(self, obj: client.Object) -> client.Object:
        asked = obj["spec"]["resourceAttributes"]
        resource = "/".join(
            filter(None, (asked["resource"], asked["subresource"]))
        )
        where = ".".join(filter(None, (resource, asked["group"])))
        allowed = f"{asked['verb']} {where}" not in self.refused
        return {**obj, "status": {"allowed": allowed}}

    def replace(self, kind: kinds.Kind, obj: client.Object) -> client.Object:
        """As the real one."""
        self._request("replace", kind, obj["metadata"]["name"])
        return self.server.replace(kind, obj)

    def apply(self, kind: kinds.Kind, obj: client.Object) -> client.Object:
        """As the real one."""
        self._request("apply", kind, obj["metadata"]["name"])
        return self.server.apply(kind, obj)

    def patch(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        change: client.Object,
        *,
        dry_run: bool = False,
    ) -> client.Object | None:
        """As the real one; a dry run is a verb of its own."""
        self._request("dry-run" if dry_run else "patch", kind, name)
        if dry_run:
            live = self.server.get(kind, namespace, name)
            api_server.check_version(live or {}, change)
            return live
        return self.server.patch(kind, namespace, name, change)

    def delete(self, kind: kinds.Kind, namespace: str, name: str) -> None:
        """As the real one."""
        self._request("delete", kind, name)
        self.server.delete(kind, namespace, name)

    def _request(self, verb: str, kind: kinds.Kind, name: str = "") -> None:
        if self.dead:
            raise Killed
        self.before()
        if verb not in READS:
            call.check_lease()
        request = Request(verb, kind.name, name)
        self.requests.append(request)
        for fault in self._faults:
            if fault.hits(request):
                if fault.after:
                    fault.after -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                self.dead = isinstance(fault.error, Killed)
                raise fault.error
        if kind.versions and not kind.optional and self._is_retired(kind):
            raise _unserved(kind)

    def _is_retired(self, kind: kinds.Kind) -> bool:
        """Return whether no version that the driver asks for is served."""
        names = {f"{kind.group}/{each}" for each in kind.versions}
        return names <= self.retired


def _unserved(kind: kinds.Kind) -> errors.ManagementUnserved:
    return errors.ManagementUnserved(
        f"the management cluster serves no {kind.name} of {kind.group}"
    )
