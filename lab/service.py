# SPDX-License-Identifier: Apache-2.0

"""One service of the lab: how to start it, when it is ready, how to stop it.

A running service is *outdated* when what it was started from has changed since
(its command, its configuration, its program); ``up`` restarts it then.
"""

from collections.abc import Callable, Mapping
import contextlib
import dataclasses
import http.client
import pathlib
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from lab import environment
from lab import errors
from lab import layout
from lab import processes
from lab import stamps
from lab import tools

READY_SECONDS = 120.0
_POLL = 0.1


@dataclasses.dataclass(frozen=True)
class Service:
    """A program that runs until it is stopped.

    ``probe`` tells whether it is ready; without one it is as soon as it runs.
    ``layer`` is where it stands: higher ones are stopped first.
    """

    name: str
    argv: tuple[str, ...]
    layer: int
    ports: tuple[int, ...] = ()
    probe: Callable[[], bool] | None = None
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    inputs: Callable[[], list[pathlib.Path]] = list
    first_signal: signal.Signals = signal.SIGTERM
    grace: float = 10.0

    @property
    def record(self) -> pathlib.Path:
        """Who runs it."""
        return layout.RUN / f"{self.name}.pid"

    @property
    def log(self) -> pathlib.Path:
        """Everything it says."""
        return layout.log(self.name)

    @property
    def identity(self) -> processes.Identity | None:
        """The process it was last started as."""
        return processes.read(self.record)

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return processes.alive(self.identity)

    @property
    def outdated(self) -> bool:
        """Whether it runs, but not what ``up`` would start now."""
        value = self._fingerprint()
        return self.running and not stamps.fresh(
            self._stamp, value, layout.RUN
        )

    @property
    def _stamp(self) -> str:
        return f"{self.name}.stamp"

    def _fingerprint(self) -> str:
        files = [path for path in self.inputs() if path.is_file()]
        words = [f"{name}={self.env[name]}" for name in sorted(self.env)]
        return stamps.fingerprint(*self.argv, *words, files=files)

    def start(self) -> None:
        """Start it unless it runs, and wait until it is ready."""
        if self.running:
            self._wait(None)
            return
        self._need_ports()
        child = processes.spawn(
            self.argv,
            record=self.record,
            log=self.log,
            env=environment.inside(**self.env),
            cwd=layout.RUN,
        )
        self._wait(child)
        stamps.write(self._stamp, self._fingerprint(), layout.RUN)

    def stop(self, *, kill: bool = False) -> bool:
        """Stop it if it runs; true when it did run."""
        identity = self.identity
        was_running = processes.alive(identity)
        if identity is not None and was_running:
            first = signal.SIGKILL if kill else self.first_signal
            processes.stop(identity, first=first, grace=self.grace)
        self.record.unlink(missing_ok=True)
        return was_running

    def _need_ports(self) -> None:
        for port in self.ports:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)):
                    continue
            raise errors.LabError(
                f"port {port} is in use",
                hint="Stop the process that 'ss -ltnp' shows; another lab is"
                " stopped with 'python3 -m lab down' in its checkout.",
            )

    def _wait(self, child: subprocess.Popen[bytes] | None) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not (self.running and (self.probe is None or self.probe())):
            if self._died(child):
                code = child.returncode if child else "no known code"
                raise errors.LabError(
                    f"{self.name} ended with {code} at its start",
                    log=self.log,
                )
            if time.monotonic() > deadline:
                raise errors.LabError(
                    f"{self.name} gave no answer for {READY_SECONDS:.0f} s",
                    log=self.log,
                )
            tools.pause(_POLL)

    def _died(self, child: subprocess.Popen[bytes] | None) -> bool:
        if child is None:
            return not self.running
        return child.poll() is not None


def answers(
    url: str, *, strict: bool = False, authority: pathlib.Path | None = None
) -> Callable[[], bool]:
    """A probe: something answers there, with success if it must.

    ``authority`` is the certificate to trust, for https.
    """

    def probe() -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return _answers(url, strict, authority)
        return False

    return probe


def _answers(url: str, strict: bool, authority: pathlib.Path | None) -> bool:
    context = None
    if authority is not None:
        context = ssl.create_default_context(cafile=authority)
    try:
        # The address is one of the lab's own.
        with urllib.request.urlopen(  # noqa: S310
            url, timeout=5, context=context
        ):
            return True
    except urllib.error.HTTPError:
        return not strict
