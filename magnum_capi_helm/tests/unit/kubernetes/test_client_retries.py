# SPDX-License-Identifier: Apache-2.0

"""The one place where requests to the management cluster are repeated."""

from __future__ import annotations

from collections.abc import Callable
import ssl
from typing import Any

from oslotest import base
import requests

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.unit.kubernetes import api
from magnum_capi_helm.tests.unit.kubernetes import server


class _Answer:
    def __init__(self, status: int, again: str = "") -> None:
        self.status_code = status
        self.headers = {"Retry-After": again} if again else {}


class _Slow:
    """Answers 503, each time after some seconds; pauses take no time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._now = 0.0

    def ask(self) -> _Answer:
        self._now += self._seconds
        return _Answer(503)

    def clock(self) -> float:
        return self._now


_CUT = requests.ConnectionError("cut")


def _untrusted() -> requests.RequestException:
    cause = ssl.SSLCertVerificationError()
    cause.verify_message = "unable to get local issuer certificate"
    error = requests.exceptions.SSLError("untrusted")
    error.__cause__ = cause
    return error


#: What happens, pauses, how it ends: a status, or what is raised.
_ROWS: tuple[tuple[list[Any], list[float], Any], ...] = (
    ([200], [], 200),
    ([_CUT, 200], [0.2], 200),
    ([_CUT, _CUT, 200], [0.2, 1.0], 200),
    ([503, 429, 200], [0.2, 1.0], 200),
    ([500, 502, 504], [0.2, 1.0], 504),
    ([_CUT, 503, _CUT], [0.2, 1.0], requests.ConnectionError),
    # What the server asks for, within reason.
    ([(429, "3"), 200], [3.0], 200),
    ([(429, "0"), 200], [0.2], 200),
    ([(429, "3600"), 200], [5.0], 200),
    ([(429, "tomorrow"), 200], [0.2], 200),
    # A refusal stays one.
    *(([code], [], code) for code in (403, 404, 409)),
    # Who waited long has waited enough.
    ([requests.ReadTimeout("late")], [], requests.ReadTimeout),
    ([requests.ConnectTimeout("late")], [], requests.ConnectTimeout),
    # Another try shows the same certificate.
    ([_untrusted()], [], requests.exceptions.SSLError),
)

#: Seconds that each answer takes, pauses: no try begins later than LIMIT.
_SLOW_ROWS: tuple[tuple[float, list[float]], ...] = (
    (1.0, [0.2, 1.0]),
    (5.0, [0.2, 1.0]),
    (7.0, [0.2]),
    (client.RETRY_LIMIT, []),
)

_OBJECT = {"metadata": {"name": "s", "namespace": "ns"}}

#: Each kind of request that the client makes.
_CALLS: dict[str, Callable[[client.Client], object]] = {
    "get": lambda asked: asked.get(kinds.SECRET, "ns", "s"),
    "list": lambda asked: asked.list(kinds.SECRET, "ns"),
    "scan": lambda asked: asked.scan(
        kinds.SECRET, "ns", "", bytes, cached=True
    ),
    "watch": lambda asked: asked.watch(kinds.SECRET, "", "1"),
    "discovery": lambda asked: asked.served("cluster.x-k8s.io"),
    "create": lambda asked: asked.create(kinds.SECRET, _OBJECT),
    "replace": lambda asked: asked.replace(kinds.SECRET, _OBJECT),
    "apply": lambda asked: asked.apply(kinds.SECRET, _OBJECT),
    "patch": lambda asked: asked.patch(kinds.SECRET, "ns", "s", {}),
    "delete": lambda asked: asked.delete(kinds.SECRET, "ns", "s"),
}


class InsistenceTest(base.BaseTestCase):
    def test_no_try_begins_too_late(self) -> None:
        for seconds, pauses in _SLOW_ROWS:
            slept: list[float] = []
            slow = _Slow(seconds)
            client.with_retries(slow.ask, slept.append, slow.clock)
            self.assertEqual(pauses, slept, str(seconds))

    def test_each_kind_of_failure_has_its_retries(self) -> None:
        for script, pauses, end in _ROWS:
            slept: list[float] = []
            left = list(script)
            found: Any
            try:
                answer = client.with_retries(_asks(left), slept.append)
                found = answer.status_code
            except requests.RequestException as error:
                found = type(error)
            told = (found, slept, left)
            self.assertEqual((end, pauses, []), told, str(script))


def _asks(script: list[Any]) -> Callable[[], _Answer]:
    def ask() -> _Answer:
        found = script.pop(0)
        if isinstance(found, Exception):
            raise found
        return _Answer(*found) if isinstance(found, tuple) else _Answer(found)

    return ask


class CountTest(server.ServerTest):
    """An API server on loopback counts the requests that arrive."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        api.no_pauses(self)
        self._connect(server.PATIENT)

    def _connect(self, seconds: tuple[float, float]) -> None:
        """Make a client with such times to connect and to read."""
        connected = self.connect(seconds)
        self.client = client.Client(lambda: connected)

    def _count(self, method: str, error: Any = None) -> int:
        """Requests that arrive for one method that raises ``error``."""
        del self.server.requests[:]
        self.server.arrived.clear()
        if error is None:
            _CALLS[method](self.client)
        else:
            self.assertRaises(error, _CALLS[method], self.client)
        self.server.arrived.wait(server.PATIENT[1])
        del self.server.script[:]
        return len(self.server.requests)

    def test_a_request_is_sent_three_times_at_most(self) -> None:
        unreachable = errors.ManagementUnreachable
        rows = [(method, 503) for method in _CALLS]
        rows += [("get", code) for code in (429, 500, 502, 504)]
        rows += [(method, 0) for method in _CALLS]
        for method, code in rows:
            for _ in range(20):
                self.server.says(code)
            found = self._count(method, unreachable)
            self.assertEqual(3, found, f"{method} {code or 'cut'}")

    def test_a_final_answer_is_not_retried(self) -> None:
        rows = [(method, 403) for method in _CALLS]
        rows += [("get", code) for code in (400, 401, 409, 422)]
        for method, code in rows:
            self.server.says(code)
            found = self._count(method, errors.CapiHelmError)
            self.assertEqual(1, found, f"{method} {code}")

    def test_a_slow_server_gets_one_request(self) -> None:
        self._connect((5.0, 0.2))
        for method in ("get", "list", "patch"):
            self.server.hangs()
            found = self._count(method, errors.ManagementUnreachable)
            self.assertEqual(1, found, method)

    def test_the_second_answer_counts(self) -> None:
        # The server's answers are no lists.
        for method in _CALLS.keys() - {"list", "discovery"}:
            self.server.says(503)
            self.assertEqual(2, self._count(method), method)
            self.server.cuts()
            self.assertEqual(2, self._count(method), method)

    def test_a_write_is_not_repeated_once_the_lease_is_lost(self) -> None:
        def confirm() -> None:
            if self.server.requests:
                raise errors.LeaseLost("demo-1")

        for method in ("create", "replace", "apply", "patch", "delete"):
            self.server.says(503)
            with call.lease_guard(confirm):
                found = self._count(method, errors.LeaseLost)
            self.assertEqual(1, found, method)
