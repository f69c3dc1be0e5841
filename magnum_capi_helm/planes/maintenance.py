# SPDX-License-Identifier: Apache-2.0

"""A management cluster that is frozen for maintenance.

Nothing begins on it: no request, no Lease, no helm. What is under way when it
is frozen gets to its end, and :func:`at_work` says when. Polls go on reading,
and say what is waited for; no time of an operation passes.
"""

from __future__ import annotations

from collections.abc import Iterator
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import anchor
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.planes import places
from magnum_capi_helm.status import view


def refuse(cluster: Any) -> None:
    """Refuse a request before its first write.

    :raises Frozen: the cluster's management cluster is frozen
    """
    try:
        found = places.of(cluster).anchor
        found.known()
    except errors.CapiHelmError:
        # The request finds out whether it needs an answer.
        return
    found.check()


def at_work(rt: runtime.Runtime) -> list[str]:
    """Releases whose Lease somebody alive holds.

    To be asked again and again: that somebody died, shows with time.

    :raises ManagementError: nobody can say
    """
    every = rt.management.list(kinds.LEASE, None, location.CLUSTER_UUID)
    return sorted(view.name_of(each) for each in every if rt.leases.held(each))


def settle(
    rt: runtime.Runtime, seconds: float, pause: float = 2.0
) -> Iterator[list[str]]:
    """Wait until nobody is at work any more; who is, at each look.

    No conductor begins anything new once what it knows is too old to be
    believed.

    :param seconds: how long at most
    :param pause: seconds between two looks
    """
    began = time.monotonic()
    while True:
        found = at_work(rt)
        yield found
        passed = time.monotonic() - began
        if passed >= seconds or (not found and passed > anchor.AGE):
            return
        time.sleep(pause)
