# SPDX-License-Identifier: Apache-2.0

"""Wait for a cluster's Lease, and read the mark of a deletion on it."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import time
from typing import Any

from magnum_capi_helm import runtime as runtimes
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors

#: Seconds between two tries to take the Lease.
_PAUSE = 0.5


@contextlib.contextmanager
def hold(
    rt: runtimes.Runtime,
    scope: location.Scope,
    labels: dict[str, str],
    *,
    wait: float = 0.0,
    new: bool = False,
) -> Iterator[lease.Hold]:
    """Hold the Lease of a release.

    :param wait: seconds to wait while another holder has it
    :param new: expect that there is no Lease yet
    :raises LeaseHeld: another operation works on the cluster
    """
    deadline = time.monotonic() + wait
    with contextlib.ExitStack() as stack:
        while True:
            try:
                taken = stack.enter_context(
                    rt.leases.hold(*scope, labels, new=new)
                )
                break
            except errors.LeaseHeld:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE)
        yield taken


def confirm_end(rt: runtimes.Runtime, scope: location.Scope, row: Any) -> bool:
    """Return whether no deletion came while a final status was written.

    :param row: with the status that was written; of a deletion it says so
        afterwards
    :raises ManagementError: the Lease can't be read; the operation goes on
    """
    try:
        deleted = is_marked(rt, scope)
    except errors.CapiHelmError:
        status_writer.save_unfinished(row)
        raise
    if deleted:
        status_writer.save_deleting(row)
    return not deleted


def is_marked(rt: runtimes.Runtime, scope: location.Scope) -> bool:
    """Return whether a deletion of the cluster was requested.

    :raises ManagementError: the Lease can't be read
    """
    return lease.marked_deleted_at(rt.leases.read(*scope)) is not None
