# SPDX-License-Identifier: Apache-2.0

"""The desired state of a release: chart, values and fingerprint.

A Secret beside the release stores it *before* helm runs. So any conductor can
finish the work of another one, and a changed default, image name or driver
version does not reach a cluster through a resize. Keys of a newer version of
the driver are kept.

The same Secret stores pending requests about single nodegroups for the next
writer. Each has its own key, so writing one needs no Lease and can't undo
another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import dataclasses
import re
from typing import Any

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import requested_groups

_FORMAT = "1"
#: While steps of an upgrade follow. Versions that know no steps would write
#: COMPLETE after the first step: they leave this format alone.
_FORMAT_OF_STEPS = "2"
_HEAD = "intent.json"
_VALUES = "values.json.gz"
_BEFORE = "before.json"
_BEFORE_VALUES = "before-values.json.gz"

_PLACE = "the Secret with the desired state, <release>-intent"

#: As a patch of the Secret, removes the state that a rollback would restore.
FORGET_PREVIOUS = {_BEFORE: None, _BEFORE_VALUES: None}

#: Key of the changes that an upgrade still has to write into Magnum's rows.
MOVES = "moves.json"
#: As a patch, removes all parts that another desired state may lack.
NO_PARTS = {MOVES: None, **FORGET_PREVIOUS}
_MAY_REPLACE = "may_replace"
_HEAD_KEYS = (
    "format",
    "chart",
    "digest",
    "fingerprint",
    "since",
    "labels",
    _MAY_REPLACE,
)
_BEFORE_KEYS = ("chart", "labels", "moves")

#: Place of a stored mapping -> its keys that this version does not know.
More = dict[str, dict[str, Any]]


class NewerError(errors.ManagementError):
    """A newer version wrote the Secret; this one must not change it."""

    retriable = True

    def __init__(self) -> None:
        super().__init__(
            f"{_PLACE}, is of a newer version of the driver: a conductor of "
            "that version continues"
        )


@dataclasses.dataclass(frozen=True)
class Permission:
    """The groups whose machines a desired state may replace.

    The request that was accepted names them. They count for one change of the
    release only: until helm has deployed another revision.

    :param revision: the revision that helm compares with at that time
    :param groups: the chart's names of node groups, and
        ``names.CONTROL_PLANE``; None: all
    :param back: the Kubernetes version of the control plane may fall
    """

    revision: int
    groups: frozenset[str] | None = frozenset()
    back: bool = False

    def content(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        groups = None if self.groups is None else sorted(self.groups)
        return {**vars(self), "groups": groups}


@dataclasses.dataclass(frozen=True)
class Moves:
    """Changes of Magnum's rows that an accepted upgrade still has to save.

    :param template: UUID of the cluster's template
    :param groups: UUID of a nodegroup -> its fields
    """

    template: str
    groups: Mapping[str, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Before:
    """The state of a release before its last upgrade, for a rollback.

    :param labels: as :attr:`DesiredState.labels`
    :param moves: changes that take the rows back
    """

    chart: cluster_spec.Chart
    values: dict[str, Any]
    labels: Mapping[str, str] | None
    moves: Moves


@dataclasses.dataclass(frozen=True)
class DesiredState:
    """The chart and values that a release shall have.

    :param fingerprint: :meth:`requested_groups.Rows.fingerprint` of the rows
        that it was made from
    :param since: time at which it was written, seconds since 1970
    :param labels: labels that the cluster's user gave, once the row also has
        labels of a former template; None: as in the row
    :param moves: changes that an upgrade still has to write into the rows
    :param before: the state that a rollback of the last upgrade restores
    :param digest: SHA-256 of the packaged chart that the cluster was made
        from, or upgraded to; empty: not known
    :param steps_follow: of an upgrade
    :param may_replace: None: an older version of the driver accepted it
    :param version: ``resourceVersion`` of the Secret that it was read from;
        empty: there was none
    :param more: keys of a newer version, by the place of their mapping
    """

    chart: cluster_spec.Chart
    values: dict[str, Any]
    fingerprint: str
    since: float
    labels: Mapping[str, str] | None = None
    moves: Moves | None = None
    before: Before | None = None
    digest: str = ""
    steps_follow: bool = False
    may_replace: Permission | None = None
    version: str = ""
    more: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict
    )

    def permitting(
        self,
        revision: int,
        groups: Collection[str] | None,
        *,
        back: bool = False,
    ) -> DesiredState:
        """Return the state with more groups that it may replace.

        :param revision: the revision that helm compares with now
        :param groups: None: all
        """
        before = self.may_replace
        if before and before.revision == revision and groups is not None:
            groups = (
                None if before.groups is None else before.groups.union(groups)
            )
            back = back or before.back
        names = None if groups is None else frozenset(groups)
        permission = Permission(revision, names, back)
        return dataclasses.replace(self, may_replace=permission)

    def to_secret(self) -> dict[str, str]:
        """Return the ``data`` of its Secret."""
        head = {
            "format": _FORMAT_OF_STEPS if self.steps_follow else _FORMAT,
            "chart": self._with_more("chart", vars(self.chart)),
            "fingerprint": self.fingerprint,
            "since": self.since,
        }
        if self.digest:
            head["digest"] = self.digest
        if self.labels is not None:
            head["labels"] = dict(self.labels)
        if self.may_replace:
            head[_MAY_REPLACE] = self.may_replace.content()
        data = {
            _HEAD: encoding.plain(self._with_more("head", head)),
            _VALUES: _packed(self.values, self.chart),
        }
        if self.moves:
            moves = self._with_more("moves", vars(self.moves))
            data[MOVES] = encoding.plain(moves)
        if before := self.before:
            head = {
                "chart": self._with_more("before.chart", vars(before.chart)),
                "moves": self._with_more("before.moves", vars(before.moves)),
                "labels": before.labels,
            }
            data[_BEFORE] = encoding.plain(self._with_more("before", head))
            data[_BEFORE_VALUES] = _packed(before.values, before.chart)
        return data

    def _with_more(
        self, place: str, content: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {**self.more.get(place, {}), **content}


def from_secret(data: Mapping[str, str], version: str = "") -> DesiredState:
    """Return the desired state of a Secret.

    :param version: ``resourceVersion`` of the Secret
    :raises NewerError: in a format of a newer version
    :raises ManagementError: it holds none that can be read
    """
    try:
        head = encoding.read_plain(data[_HEAD])
        if int(head["format"]) > int(_FORMAT_OF_STEPS):
            raise NewerError
        if head["format"] not in (_FORMAT, _FORMAT_OF_STEPS):
            raise ValueError(head["format"])
        more: More = {}
        head = _known(more, "head", head, _HEAD_KEYS)
        chart = _chart(more, "chart", head["chart"])
        return DesiredState(
            chart=chart,
            values=paths.named(encoding.unpack(data[_VALUES]), chart.version),
            fingerprint=head["fingerprint"],
            since=float(head["since"]),
            labels=head.get("labels"),
            moves=_moves(more, "moves", encoding.read_plain(data[MOVES]))
            if MOVES in data
            else None,
            before=_before(more, data) if _BEFORE in data else None,
            digest=head.get("digest", ""),
            steps_follow=head["format"] == _FORMAT_OF_STEPS,
            may_replace=_permission(head.get(_MAY_REPLACE)),
            version=version,
            more=more,
        )
    except encoding.DAMAGED as error:
        raise errors.ManagementError(
            f"{_PLACE}, is damaged ({type(error).__name__})"
        ) from error


def _permission(content: Mapping[str, Any] | None) -> Permission | None:
    if content is None:
        return None
    groups = content["groups"]
    return Permission(
        int(content["revision"]),
        None if groups is None else frozenset(groups),
        bool(content["back"]),
    )


def _before(more: More, data: Mapping[str, str]) -> Before:
    head = encoding.read_plain(data[_BEFORE])
    _known(more, "before", head, _BEFORE_KEYS)
    chart = _chart(more, "before.chart", head["chart"])
    old = encoding.unpack(data[_BEFORE_VALUES])
    return Before(
        chart=chart,
        values=paths.named(old, chart.version),
        labels=head["labels"],
        moves=_moves(more, "before.moves", head["moves"]),
    )


def _packed(values: paths.Values, chart: cluster_spec.Chart) -> str:
    """Return values at the paths of their chart, as helm's records have."""
    return encoding.pack(paths.spelled(values, chart.version))


