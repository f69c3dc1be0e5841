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

"""What a random walk may do to clusters, and what must come of it.

A model in plain Python: it draws the next request, says which answers are
right for it, and learns from the answer. It knows what may be true at the
end, not when: Magnum accepts first and decides later.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import random
from typing import Any

#: Clusters that live at the same time.
CLUSTERS = 5
#: Operations that this driver serves. Where one is missing, each request for
#: it has to be refused.
SERVED = frozenset({"credential", "masters", "upgrade"})

OLD, NEW = "v1.34.2", "v1.35.1"
#: Classes of answers: of HTTP's status codes, the first digit.
_TAKEN, _REFUSED = frozenset({2}), frozenset({4})
#: Right or wrong depends on a state that changes while we ask.
_EITHER = _TAKEN | _REFUSED
_NAMES = ("gpu", "GPU", "g.p-u", "g_p_u", "0", "x" * 60)
_TAINTS = [{"key": "only", "value": "me", "effect": "PreferNoSchedule"}]


@dataclasses.dataclass(frozen=True)
class Request:
    """A request to Magnum's API.

    :param right: classes of answers that are right
    :param cluster: what it is about; None for a cluster to be made
    :param version: another microversion than the tests' own
    """

    what: str
    method: str
    path: str
    body: Any
    right: frozenset[int]
    cluster: Cluster | None = None
    group: str = ""
    count: int | None = None
    version: str = ""


@dataclasses.dataclass
class Cluster:
    """What was asked of one cluster.

    :param counts: group -> each count that it may have by now
    :param kept: groups that nobody asked to delete
    :param release: its stack_id, once known
    """

    uuid: str
    masters: set[int]
    counts: dict[str, set[int]]
    versions: set[str] = dataclasses.field(default_factory=lambda: {OLD})
    deleted: bool = False
    doomed: set[str] = dataclasses.field(default_factory=set)
    release: str = ""

    @property
    def path(self) -> str:
        """Where it is in the API."""
        return f"/clusters/{self.uuid}"


class Model:
    """The clusters, and a source of requests.

    :param templates: of clusters, by version of Kubernetes; under "" one
        whose image has none
    """

    def __init__(self, seed: int, templates: dict[str, str]) -> None:
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._templates = templates
        self._made = 0
        self.clusters: list[Cluster] = []

    @property
    def living(self) -> list[Cluster]:
        """Clusters that nobody asked to delete."""
        return [each for each in self.clusters if not each.deleted]

    def draw(self) -> Request:
        """The next request."""
        if len(self.living) < CLUSTERS and self._random.random() < 0.5:
            return self._create()
        rules: dict[Callable[[Cluster], Request], int] = {
            self._resize: 26,
            self._resize_wrongly: 12,
            self._resize_masters: 8,
            self._update: 8,
            self._add_group: 12,
            self._add_group_wrongly: 8,
            self._change_group: 6,
            self._delete_group: 6,
            self._upgrade: 6,
            self._upgrade_wrongly: 5,
            self._rotate_credential: 3,
            self._rotate_authority: 2,
            self._delete: 5,
        }
        if not self.clusters:
            return self._create()
        (rule,) = self._random.choices([*rules], [*rules.values()])
        # Deleted ones, too: the last three, which may not be gone yet.
        gone = [each for each in self.clusters if each.deleted][-3:]
        pool = [*self.living * 4, *gone]
        request = rule(self._random.choice(pool))
        if request.cluster and request.cluster.deleted:
            request = dataclasses.replace(request, right=_EITHER)
        return request

    def learn(self, request: Request, status: int, answer: Any) -> None:
        """What an answer changes."""
        if status >= 300:
            return
        cluster = request.cluster
        if cluster is None:
            counts = {"default-worker": {request.body["node_count"]}}
            made = Cluster(answer["uuid"], {1}, counts)
            self.clusters.append(made)
        elif request.what == "delete":
            cluster.deleted = True
        elif request.what == "resize masters":
            cluster.masters.add(request.count or 1)
        elif request.what == "upgrade":
            cluster.versions.add(NEW)
        elif request.what == "delete group":
            cluster.doomed.add(request.group)
        elif request.count is not None:
            counts = cluster.counts
            counts.setdefault(request.group, set()).add(request.count)

    # Clusters

    def _create(self) -> Request:
        self._made += 1
        body = {
            "name": f"walk-{self._made}",
            "cluster_template_id": self._templates[OLD],
            "node_count": self._random.choice((0, 1, 1, 2)),
            "master_count": 1,
        }
        right = _TAKEN
        if self._random.random() < 0.2:
            wrong = {"master_count": 2}, {"node_count": -1}
            body |= self._random.choice(wrong)
            right = _REFUSED
        return Request("create", "POST", "/clusters", body, right)

    def _delete(self, cluster: Cluster) -> Request:
        return Request("delete", "DELETE", cluster.path, None, _TAKEN, cluster)

    def _update(self, cluster: Cluster) -> Request:
        count = self._random.randint(1, 2)
        return Request(
            "update",
            "PATCH",
            cluster.path,
            [{"op": "replace", "path": "/node_count", "value": count}],
            _TAKEN,
            cluster,
            "default-worker",
            count,
        )

    # Sizes

    def _resize(self, cluster: Cluster) -> Request:
        group = self._random.choice([*cluster.counts])
        count = self._random.randint(0, 2)
        # A group that is added may not be there yet, or was refused.
        right = _TAKEN if group == "default-worker" else _EITHER
        return self._sized(cluster, group, count, right)

    def _resize_wrongly(self, cluster: Cluster) -> Request:
        group, count = self._random.choice(
            (
                ("default-worker", -1),
                ("nonesuch", 1),
                ("default-master", 2),
                ("default-master", 0),
                ("default-worker", "many"),
            )
        )
        return self._sized(cluster, group, count, _REFUSED)

    def _resize_masters(self, cluster: Cluster) -> Request:
        count = self._random.choice((1, 3))
        right = _TAKEN if "masters" in SERVED else _REFUSED
        made = self._sized(cluster, "default-master", count, right)
        return dataclasses.replace(made, what="resize masters")

    def _sized(
        self, cluster: Cluster, group: str, count: Any, right: frozenset[int]
    ) -> Request:
        body = {"node_count": count, "nodegroup": group}
        path = f"{cluster.path}/actions/resize"
        return Request(
            "resize", "POST", path, body, right, cluster, group, count
        )

    # Groups

    def _add_group(self, cluster: Cluster) -> Request:
        name = self._random.choice(_NAMES)
        body: dict[str, Any] = {
            "name": name,
            "flavor_id": "m1.worker",
            "node_count": 1,
            "min_node_count": 0,
        }
        extra: tuple[dict[str, Any], ...] = (
            {},
            {"max_node_count": 2},
            {"labels": {"boot_volume_size": "20"}, "merge_labels": True},
            # Accepted by Magnum, and refused by the driver with a reason.
            {"labels": {"boot_volume_size": "big"}, "merge_labels": True},
        )
        body |= self._random.choice(extra)
        # Not before the cluster has an address, not twice.
        return Request(
            "add group",
            "POST",
            f"{cluster.path}/nodegroups",
            body,
            _EITHER,
            cluster,
            name,
            1,
        )

    def _add_group_wrongly(self, cluster: Cluster) -> Request:
        wrong: tuple[dict[str, Any], ...] = (
            {"name": "default-worker"},
            {"role": "master"},
            {"node_count": -1},
            {"min_node_count": 2, "node_count": 1},
            {"max_node_count": 1, "node_count": 2},
            {"flavor_id": "nonesuch"},
        )
        body = {
            "name": "wrong",
            "flavor_id": "m1.worker",
            "node_count": 1,
            "min_node_count": 0,
        } | self._random.choice(wrong)
        path = f"{cluster.path}/nodegroups"
        return Request(
            "add group wrongly", "POST", path, body, _REFUSED, cluster
        )

    def _change_group(self, cluster: Cluster) -> Request:
        group = self._random.choice([*cluster.counts])
        value = self._random.choice((2, 3))
        return Request(
            "change group",
            "PATCH",
            f"{cluster.path}/nodegroups/{group}",
            [{"op": "replace", "path": "/max_node_count", "value": value}],
            _EITHER,
            cluster,
            group,
        )

    def _delete_group(self, cluster: Cluster) -> Request:
        group = self._random.choice([*cluster.counts, "nonesuch"])
        right = _EITHER
        if group in ("default-worker", "nonesuch"):
            right = _REFUSED
        path = f"{cluster.path}/nodegroups/{group}"
        return Request(
            "delete group", "DELETE", path, None, right, cluster, group
        )

    # Versions and secrets

    def _upgrade(self, cluster: Cluster) -> Request:
        # Only of one that is complete, which changes while we ask.
        right = _EITHER if "upgrade" in SERVED else _REFUSED
        return self._upgraded(cluster, self._templates[NEW], right)

    def _upgrade_wrongly(self, cluster: Cluster) -> Request:
        wrong = ["nonesuch", self._templates[""]]
        if NEW in cluster.versions:
            wrong.append(self._templates[OLD])
        return self._upgraded(cluster, self._random.choice(wrong), _REFUSED)

    def _upgraded(
        self, cluster: Cluster, template: str, right: frozenset[int]
    ) -> Request:
        body = {"cluster_template": template, "max_batch_size": 1}
        path = f"{cluster.path}/actions/upgrade"
        return Request("upgrade", "POST", path, body, right, cluster)

    def _rotate_credential(self, cluster: Cluster) -> Request:
        right = _EITHER if "credential" in SERVED else _REFUSED
        return Request(
            "rotate credential",
            "PATCH",
            f"/credentials/{cluster.uuid}",
            None,
            right,
            cluster,
            version="container-infra 1.12",
        )

    def _rotate_authority(self, cluster: Cluster) -> Request:
        right = _EITHER if "authority" in SERVED else _REFUSED
        path = f"/certificates/{cluster.uuid}"
        return Request("rotate authority", "PATCH", path, None, right, cluster)
