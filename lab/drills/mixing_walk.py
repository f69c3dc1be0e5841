# SPDX-License-Identifier: Apache-2.0
"""A walk of requests that both 1.4.0 and this driver serve."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.tests.functional import walk
from magnum_capi_helm.tests.functional import walk_requests

_GROUPS = ("gpu", "batch", "db")


class Requests(walk_requests.Requests):
    """What both drivers serve."""

    def create(self) -> walk_requests.Request:
        """A right one."""
        while True:
            made = super().create()
            if made.right == walk_requests.TAKEN:
                return made

    def add_group(
        self, cluster: walk_requests.Cluster
    ) -> walk_requests.Request:
        """A group with a name of which both make the same."""
        name = self._random.choice(_GROUPS)
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        return walk_requests.Request(
            "add group",
            "POST",
            f"{cluster.path}/nodegroups",
            body,
            walk_requests.EITHER,
            cluster,
            name,
            1,
        )


class Model(walk.Model):
    """Creates, resizes, groups that come and go, deletions."""

    def __init__(self, seed: int, template: str, prefix: str) -> None:
        super().__init__(seed, {walk_requests.OLD: template}, prefix)
        self._requests = Requests(
            self._random, {walk_requests.OLD: template}, prefix
        )
        #: Cluster and group of which somebody asked for fewer.
        self.shrunk: set[tuple[str, str]] = set()

    def first(self) -> walk_requests.Request:
        """A cluster, whatever else is drawn."""
        return self._requests.create()

    def sized(self, uuid: str, count: int) -> None:
        """The drill itself resizes the workers of a cluster."""
        for cluster in self.living:
            if cluster.uuid == uuid:
                known = cluster.counts["default-worker"]
                if count < max(known):
                    self.shrunk.add((uuid, "default-worker"))
                known.add(count)

    def _rules(self) -> dict[walk.Rule, int]:
        make = self._requests
        return {
            make.resize: 30,
            make.add_group: 14,
            make.delete_group: 8,
            make.delete: 4,
        }

    def learn(
        self, request: walk_requests.Request, status: int, answer: Any
    ) -> None:
        """And which groups were to become smaller."""
        known = request.cluster
        if known and status < 300:
            before = known.counts.get(request.group, {0})
            if request.what == "delete group" or (
                request.what == "resize" and (request.count or 0) < max(before)
            ):
                self.shrunk.add((known.uuid, request.group))
        super().learn(request, status, answer)
