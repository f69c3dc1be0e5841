# SPDX-License-Identifier: Apache-2.0

"""The requests that a random walk makes, right and wrong ones."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

#: Operations that this driver serves. Where one is missing, each request for
#: it has to be refused.
SERVED = frozenset({"credential", "masters", "upgrade"})

OLD, NEW = "v1.34.2", "v1.35.1"
#: Classes of answers: of HTTP's status codes, the first digit.
TAKEN, REFUSED = frozenset({2}), frozenset({4})
#: Right or wrong depends on a state that changes while we ask.
EITHER = TAKEN | REFUSED
_NAMES = ("gpu", "GPU", "g.p-u", "g_p_u", "0", "x" * 60)


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
    :param doomed: groups that somebody asked to delete
    :param calm: whether it is met idle alone
    """

    uuid: str
    masters: set[int]
    counts: dict[str, set[int]]
    versions: set[str] = dataclasses.field(default_factory=lambda: {OLD})
    deleted: bool = False
    doomed: set[str] = dataclasses.field(default_factory=set)
    calm: bool = False

    @property
    def path(self) -> str:
        """Where it is in the API."""
        return f"/clusters/{self.uuid}"


class Requests:
    """Draws requests of one kind or another.

    :param templates: of clusters, by version of Kubernetes; under "" one
        whose image has none
    :param prefix: of the clusters' names
    """

    def __init__(
        self, dice: random.Random, templates: dict[str, str], prefix: str
    ) -> None:
        self._random = dice
        self._templates = templates
        self._prefix = prefix
        self._made = 0

    # Clusters

    def create(self) -> Request:
        """A new cluster; one of five is wrong."""
        self._made += 1
        body = {
            "name": f"{self._prefix}-{self._made}",
            "cluster_template_id": self._templates[OLD],
            "node_count": self._random.choice((0, 1, 1, 2)),
            "master_count": 1,
        }
        right = TAKEN
        if self._random.random() < 0.2:
            wrong = {"master_count": 2}, {"node_count": -1}
            body |= self._random.choice(wrong)
            right = REFUSED
        return Request("create", "POST", "/clusters", body, right)

    def delete(self, cluster: Cluster) -> Request:
        """The whole cluster."""
        return Request("delete", "DELETE", cluster.path, None, TAKEN, cluster)

    def update(self, cluster: Cluster) -> Request:
        """A resize by another call."""
        count = self._random.randint(1, 2)
        return Request(
            "update",
            "PATCH",
            cluster.path,
            [{"op": "replace", "path": "/node_count", "value": count}],
            TAKEN,
            cluster,
            "default-worker",
            count,
        )

    # Sizes

    def resize(self, cluster: Cluster) -> Request:
        """A group that there may be."""
        group = self._random.choice([*cluster.counts])
        count = self._random.randint(0, 2)
        # A group that is added may not be there yet, or was refused.
        right = TAKEN if group == "default-worker" else EITHER
        return self._sized(cluster, group, count, right)

    def resize_wrongly(self, cluster: Cluster) -> Request:
        """What can never be."""
        group, count = self._random.choice(
            (
                ("default-worker", -1),
                ("nonesuch", 1),
                ("default-master", 2),
                ("default-master", 0),
                ("default-worker", "many"),
            )
        )
        made = self._sized(cluster, group, count, REFUSED)
        return dataclasses.replace(made, what="resize wrongly")

    def resize_masters(self, cluster: Cluster) -> Request:
        """The control plane."""
        count = self._random.choice((1, 3))
        right = TAKEN if "masters" in SERVED else REFUSED
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

    def add_group(self, cluster: Cluster) -> Request:
        """A group; one of four has a label that only the driver refuses."""
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
            EITHER,
            cluster,
            name,
            1,
        )

    def add_group_wrongly(self, cluster: Cluster) -> Request:
        """A group that can never be."""
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
            "add group wrongly", "POST", path, body, REFUSED, cluster
        )

    def change_group(self, cluster: Cluster) -> Request:
        """Bounds of a group."""
        group = self._random.choice([*cluster.counts])
        value = self._random.choice((2, 3))
        return Request(
            "change group",
            "PATCH",
            f"{cluster.path}/nodegroups/{group}",
            [{"op": "replace", "path": "/max_node_count", "value": value}],
            EITHER,
            cluster,
            group,
        )

    def delete_group(self, cluster: Cluster) -> Request:
        """A group that there may be; not those that must stay."""
        group = self._random.choice([*cluster.counts, "nonesuch"])
        right = EITHER
        if group in ("default-worker", "nonesuch"):
            right = REFUSED
        path = f"{cluster.path}/nodegroups/{group}"
        return Request(
            "delete group", "DELETE", path, None, right, cluster, group
        )

    # Versions and secrets

    def upgrade(self, cluster: Cluster) -> Request:
        """To the new version."""
        # Only of one that is complete, which changes while we ask.
        right = EITHER if "upgrade" in SERVED else REFUSED
        return self._upgraded(cluster, self._templates[NEW], right)

    def upgrade_wrongly(self, cluster: Cluster) -> Request:
        """To what no cluster can be brought to."""
        wrong = ["nonesuch", self._templates[""]]
        if NEW in cluster.versions:
            wrong.append(self._templates[OLD])
        made = self._upgraded(cluster, self._random.choice(wrong), REFUSED)
        return dataclasses.replace(made, what="upgrade wrongly")

    def _upgraded(
        self, cluster: Cluster, template: str, right: frozenset[int]
    ) -> Request:
        body = {"cluster_template": template, "max_batch_size": 1}
        path = f"{cluster.path}/actions/upgrade"
        return Request("upgrade", "POST", path, body, right, cluster)

    def rotate_credential(self, cluster: Cluster) -> Request:
        """A new credential."""
        right = EITHER if "credential" in SERVED else REFUSED
        return Request(
            "rotate credential",
            "PATCH",
            f"/credentials/{cluster.uuid}",
            None,
            right,
            cluster,
            version="container-infra 1.12",
        )

    def rotate_authority(self, cluster: Cluster) -> Request:
        """A new CA, which nobody gets."""
        right = EITHER if "authority" in SERVED else REFUSED
        path = f"/certificates/{cluster.uuid}"
        return Request("rotate authority", "PATCH", path, None, right, cluster)
