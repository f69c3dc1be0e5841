# SPDX-License-Identifier: Apache-2.0

"""The nodegroups that Magnum's rows request, and their fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import dataclasses
import hashlib
import json
from typing import Any

from magnum_capi_helm.model import names

#: The annotation of a Cluster with the fingerprint of the rows it was made of.
FINGERPRINT_ANNOTATION = "magnum.openstack.org/intent"
#: The annotation of a Cluster whose workers are away until it is woken.
HIBERNATED_ANNOTATION = "magnum.openstack.org/hibernated"


@dataclasses.dataclass(frozen=True)
class Group:
    """A nodegroup, as its row requests it.

    :param name: Magnum's name of the group
    :param chart_name: the chart's name of the group; empty: it has none
    :param control_plane: whether it is the group of role master
    :param count: wanted machines
    :param minimum: the row's lower bound for the autoscaler
    :param maximum: the row's upper bound; None: not set
    :param node_labels: the row's labels of Kubernetes nodes, by key
    :param node_taints: the row's taints: key, value and effect of each
    :param made: the driver has accepted it at some time
    """

    uuid: str
    name: str
    chart_name: str
    control_plane: bool
    count: int
    flavor_id: str | None = None
    image_id: str | None = None
    minimum: int = 0
    maximum: int | None = None
    node_labels: tuple[tuple[str, str], ...] = ()
    node_taints: tuple[tuple[str, str, str], ...] = ()
    made: bool = True

    @property
    def settings(self) -> dict[str, object]:
        """Return the settings that an update may change and that are set."""
        fields = {
            "minimum": self.minimum,
            "maximum": self.maximum,
            "node_labels": dict(self.node_labels),
            "node_taints": list(self.node_taints),
        }
        return {key: value for key, value in fields.items() if value}

    @property
    def settings_id(self) -> str:
        """Return a short hash of :attr:`settings`."""
        text = json.dumps(self.settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of a cluster.

    :param groups: groups that ought to exist
    :param leaving: groups that are being deleted
    :param refused: groups that the driver has refused, or not accepted yet
    :param hibernated: no group of workers has machines, whatever it wants
    """

    uuid: str
    release: str
    groups: tuple[Group, ...]
    leaving: tuple[Group, ...] = ()
    refused: tuple[Group, ...] = ()
    hibernated: bool = False

    @property
    def workers(self) -> tuple[Group, ...]:
        """Return the groups of workers that ought to exist."""
        workers = (each for each in self.groups if not each.control_plane)
        if self.hibernated:
            workers = (dataclasses.replace(each, count=0) for each in workers)
        return tuple(workers)

    @property
    def master(self) -> Group | None:
        """Return the control plane's group."""
        for each in self.groups:
            if each.control_plane:
                return each
        return None

    def with_group(self, group: Group) -> Rows:
        """Return the rows with a group that ought to exist, as it is now."""
        rest = self._without(group.uuid)
        return dataclasses.replace(rest, groups=(*rest.groups, group))

    def with_leaving(self, group: Group) -> Rows:
        """Return the rows with a group that is being deleted."""
        rest = self._without(group.uuid)
        return dataclasses.replace(rest, leaving=(*rest.leaving, group))

    def _without(self, uuid: str) -> Rows:
        return self._changed(
            lambda groups: tuple(each for each in groups if each.uuid != uuid)
        )

    def _changed(
        self, change: Callable[[tuple[Group, ...]], tuple[Group, ...]]
    ) -> Rows:
        return dataclasses.replace(
            self,
            groups=change(self.groups),
            leaving=change(self.leaving),
            refused=change(self.refused),
        )

    def moved(self, moves: Mapping[str, Mapping[str, Any]]) -> Rows:
        """Return the rows with other fields of groups that ought to exist.

        :param moves: UUID of a nodegroup -> fields of its row
        """

        def changed(group: Group) -> Group:
            fields = dict(moves.get(group.uuid, {}))
            count = fields.pop("node_count", group.count)
            return dataclasses.replace(group, count=count, **fields)

        groups = tuple(map(changed, self.groups))
        return dataclasses.replace(self, groups=groups)

    def counts(self) -> dict[str, int]:
        """Return the wanted machines by the chart's name of each group."""
        return {each.chart_name: each.count for each in self.workers}

    def named_as(self, existing: Collection[str]) -> Rows:
        """Return the rows with the names that the groups have in the release.

        1.4.0 made other names, and its groups keep them. Each name has one
        owner: a name by today's rule is stronger than one of 1.4.0, and
        accepted groups are stronger than the others. One of the others may
        get no name.

        :param existing: chart names of the groups that a release has
        """
        owners = self._owners(existing)

        def named(groups: tuple[Group, ...]) -> tuple[Group, ...]:
            return tuple(
                dataclasses.replace(
                    each,
                    chart_name=owners.get(
                        each.uuid, each.chart_name if each.made else ""
                    ),
                )
                for each in groups
            )

        return self._changed(named)

    def _owners(self, existing: Collection[str]) -> dict[str, str]:
        """Return the names of groups among the existing ones, by UUID."""
        others = (*self.leaving, *self.refused)
        accepted = (*self.groups, *(each for each in others if each.made))
        free = set(existing)
        owners: dict[str, str] = {}
        for groups in (accepted, others):
            candidates = [(each, each.chart_name) for each in groups]
            candidates += [
                (each, names.legacy_node_group(each.name)) for each in groups
            ]
            for each, name in candidates:
                if each.uuid not in owners and name in free:
                    owners[each.uuid] = name
                    free.discard(name)
        return owners

    def fingerprint(self) -> str:
        """Return a hash that changes if, and only if, the request changes."""
        wanted = sorted(json.dumps(_wanted_of(each)) for each in self.groups)
        digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
        return f"v1-{digest[:24]}"


def _wanted_of(group: Group) -> list[object]:
    fields: list[object] = [
        group.uuid,
        group.count,
        group.flavor_id,
        group.image_id,
    ]
    # Only where there are some: fingerprints are kept in living clusters.
    if group.settings:
        fields.append(group.settings_id)
    return fields
