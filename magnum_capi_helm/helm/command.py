# SPDX-License-Identifier: Apache-2.0

"""Run one helm command.

The only module that imports pyhelm3, which builds the command lines. The
driver imports it when helm first runs: pyhelm3 brings pydantic, and most
commands of the operator run no helm.

helm runs without an event loop (Magnum up to 2026.1 runs under eventlet,
where asyncio breaks) and without a shell, with values on standard input
alone. It gets a process group of its own and ends with its conductor, so no
orphan goes on writing when another conductor has taken over.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
import contextlib
import copy
import os
import shutil
import signal
import subprocess
import threading
import time
from typing import Any, TypeVar

import pyhelm3

from magnum_capi_helm.helm import complaints
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors

T = TypeVar("T")

#: Commands that change a release.
_WRITES = ("upgrade", "uninstall")
_NO_HELM = (
    "helm can't be started: install helm 3.16 or later on the PATH of "
    "magnum-conductor"
)


class Command(pyhelm3.Command):  # type: ignore[misc]
    """pyhelm3's command lines, run as a plain subprocess.

    :param deadline: seconds for one command
    :param env: all environment variables of helm
    """

    def __init__(
        self, *, deadline: float, env: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._deadline = deadline
        self._env = dict(env)
        self._guard = _dies_with_parent()
        self._options: Sequence[str] = ()

    def adapted(
        self,
        seconds: float | None = None,
        variables: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> Command:
        """Return the same commands with less time, or more variables.

        :param options: more options of each command
        """
        adapted = copy.copy(self)
        adapted._options = options
        adapted._deadline = min(seconds or self._deadline, self._deadline)
        adapted._env = {**self._env, **(variables or {})}
        return adapted

    async def run(
        self, command: list[Any], input: bytes | None = None
    ) -> bytes:
        """Run a helm command and return what it prints.

        :raises ReleaseAbsent: the release does not exist
        :raises HelmError: helm failed; a subclass says how
        """
        if shutil.which(self._executable) is None:
            raise errors.NotConfigured(_NO_HELM)
        words = [*map(str, command), *self._options]
        argv = [*self._guard, self._executable, *words]
        if command[0] == "upgrade" and (asked := call.actor()):
            argv += ["--description", str(asked)]
        if self._kubeconfig:
            argv += ["--kubeconfig", str(self._kubeconfig)]
        if command[0] in _WRITES:
            call.check_lease()
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._env,
                start_new_session=True,
            )
        except OSError as error:
            raise errors.NotConfigured(
                f"{_NO_HELM} ({error.strerror})"
            ) from error
        with Deadline(process, self._deadline) as deadline:
            out, err = process.communicate(input)
        if deadline.lost:
            # It raises that the Lease is lost.
            call.check_lease()
        if deadline.expired:
            raise errors.HelmUnreachable(
                f"helm {command[0]} did not end within {self._deadline:.0f} s"
            )
        _check_answer(command[0], process.returncode, err)
        return bytes(out)


def _check_answer(what: str, code: int, err: bytes) -> None:
    """Raise helm's failure as an exception of the driver."""
    if code < 0:
        # Killed, for its memory for instance: it has refused nothing.
        name = signal.Signals(-code).name
        raise errors.HelmUnreachable(f"helm {what} was killed ({name})")
    if code and b"release: not found" in err.lower():
        raise errors.ReleaseAbsent("release not found")
    if code:
        raise complaints.translated(what, err)


def _dies_with_parent() -> list[str]:
    """Return the prefix by which helm gets SIGTERM if its conductor dies.

    setpriv (util-linux) and not ``preexec_fn``, which may deadlock in a
    process with threads. helm marks its revision failed on SIGTERM, which
    the next apply can go on from; on SIGKILL it would stay pending.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []


def result(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine of :class:`Command`.

    It never suspends, so it needs no event loop.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    coroutine.close()
    raise RuntimeError("a helm coroutine suspended")


#: Seconds between asking a program to end and ending it.
_PATIENCE = 10
#: Seconds between two looks whether the Lease is lost.
_LOOK = 0.5


class Deadline:
    """Ends a process, and all that it started, when its time is over.

    Its time is also over when another conductor has taken the Lease: two
    helms would write for one cluster.

    A thread and not ``communicate(timeout=)``: under eventlet that raises a
    class of its own that no ``except`` here would know.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], seconds: float
    ) -> None:
        self._process = process
        self._seconds = seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        # The watching thread does not inherit the context variable.
        self._lost = call.lease_lost()
        self.expired = False
        self.lost = False

    def __enter__(self) -> Deadline:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        if self._process.poll() is None:
            # The caller was interrupted: no helm is left behind.
            self._signal(signal.SIGKILL)

    def _watch(self) -> None:
        over = time.monotonic() + self._seconds
        while not (self.expired or self.lost):
            left = over - time.monotonic()
            if self._done.wait(max(0.0, min(left, _LOOK))):
                return
            self.lost = self._lost()
            self.expired = time.monotonic() >= over
        self._signal(signal.SIGTERM)
        if not self._done.wait(_PATIENCE):
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
