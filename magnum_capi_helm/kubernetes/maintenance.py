# SPDX-License-Identifier: Apache-2.0

"""The freeze of a management cluster, for maintenance.

The freeze stands in annotations of the namespace ``kube-system``, whose UID
identifies the management cluster: the driver reads this namespace anyway,
every kubeconfig that works can read it, and every conductor, also of another
Magnum, sees the same. The time of a freeze does not count towards the time
that an operation may take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import json
import math
import time

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

NAME = "kube-system"

#: Reason, start and author of the freeze; absent when not frozen.
FROZEN = "magnum.openstack.org/frozen"
#: Former freezes: pairs of seconds since 1970.
WAS_FROZEN = "magnum.openstack.org/was-frozen"

#: Seconds for which all threads of a process use an answer.
AGE = 5.0
#: Former freezes in the annotation: more than one operation outlives.
_REMEMBERED = 20
#: Characters of a reason: tenants read it in a status.
_LONGEST = 200


@dataclasses.dataclass(frozen=True)
class Freeze:
    """A freeze in force.

    :param since: seconds since 1970; minus infinity: unknown
    :param by: the operator that ordered it
    """

    reason: str
    since: float = -math.inf
    by: str = ""


@dataclasses.dataclass(frozen=True)
class State:
    """The content of the namespace.

    :param identity: its UID; empty: there is no such namespace
    :param before: former freezes, start and end, seconds since 1970
    """

    identity: str = ""
    freeze: Freeze | None = None
    before: tuple[tuple[float, float], ...] = ()

    def spans(self, now: float) -> tuple[tuple[float, float], ...]:
        """Return the times of all freezes, up to ``now``."""
        if self.freeze is None:
            return self.before
        return (*self.before, (self.freeze.since, now))

    def seconds(self, since: float, now: float) -> float:
        """Return for how many seconds it was frozen.

        :param since: seconds since 1970, like ``now``
        """
        return sum(
            max(0.0, min(ended, now) - max(began, since))
            for began, ended in self.spans(now)
        )


class Maintenance:
    """The freeze and the identity of a management cluster.

    An answer is used for some seconds, so polls send few requests. While the
    management cluster is unreachable, a freeze stays in force: it cannot have
    ended.

    :param name: name of the management cluster, if there are several
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        management: client.Client,
        name: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._management = management
        self._title = f"the management cluster {name}".rstrip()
        self._clock = clock
        self._state = State()
        self._until = -math.inf

    def read(self) -> State:
        """Read the namespace.

        :raises ManagementError: it could not be read
        """
        until = self._clock() + AGE
        namespace = self._management.get(kinds.NAMESPACE, "", NAME)
        self._state, self._until = parsed(namespace), until
        return self._state

    def cached(self) -> State:
        """Return the state of a few seconds ago.

        :raises ManagementError: it can't be read, and was not frozen before
        """
        if self._clock() < self._until:
            return self._state
        try:
            return self.read()
        except errors.ManagementError:
            if self._state.freeze is None:
                raise
            return self._state

    def check(self) -> None:
        """Refuse to begin an operation while it is frozen.

        :raises Frozen: it is frozen
        :raises ManagementError: it could not be read
        """
        freeze = self.cached().freeze
        if freeze is not None:
            raise errors.Frozen(self._title, freeze.reason)

    def freeze(self, reason: str, by: str, now: float) -> None:
        """Freeze it, or change the reason of the freeze.

        :raises InvalidInput: the reason is empty or too long
        :raises ManagementError: it could not be written
        """
        check_reason(reason)
        old = self.read().freeze
        since = old.since if old and old.since > -math.inf else now
        freeze = {"reason": reason, "since": since, "by": by}
        self._write({FROZEN: json.dumps(freeze)})

    def thaw(self, now: float) -> None:
        """End a freeze and record its time.

        :raises ManagementError: it could not be written
        """
        state = self.read()
        if state.freeze is not None:
            spans = [each for each in state.spans(now) if each[0] > -math.inf]
            was_frozen = json.dumps(spans[-_REMEMBERED:])
            self._write({FROZEN: None, WAS_FROZEN: was_frozen})

    @call.without_lease("a freeze holds for all clusters")
    def _write(self, change: Mapping[str, str | None]) -> None:
        self._management.patch(
            kinds.NAMESPACE,
            "",
            NAME,
            {"metadata": {"annotations": dict(change)}},
        )
        self.read()


def wait_for_holders(
    leases: lease.Leases, seconds: float, pause: float = 2.0
) -> Iterator[list[str]]:
    """Wait until no operation is under way; yield the releases at each look.

    It waits at least as long as a conductor trusts what it has read: until
    then a conductor may not know of the freeze.

    :param seconds: time limit
    :param pause: seconds between two looks
    """
    began = time.monotonic()
    while True:
        working = leases.holders()
        yield working
        passed = time.monotonic() - began
        if passed >= seconds or (not working and passed > AGE):
            return
        time.sleep(pause)


def check_reason(reason: str) -> None:
    """Refuse a reason that is empty or too long.

    :raises InvalidInput: the message names the allowed length
    """
    if not reason.strip() or len(reason) > _LONGEST:
        raise errors.InvalidInput(
            f"--reason {errors.shown(reason)}: give 1 to {_LONGEST} "
            "characters; tenants read it"
        )


def parsed(namespace: client.Object | None) -> State:
    """Return the state; an annotation that can't be read freezes as well."""
    annotations = view.annotations_of(namespace)
    text = annotations.get(FROZEN)
    return State(
        identity=str(view.metadata_of(namespace).get("uid") or ""),
        freeze=None if text is None else _freeze(text),
        before=_spans(annotations.get(WAS_FROZEN)),
    )


def _freeze(text: str) -> Freeze:
    try:
        freeze = json.loads(text)
        reason, since = str(freeze["reason"]), float(freeze["since"])
        return Freeze(reason, since, str(freeze.get("by") or ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        # Written by hand, but certainly meant as a freeze.
        return Freeze(text)


def _spans(text: str | None) -> tuple[tuple[float, float], ...]:
    try:
        spans = json.loads(text or "[]")
        return tuple((float(began), float(ended)) for began, ended in spans)
    except (ValueError, TypeError):
        return ()
