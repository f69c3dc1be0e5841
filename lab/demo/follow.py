# SPDX-License-Identifier: Apache-2.0

"""Waits for a cluster and shows how far it is."""

import time

from lab import errors
from lab import layout
from lab import steps
from lab.demo import cloud

PATIENCE = 600.0
_POLL = 0.5
_REASON = 100


def until(
    magnum: cloud.Magnum, name: str, wanted: str | None, title: str
) -> None:
    """Wait for a status, or with None for the end."""
    started = time.monotonic()
    shown = ""
    while True:
        state = magnum.state(name)
        took = time.monotonic() - started
        if (state.status if state else None) == wanted:
            print(f"✓ {title} {steps.duration(took)}", flush=True)
            return
        if state is None or state.status.endswith("_FAILED"):
            raise _failed(name, state)
        reason = " ".join(state.reason.split())[:_REASON]
        text = f"{state.status}; {reason}".rstrip("; ")
        if text != shown:
            print(f"{title} {steps.duration(took)} {text}", flush=True)
            shown = text
        if took > PATIENCE:
            raise errors.LabError(
                f"{name} is still {state.status}: {state.reason}",
                log=layout.log("magnum"),
            )
        time.sleep(_POLL)


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
