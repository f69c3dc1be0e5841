# SPDX-License-Identifier: Apache-2.0

"""What the Secret ``<release>-delivery`` says: how far a delivery is.

It is written before anything is sent, so that any conductor goes on where
another one stopped, with the same id and the same credential. Who sends has
put off the next try first: of several conductors, one sends. The key of a
limited user is in it until the receiver has it, and no longer.
"""

from __future__ import annotations

import base64
import dataclasses

from magnum_capi_helm.delivery import change
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

_FORMAT = "1"
_HEAD = "delivery.json"
_CERTIFICATE = "tls.crt"
_KEY = "tls.key"

#: Seconds until the second try, and between two at most.
FIRST_PAUSE = 30.0
LONGEST_PAUSE = 3600.0


@dataclasses.dataclass(frozen=True)
class Record:
    """One delivery. Moments are seconds since 1970.

    :param looks: :func:`magnum_capi_helm.delivery.change.fingerprint`
    :param created: when the change was noticed
    :param attempts: how often it was sent, or is being sent
    :param not_before: nobody sends it before that
    :param delivered: when it was accepted; 0: it was not yet
    :param certificate: of a limited user
    :param key: likewise; empty once it is delivered
    """

    id: str
    event: str
    looks: str
    created: float
    attempts: int = 0
    not_before: float = 0.0
    delivered: float = 0.0
    certificate: str = ""
    key: str = dataclasses.field(default="", repr=False)

    def claimed(self, now: float, at_least: float, jitter: float) -> Record:
        """The record while somebody sends it.

        :param at_least: seconds that sending may take
        :param jitter: a number from 0 to 1
        """
        doubled: float = FIRST_PAUSE * 2 ** min(self.attempts, 16)
        pause = min(doubled, LONGEST_PAUSE) * (0.75 + jitter / 2)
        return dataclasses.replace(
            self,
            attempts=self.attempts + 1,
            not_before=now + max(pause, at_least),
        )

    def accepted(self, now: float) -> Record:
        """The record of what has been delivered."""
        return dataclasses.replace(self, delivered=now, key="")

    def left(self, now: float) -> float:
        """Seconds until it may be sent; 0 or less: now.

        A moment that no pause leads to, is of a clock that was wrong.
        """
        left = self.not_before - now
        return left if left <= 2 * LONGEST_PAUSE else 0.0

    def to_secret(self) -> dict[str, str]:
        """The ``data`` of its Secret."""
        head = dataclasses.asdict(self)
        certificate, key = head.pop("certificate"), head.pop("key")
        found = {_HEAD: encoding.plain({"format": _FORMAT, **head})}
        if certificate:
            found[_CERTIFICATE] = _encoded(certificate)
        if key:
            found[_KEY] = _encoded(key)
        return found


def following(
    before: Record | None,
    uuid: str,
    looks: str,
    now: float,
    credential: change.Credential | None,
) -> Record:
    """The record of a change.

    :param before: of the change before it
    :param uuid: of the cluster
    :param credential: of a limited user; None: of another one
    """
    first = before is None or (
        before.event == change.READY and not before.delivered
    )
    return Record(
        id=change.delivery_id(before.id if before else uuid, looks),
        event=change.READY if first else change.CHANGED,
        looks=looks,
        # Receivers take the latest, whatever the clocks of conductors say.
        created=max(now, before.created + 1.0 if before else 0.0),
        certificate=credential.certificate if credential else "",
        key=credential.key if credential else "",
    )


def from_secret(name: str, data: dict[str, str]) -> Record:
    """The record that a Secret holds.

    :param name: of the Secret
    :raises ManagementError: it holds none that this version can read
    """
    try:
        head = encoding.read_plain(data[_HEAD])
        if head.pop("format") != _FORMAT:
            raise ValueError
        return Record(
            id=str(head["id"]),
            event=str(head["event"]),
            looks=str(head["looks"]),
            created=float(head["created"]),
            attempts=int(head["attempts"]),
            not_before=float(head["not_before"]),
            delivered=float(head["delivered"]),
            certificate=_decoded(data.get(_CERTIFICATE, "")),
            key=_decoded(data.get(_KEY, "")),
        )
    except encoding.DAMAGED as error:
        # Not chained: errors quote what they read, and it has a key.
        raise errors.ManagementError(
            f"the Secret {name} does not say what was delivered "
            f"({type(error).__name__}): delete it, and the cluster's "
            "kubeconfig is delivered anew"
        ) from None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()
