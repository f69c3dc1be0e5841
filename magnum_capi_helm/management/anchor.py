# SPDX-License-Identifier: Apache-2.0

"""The object that says which management cluster this is: ``kube-system``.

Its UID is the identity. Beside it, as annotations, stands whether the
management cluster is frozen for maintenance, by whom and why, and when it was
before: the driver has to read this namespace anyway, every kubeconfig that
works can, and every conductor sees the same. A freeze is of the management
cluster, so it holds for every Magnum that shares it.

What was read serves for some seconds, so polls pay next to nothing. While the
management cluster is away, a freeze that was seen holds: nobody can have
ended it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import dataclasses
import json
import math
import time

from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors

NAME = "kube-system"

#: Why, since when and by whom it is frozen; absent: it is not.
FROZEN = "magnum.openstack.org/frozen"
#: When it was: pairs of seconds since 1970.
WAS_FROZEN = "magnum.openstack.org/was-frozen"

#: Seconds for which all threads of a process believe what was read.
AGE = 5.0
#: Former freezes that are remembered: more than one operation outlives.
_REMEMBERED = 20
#: Characters of a reason: tenants read it in a status.
_LONGEST = 200


@dataclasses.dataclass(frozen=True)
class Freeze:
    """A maintenance under way.

    :param since: seconds since 1970; minus infinity: not known
    :param by: who froze it
    """

    reason: str
    since: float = -math.inf
    by: str = ""


@dataclasses.dataclass(frozen=True)
class State:
    """What the namespace says.

    :param identity: its UID; empty: there is none
    :param before: former freezes, from and until, seconds since 1970
    """

    identity: str = ""
    freeze: Freeze | None = None
    before: tuple[tuple[float, float], ...] = ()

    def spans(self, now: float) -> tuple[tuple[float, float], ...]:
        """When it was frozen, up to ``now``."""
        if self.freeze is None:
            return self.before
        return (*self.before, (self.freeze.since, now))


class Anchor:
    """The namespace, as this process last saw it.

    :param name: what the operator calls the management cluster, of several
    """

    def __init__(self, management: client.Client, name: str = "") -> None:
        self._management = management
        self._called = f"the management cluster {name}".rstrip()
        #: Monotonic seconds.
        self.clock: Callable[[], float] = time.monotonic
        self._seen = State()
        self._until = -math.inf

    def read(self) -> State:
        """What it says now.

        :raises ManagementError: it could not be read
        """
        until = self.clock() + AGE
        found = self._management.get(kinds.NAMESPACE, "", NAME)
        self._seen, self._until = parsed(found), until
        return self._seen

    def known(self) -> State:
        """What it said a few seconds ago.

        :raises ManagementError: it can't be read, and was not frozen before
        """
        if self.clock() < self._until:
            return self._seen
        try:
            return self.read()
        except errors.ManagementError:
            if self._seen.freeze is None:
                raise
            return self._seen

    def check(self) -> None:
        """Refuse to begin anything while it is frozen.

        :raises Frozen: it is
        :raises ManagementError: nobody can say
        """
        found = self.known().freeze
        if found is not None:
            raise errors.Frozen(self._called, found.reason)

    def freeze(self, reason: str, by: str, now: float) -> None:
        """Freeze it; frozen already: with another reason from now on.

        :raises InvalidInput: the reason is none
        :raises ManagementError: it could not be written
        """
        check_reason(reason)
        known = self.read().freeze
        since = known.since if known and known.since > -math.inf else now
        found = {"reason": reason, "since": since, "by": by}
        self._write({FROZEN: json.dumps(found)})

    def thaw(self, now: float) -> None:
        """End a freeze, and remember that there was one.

        :raises ManagementError: it could not be written
        """
        found = self.read()
        if found.freeze is not None:
            spans = [span for span in found.spans(now) if span[0] > -math.inf][
                -_REMEMBERED:
            ]
            self._write({FROZEN: None, WAS_FROZEN: json.dumps(spans)})

    def _write(self, change: Mapping[str, str | None]) -> None:
        self._management.patch(
            kinds.NAMESPACE,
            "",
            NAME,
            {"metadata": {"annotations": dict(change)}},
        )
        self.read()


def check_reason(reason: str) -> None:
    """Refuse a reason that tells a tenant nothing.

    :raises InvalidInput: naming what is allowed
    """
    if not reason.strip() or len(reason) > _LONGEST:
        raise errors.InvalidInput(
            f"--reason {errors.shown(reason)}: give 1 to {_LONGEST} "
            "characters; tenants read it"
        )


def parsed(namespace: client.Object | None) -> State:
    """What the namespace says; what nobody can read, freezes as well."""
    metadata = (namespace or {}).get("metadata") or {}
    noted = metadata.get("annotations") or {}
    text = noted.get(FROZEN)
    return State(
        identity=str(metadata.get("uid") or ""),
        freeze=None if text is None else _freeze(text),
        before=_spans(noted.get(WAS_FROZEN)),
    )


def _freeze(text: str) -> Freeze:
    try:
        found = json.loads(text)
        reason, since = str(found["reason"]), float(found["since"])
        return Freeze(reason, since, str(found.get("by") or ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        # Somebody wrote it by hand: that it is frozen, is clear.
        return Freeze(text)


def _spans(text: str | None) -> tuple[tuple[float, float], ...]:
    try:
        found = json.loads(text or "[]")
        return tuple((float(began), float(ended)) for began, ended in found)
    except (ValueError, TypeError):
        return ()
