# SPDX-License-Identifier: Apache-2.0
"""Kubernetes APIs to talk to in tests: scripted ones, one with a memory."""

from __future__ import annotations

from collections.abc import Callable
import copy
import json
import threading
from typing import Any

import fixtures
import requests
import testtools

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.tests.fakes import api_server


class Answer:
    """An answer as the client reads it."""

    def __init__(self, status: int, body: Any = None, text: str = "") -> None:
        self.status_code = status
        self.reason = text or f"reason {status}"
        self._body = body

    @property
    def content(self) -> bytes:
        """The body as it came."""
        if isinstance(self._body, str):
            return self._body.encode()
        return json.dumps(self._body).encode()

    def json(self) -> Any:
        """The body; text that is none raises, as requests' does."""
        if isinstance(self._body, str):
            return json.loads(self._body)
        return copy.deepcopy(self._body)


def status(code: int, message: str = "no") -> Answer:
    """A refusal, as Kubernetes words it: with details of the object."""
    body = {"kind": "Status", "message": message, "code": code}
    return Answer(code, {**body, "details": {"name": "s", "kind": "secrets"}})


def unserved() -> Answer:
    """What is answered for a version or kind that is not served."""
    return Answer(404, "404 page not found", "Not Found")


def no_pauses(case: testtools.TestCase) -> None:
    """Let requests of a test be repeated without a pause."""
    case.useFixture(fixtures.MockPatchObject(client, "PAUSES", (0.0, 0.0)))


def group(*versions: str) -> Answer:
    """What discovery says of a group."""
    return Answer(200, {"versions": [{"version": each} for each in versions]})


class Scripted:
    """Answers one after the other and keeps what was asked.

    An exception in the script is raised.
    """

    server = "https://management.example.org"

    def __init__(self, *script: Answer | Exception) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, str]] = []
        self.options: list[dict[str, Any]] = []

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        """Its kubeconfig is good for ever."""
        return ()

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        namespace = options.pop("namespace", None)
        path = [version, *(["in", namespace] if namespace else []), url]
        self.asked.append((method, " ".join(filter(None, path))))
        self.options.append(options)
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Memory:
    """Keeps objects, with the conflicts of a real API server.

    :param served: versions by group
    """

    server = "https://management.example.org"

    def __init__(self, **served: tuple[str, ...]) -> None:
        self._lock = threading.Lock()
        self._objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._version = 0
        self.served = served
        #: Called with method and path before each answer.
        self.before: Callable[[str, str], None] = lambda method, path: None
        #: Methods whose next request is served, and its answer lost.
        self.unheard: set[str] = set()

    def client(self) -> client.Client:
        return client.Client(lambda: self)

    def expiries(self) -> tuple[kubeconfig.Expiry, ...]:
        """Its kubeconfig is good for ever."""
        return ()

    def put(self, plural: str, obj: dict[str, Any]) -> dict[str, Any]:
        """Store an object, whatever was there."""
        meta = obj["metadata"]
        key = (plural, meta.get("namespace", ""), meta["name"])
        with self._lock:
            return self._store(key, obj)

    def find(
        self, plural: str, namespace: str, name: str
    ) -> dict[str, Any] | None:
        with self._lock:
            return copy.deepcopy(self._objects.get((plural, namespace, name)))

    def request(
        self, method: str, version: str, url: str = "", **options: Any
    ) -> Any:
        self.before(method, url or version)
        if version.startswith("/apis/"):
            name = version.removeprefix("/apis/").split(".")[0]
            found = self.served.get(name)
            return group(*found) if found else unserved()
        plural, _, name = url.partition("/")
        namespace = options.get("namespace") or ""
        with self._lock:
            if method == "GET" and not name:
                return self._list(plural, namespace, options, version)
            answer = self._one(method, (plural, namespace, name), options)
        if method in self.unheard:
            self.unheard.remove(method)
            raise requests.ConnectionError("cut")
        return answer

    def _list(
        self,
        plural: str,
        namespace: str,
        options: dict[str, Any],
        version: str,
    ) -> Answer:
        selector = options["params"].get("labelSelector", "")
        items = [
            {"apiVersion": version, **each}
            for (kind, place, _), each in sorted(self._objects.items())
            if kind == plural
            and namespace in ("", place)
            and api_server.matches(
                selector, each["metadata"].get("labels", {})
            )
        ]
        meta = {"resourceVersion": str(self._version)}
        page = {"apiVersion": version, "metadata": meta, "items": items}
        return Answer(200, page)

    def _one(
        self, method: str, key: tuple[str, str, str], options: dict[str, Any]
    ) -> Answer:
        sent = options.get("json") or json.loads(options.get("data") or "{}")
        if method == "POST":
            key = (*key[:2], sent["metadata"]["name"])
            if key in self._objects:
                return status(409, "already exists")
            return Answer(201, self._store(key, sent))
        live = self._objects.get(key)
        if live is None:
            return status(404)
        if method == "PUT":
            read = sent["metadata"].get("resourceVersion")
            if read != live["metadata"]["resourceVersion"]:
                return status(409, "the object has been modified")
            return Answer(200, self._store(key, sent))
        if method == "PATCH":
            api_server.merge(live, sent)
            return Answer(200, self._store(key, live))
        if method == "DELETE":
            del self._objects[key]
        return Answer(200, live)

    def _store(
        self, key: tuple[str, str, str], obj: dict[str, Any]
    ) -> dict[str, Any]:
        self._version += 1
        kept = copy.deepcopy(obj)
        kept["metadata"]["resourceVersion"] = str(self._version)
        self._objects[key] = kept
        return kept


def over(
    *script: Answer | Exception, **pinned: Any
) -> tuple[client.Client, Scripted]:
    """A client that is answered by a script."""
    transport = Scripted(*script)
    return client.Client(lambda: transport, pinned), transport
