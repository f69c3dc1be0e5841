# SPDX-License-Identifier: Apache-2.0

"""Waits for a cluster and shows how far it is."""

import time

from lab import errors
from lab import layout
from lab import progress
from lab.demo import cloud
from lab.demo import kube

PATIENCE = 600.0
_POLL = 0.5
_REASON = 100


def until(
    magnum: cloud.Magnum, name: str, wanted: str | None, title: str
) -> float:
    """Wait for a status, or with None for the end; the seconds it took."""
    started = time.monotonic()
    board = progress.Board(0)
    board.begin(title)
    seen = ""
    while True:
        state = magnum.state(name)
        if (state.status if state else None) == wanted:
            board.end(title)
            return time.monotonic() - started
        if state is None or state.status.endswith("_FAILED"):
            board.end(title, "✗")
            raise _failed(name, state)
        text = _describe(state)
        if text != seen:
            board.say(title, text)
            seen = text
        if time.monotonic() - started > PATIENCE:
            board.end(title, "✗")
            raise errors.LabError(
                f"{name} is still {state.status}: {state.reason}",
                log=layout.log("magnum"),
            )
        board.tick()
        time.sleep(_POLL)


def _describe(state: cloud.State) -> str:
    machines = kube.machines(state.release) if state.release else "none"
    reason = " ".join(state.reason.split())[:_REASON]
    return f"{state.status}; machines: {machines}; {reason}".rstrip("; ")


def _failed(name: str, state: cloud.State | None) -> errors.LabError:
    if state is None:
        message = f"cluster {name} is gone"
    else:
        message = f"cluster {name} is {state.status}: {state.reason}"
    return errors.LabError(
        message,
        log=layout.log("magnum"),
        hint=f"It is left as it is: openstack coe cluster show {name}",
    )
