# SPDX-License-Identifier: Apache-2.0

"""A workload in the cluster, and requests to it all the time."""

import collections
from collections.abc import Mapping
import dataclasses
import http.client
import pathlib
import ssl
import threading
import time
import urllib.request

from lab import errors
from lab import layout
from lab import tools

MANIFEST = pathlib.Path(__file__).with_name("workload.yaml")
#: Its load balancer tests pods, which take their time to leave.
PATIENT = MANIFEST.with_name("patient.yaml")
_ADDRESS = "jsonpath={.status.loadBalancer.ingress[0].ip}"
_PATIENCE = 120.0
#: Seconds between two requests, and for an answer.
_PAUSE, _TIMEOUT = 0.1, 2.0
#: Seconds for an answer with TLS. client-go, so kubectl, waits as long for a
#: handshake (``tlsTransportCache.get`` in ``transport/cache.go``).
_TLS_TIMEOUT = 10.0


@dataclasses.dataclass(frozen=True)
class Counts:
    """Requests of some time.

    :param pause: the longest time between two answers, in seconds
    :param errors: error -> how many requests were lost by it
    """

    answered: int
    pause: float
    errors: Mapping[str, int]

    @property
    def lost(self) -> int:
        """Return how many requests had no answer."""
        return sum(self.errors.values())

    @property
    def asked(self) -> int:
        """Return how many requests there were."""
        return self.answered + self.lost

    def __str__(self) -> str:
        why = "; ".join(f"{n} x {error}" for error, n in self.errors.items())
        return (
            f"{self.answered} answered, {self.lost} lost"
            f"{why and f' ({why})'}, "
            f"at most {self.pause:.1f} s without an answer"
        )


def address(kubeconfig: str, service: str = "web") -> str:
    """Return the address of a Service, once it has one.

    :raises LabError: it gets none
    """
    kubectl = [str(layout.BIN / "kubectl"), f"--kubeconfig={kubeconfig}"]
    words = ["get", "service", service, "--output", _ADDRESS]
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if found := tools.output([*kubectl, *words]):
            return found
        time.sleep(1)
    raise errors.LabError(f"the Service {service} gets no address")


class Requests:
    """Requests to a URL, ten a second, until they are stopped.

    :param context: for a server that has TLS
    """

    def __init__(
        self, url: str, context: ssl.SSLContext | None = None
    ) -> None:
        self._url = url
        self._context = context
        self._timeout = _TLS_TIMEOUT if context else _TIMEOUT
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._lock = threading.Lock()
        self._answered = 0
        self._errors: collections.Counter[str] = collections.Counter()
        self._error = ""
        self._pause = 0.0
        self._latest = 0.0

    def start(self) -> str:
        """Wait for the first answer, return it, and go on in the background.

        :raises LabError: there is none
        """
        deadline = time.monotonic() + _PATIENCE
        while (answer := self._ask()) is None:
            if time.monotonic() > deadline:
                raise errors.LabError(f"{self._url} does not answer")
            time.sleep(1)
        self._latest = time.monotonic()
        self._thread.start()
        return answer

    def _run(self) -> None:
        while not self._stopped.wait(_PAUSE):
            answer = self._ask()
            with self._lock:
                if answer is None:
                    self._errors[self._error] += 1
                else:
                    self._answered += 1
                    self._mark()

    def _mark(self) -> None:
        """Note that there is an answer, or that one is missing until now."""
        now = time.monotonic()
        self._pause = max(self._pause, now - self._latest)
        self._latest = now

    def _ask(self) -> str | None:
        """Return the answer; None: there is none, for ``self._error``."""
        try:
            with urllib.request.urlopen(  # noqa: S310  the lab's own URLs
                self._url, timeout=self._timeout, context=self._context
            ) as answer:
                return str(answer.read().decode())
        except (OSError, http.client.HTTPException) as error:
            self._error = str(error)
            return None

    def take(self) -> Counts:
        """Return the counts since the last time."""
        with self._lock:
            self._mark()
            counts = Counts(self._answered, self._pause, self._errors)
            self._answered, self._pause = 0, 0.0
            self._errors = collections.Counter()
        return counts

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()
        self._thread.join()
