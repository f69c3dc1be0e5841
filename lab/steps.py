# SPDX-License-Identifier: Apache-2.0

"""Steps that depend on each other, run side by side as far as they may.

A line tells what a step is at, and how it ended.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import dataclasses
import os
import pathlib
import threading
import time
import traceback

from lab import errors
from lab import layout
from lab import tools

Say = Callable[[str], None]
Action = Callable[[Say], None]

# Two programs that work for each core; most steps wait for somebody else.
WORKERS = max(4, 2 * (os.cpu_count() or 1))


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing to do, after those it needs; ``say`` shows how far it is."""

    name: str
    action: Action
    needs: frozenset[str] = frozenset()


def step(name: str, action: Callable[[], None], *needs: str) -> Step:
    """Return a step that does not say how far it is."""
    return Step(name, lambda say: action(), frozenset(needs))


class StepError(Exception):
    """The first step that failed, and why."""

    def __init__(self, step: str, error: errors.LabError) -> None:
        super().__init__(f"{step}: {error.message}")
        self.step = step
        self.error = error


def duration(seconds: float) -> str:
    """Short and of constant precision: 0.4s, 12.3s, 4m05s."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02d}s"


class _Board:
    """Prints what steps report from their own threads."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def begin(self, name: str) -> None:
        """A step starts."""
        with self._lock:
            self._begun[name] = len(self._begun) + 1, time.monotonic()

    def say(self, name: str, detail: str = "", mark: str = "") -> None:
        """Print what a running step is at, or the mark with which it ends."""
        with self._lock:
            number, began = self._begun[name]
            took = duration(time.monotonic() - began)
            words = (f"[{number}/{self._total}]", mark, name, took, detail)
            print(*filter(None, words), flush=True)


def run(steps: Sequence[Step]) -> None:
    """Run all steps; a need that is not among them counts as done.

    When one fails, programs that the others run are ended, and the first
    failure is raised once every thread has come back.
    """
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
    try:
        _schedule(list(steps), pool)
    except BaseException:
        tools.abort()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _schedule(
    waiting: list[Step], pool: concurrent.futures.ThreadPoolExecutor
) -> None:
    board = _Board(len(waiting))
    unfinished = {step.name for step in waiting}
    running: dict[concurrent.futures.Future[None], Step] = {}
    while waiting or running:
        for step in [s for s in waiting if not s.needs & unfinished]:
            waiting.remove(step)
            running[pool.submit(_perform, step, board)] = step
        done, _ = concurrent.futures.wait(
            running, return_when=concurrent.futures.FIRST_COMPLETED
        )
        for future in done:
            unfinished.discard(running.pop(future).name)
            future.result()


def _perform(step: Step, board: _Board) -> None:
    board.begin(step.name)

    def say(detail: str) -> None:
        tools.check()
        board.say(step.name, detail)

    try:
        step.action(say)
    except errors.AbortedError:
        board.say(step.name, mark="-")
        raise
    except errors.LabError as error:
        board.say(step.name, mark="✗")
        raise StepError(step.name, error) from error
    except Exception as error:
        board.say(step.name, mark="✗")
        raise StepError(step.name, _unexpected(error)) from error
    board.say(step.name, mark="✓")


def _unexpected(error: Exception) -> errors.LabError:
    """A mistake of ours: the traceback goes to a file, a line to the user."""
    log = layout.log("lab")
    _record(error, log)
    return errors.LabError(f"{type(error).__name__}: {error}", log=log)


def _record(error: Exception, log: pathlib.Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as stream:
        stream.write(time.strftime("%Y-%m-%d %H:%M:%S\n"))
        stream.writelines(traceback.format_exception(error))
