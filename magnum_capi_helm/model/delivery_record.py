# SPDX-License-Identifier: Apache-2.0

"""The record in the Secret ``<release>-delivery``: the last delivery.

The driver writes it before it sends anything. If a conductor stops, another
one continues with the same id.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import hashlib
import json
from typing import Any

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

#: Event of the first delivery of a cluster, until it has been accepted.
READY = "cluster.ready"
#: Event of all that follow.
CHANGED = "cluster.credentials_changed"

_FORMAT, _KEY = "1", "delivery.json"
#: Seconds until the second try, and between two tries at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 3600.0
#: Hexadecimal digits of an id.
_DIGITS = 32


@dataclasses.dataclass(frozen=True)
class Record:
    """The progress of one delivery. Moments are seconds since 1970.

    :param looks: :func:`fingerprint` of the kubeconfig
    :param created: time at which the change was noticed
    :param attempts: number of tries
    :param not_before: time of the next try
    :param delivered: time at which it was accepted; 0: not yet
    """

    id: str
    event: str
    looks: str
    created: float
    attempts: int = 0
    not_before: float = 0.0
    delivered: float = 0.0

    def claimed(self, now: float) -> Record:
        """Return the record while a conductor sends it."""
        doubled: float = _FIRST_PAUSE * 2 ** min(self.attempts, 16)
        pause = min(doubled, _LONGEST_PAUSE)
        return dataclasses.replace(
            self, attempts=self.attempts + 1, not_before=now + pause
        )

    def wait(self, now: float) -> float:
        """Return the seconds until the next try; 0 or less: now.

        A wait that no pause explains comes from a clock that was wrong.
        """
        seconds = self.not_before - now
        return seconds if seconds <= 2 * _LONGEST_PAUSE else 0.0

    def to_secret(self) -> dict[str, str]:
        """Return the ``data`` of the Secret."""
        content = {"format": _FORMAT, **dataclasses.asdict(self)}
        return {_KEY: encoding.plain(content)}


def fingerprint(address: str, ca: str, certificate: str) -> str:
    """Return a hash that changes when the kubeconfig has to be sent again.

    It leaves out the key: the certificate belongs to that key alone.
    """
    parts = ["admin", address, ca, certificate]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def following(
    before: Record | None, uuid: str, looks: str, now: float
) -> Record:
    """Return the record before if it still holds, or the one that follows.

    The same change has the same id in every conductor. Going back to a former
    kubeconfig is a change too, so the id depends on the id before.

    :param uuid: of the cluster
    :param looks: :func:`fingerprint` of the kubeconfig
    """
    if before is not None and before.looks == looks:
        return before
    chain = f"{before.id if before else uuid} {looks}"
    first = before is None or (before.event == READY and not before.delivered)
    return Record(
        id=f"kc_{hashlib.sha256(chain.encode()).hexdigest()[:_DIGITS]}",
        event=READY if first else CHANGED,
        looks=looks,
        # Receivers keep the latest, whatever the clocks of conductors say.
        created=max(now, before.created + 1.0 if before else 0.0),
    )


def read(secret: Mapping[str, Any]) -> Record:
    """Return the record in a Secret.

    :raises ManagementError: it has no record that this version can read
    """
    try:
        head = encoding.read_plain(secret["data"][_KEY])
        if head.pop("format") != _FORMAT:
            raise ValueError
        return Record(**head)
    except encoding.DAMAGED as error:
        # Not chained: errors quote the text that they read.
        raise errors.ManagementError(
            f"the Secret {secret['metadata']['name']} has no readable record "
            f"of the delivery ({type(error).__name__}): delete it, and the "
            "driver delivers the cluster's kubeconfig again"
        ) from None
