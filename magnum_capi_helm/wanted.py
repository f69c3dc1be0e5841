# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What Magnum's rows want, as plain data, and its fingerprint."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import hashlib
import json

from magnum_capi_helm import names


@dataclasses.dataclass(frozen=True)
class Group:
    """One nodegroup row.

    :param name: Magnum's name of the group
    :param chart_name: the chart's name of the group
    :param control_plane: whether it is the group of role master
    :param count: wanted machines
    """

    uuid: str
    name: str
    chart_name: str
    control_plane: bool
    count: int
    flavor_id: str | None = None
    image_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Rows:
    """A cluster's rows: the groups that ought to exist, no deleted ones."""

    uuid: str
    release: str
    groups: tuple[Group, ...]

    @property
    def workers(self) -> tuple[Group, ...]:
        """All groups but the control plane."""
        return tuple(each for each in self.groups if not each.control_plane)

    @property
    def master(self) -> Group | None:
        """The control plane's group."""
        for each in self.groups:
            if each.control_plane:
                return each
        return None

    def counts(self) -> dict[str, int]:
        """Wanted machines by the chart's name of each worker group."""
        return {each.chart_name: each.count for each in self.workers}

    def known_as(self, existing: Collection[str]) -> Rows:
        """With 1.4.0's names for groups that exist under those.

        :param existing: chart names of the groups that a release has
        """
        return dataclasses.replace(
            self,
            groups=tuple(_known_as(each, existing) for each in self.groups),
        )

    def fingerprint(self) -> str:
        """Changes when, and only when, the rows want something else."""
        wanted = sorted(
            json.dumps([each.uuid, each.count, each.flavor_id, each.image_id])
            for each in self.groups
        )
        digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
        return f"v1-{digest[:24]}"


def _known_as(group: Group, existing: Collection[str]) -> Group:
    legacy = names.legacy_node_group(group.name)
    if group.chart_name in existing or legacy not in existing:
        return group
    return dataclasses.replace(group, chart_name=legacy)