def _chart(more: More, place: str, content: Any) -> cluster_spec.Chart:
    keys = cluster_spec.Chart.__dataclass_fields__
    return cluster_spec.Chart(**_known(more, place, content, keys))


def _moves(more: More, place: str, content: Any) -> Moves:
    return Moves(**_known(more, place, content, Moves.__dataclass_fields__))


def _known(
    more: More, place: str, content: dict[str, Any], keys: Iterable[str]
) -> dict[str, Any]:
    """Return the known keys of a mapping, and put the others into ``more``.

    A newer version of the driver may add keys. They are kept.
    """
    ours = {key: content[key] for key in keys if key in content}
    if unknown := {k: v for k, v in content.items() if k not in ours}:
        more[place] = unknown
    return ours


def is_stored(data: Mapping[str, str]) -> bool:
    """Return whether a Secret holds more than pending requests."""
    return _HEAD in data or _VALUES in data


#: ``group-<uuid>`` has the item of a new group, ``group-<uuid>.deleted`` marks
#: a deletion, and ``group-<uuid>.<settings_id>`` has a change of settings.
_KEY = re.compile(r"group-([0-9a-f-]{36})(?:\.([0-9a-z]+))?")
_DELETED = "deleted"


@dataclasses.dataclass(frozen=True)
class PendingRequests:
    """Pending requests about nodegroups, for the next writer to apply.

    :param items: by UUID: the item of a new group
    :param changes: by UUID and ``Group.settings_id``: keys of the group's
        item that those settings want; a key that is None has to go
    :param deleted: UUIDs of groups that are to be deleted, whatever their
        rows say by now
    :param keys: all keys, with the UUID of the group of each
    """

    items: Mapping[str, dict[str, Any]] = dataclasses.field(
        default_factory=dict
    )
    changes: Mapping[tuple[str, str], dict[str, Any]] = dataclasses.field(
        default_factory=dict
    )
    deleted: frozenset[str] = frozenset()
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def change_of(self, group: requested_groups.Group) -> dict[str, Any]:
        """Return the changes that the group's settings make in its item."""
        return self.changes.get((group.uuid, group.settings_id), {})

    def keys_of(self, uuids: Iterable[str]) -> frozenset[str]:
        """Return all keys of some groups."""
        wanted_uuids = frozenset(uuids)
        return frozenset(
            key for key, uuid in self.keys.items() if uuid in wanted_uuids
        )


