# SPDX-License-Identifier: Apache-2.0

"""What waits for its turn to run helm.

A request that finds no turn has written all that it wants, and ends. What
is left is what a poll would do; it is done as soon as there is a turn, and
not at the next tick. Polls leave alone what is in line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from typing import Any

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.database import rows
from magnum_capi_helm.model import audit
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import timing

LOG = log.getLogger(__name__)

GoOn = Callable[[runtime.Runtime, Any, Any], object]


@contextlib.contextmanager
def queued(rt: runtime.Runtime, cluster: Any, go_on: GoOn) -> Iterator[None]:
    """What finds no turn inside goes on later; not under the Lease.

    :param go_on: what a poll does with the cluster's row
    :raises NoTurn: it waits by now
    """
    try:
        yield
    except errors.NoTurn:
        # No object of the request is kept: it has the user's token.
        uuid, asked = cluster.uuid, audit.current()
        rt.turns.later(uuid, lambda: _go_on(rt, uuid, go_on, asked))
        raise


def check(rt: runtime.Runtime, cluster: Any) -> None:
    """Leave alone what is in line already.

    :raises NoTurn: it is
    """
    before = rt.turns.before(cluster.uuid)
    if before is not None:
        raise errors.NoTurn(before)


def _go_on(
    rt: runtime.Runtime, uuid: str, go_on: GoOn, asked: audit.Actor | None
) -> None:
    """Its turn has come. Where that fails, the polls try again.

    :param asked: who asked for what waited
    """
    context = rows.everywhere()
    row = rows.find(context, uuid)
    if row is None:
        return
    problem = ""
    try:
        with audit.acting(asked), timing.measured() as measured:
            go_on(rt, context, row)
        LOG.info("in its turn, cluster %s: %s", uuid, measured)
    except errors.LeaseHeld as error:
        LOG.debug("Cluster %s: %s", uuid, error)
    except errors.CapiHelmError as error:
        problem = str(error)
    if problem:
        LOG.warning(
            "Cluster %s, after its wait for helm: %s; the polls go on",
            uuid,
            problem,
        )