def item_key(uuid: str) -> str:
    """Return the key of the item of a new group."""
    return f"group-{uuid}"


def change_key(group: requested_groups.Group) -> str:
    """Return the key of the change that the group's settings request."""
    return f"group-{group.uuid}.{group.settings_id}"


def deleted_key(uuid: str) -> str:
    """Return the key that marks a group for deletion."""
    return f"group-{uuid}.{_DELETED}"


def pending_requests(data: Mapping[str, str]) -> PendingRequests:
    """Return the pending requests of a Secret.

    :raises ManagementError: something that can't be read
    """
    items: dict[str, dict[str, Any]] = {}
    changes: dict[tuple[str, str], dict[str, Any]] = {}
    deleted: set[str] = set()
    keys: dict[str, str] = {}
    for key, text in data.items():
        match = _KEY.fullmatch(key)
        if match is None:
            continue
        try:
            content = encoding.read_plain(text)
        except encoding.DAMAGED as error:
            raise errors.ManagementError(
                f"a nodegroup in {_PLACE}, is damaged ({type(error).__name__})"
            ) from error
        uuid, setting = match.groups()
        keys[key] = uuid
        if setting is None:
            items[uuid] = content
        elif setting == _DELETED:
            deleted.add(uuid)
        else:
            changes[uuid, setting] = content
    return PendingRequests(items, changes, frozenset(deleted), keys)
