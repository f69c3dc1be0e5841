# SPDX-License-Identifier: Apache-2.0

"""What a random walk may do to clusters, and what must come of it.

A model in plain Python: it draws the next request, says which answers are
right for it, and learns from the answer. It knows what may be true at the
end, not when: Magnum accepts first and decides later.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Set
import dataclasses
import random
from typing import Any

from magnum_capi_helm.tests.functional import walk_requests

Cluster = walk_requests.Cluster
Request = walk_requests.Request
Rule = Callable[[Cluster], Request]

#: Clusters that live at the same time.
CLUSTERS = 5
#: So many of them are met idle alone, the others at any moment.
CALM = 3
#: What has to be accepted at least once in a walk.
KINDS = (
    "create",
    "delete",
    "resize",
    "resize masters",
    "update",
    "add group",
    "change group",
    "delete group",
    "upgrade",
    "rotate credential",
)
#: How much likelier such a request is, until one was accepted.
EAGER = 4


class Model:
    """The clusters, and a source of requests.

    :param templates: of clusters, by version of Kubernetes; under "" one
        whose image has none
    :param prefix: of the clusters' names
    :param size: clusters that live at the same time
    """

    def __init__(
        self,
        seed: int,
        templates: dict[str, str],
        prefix: str,
        size: int = CLUSTERS,
    ) -> None:
        self._size = size
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._requests = walk_requests.Requests(
            self._random, templates, prefix
        )
        self.clusters: list[Cluster] = []
        #: How many requests of a kind were accepted, and were refused.
        self.accepted: collections.Counter[str] = collections.Counter()
        self.refused: collections.Counter[str] = collections.Counter()

    @property
    def living(self) -> list[Cluster]:
        """Clusters that nobody asked to delete."""
        return [each for each in self.clusters if not each.deleted]

    @property
    def missing(self) -> list[str]:
        """Kinds of requests of which none was accepted so far."""
        return [each for each in KINDS if not self.accepted[each]]

    def draw(self, idle: Set[str]) -> Request:
        """The next request.

        :param idle: UUIDs of clusters that nothing goes on with
        """
        make = self._requests
        if len(self.living) < self._size and self._random.random() < 0.5:
            return make.create()
        pool = self._pool(idle)
        if not pool:
            return make.create()
        cluster = self._random.choice(pool)
        missing = self.missing
        rules = self._rules()
        weights = [
            weight * (EAGER if _kind(rule) in missing else 1)
            for rule, weight in rules.items()
        ]
        (rule,) = self._random.choices([*rules], weights)
        if rule in (make.upgrade, make.rotate_credential):
            # The others refuse it.
            ready = [each for each in self.living if each.uuid in idle]
            cluster = self._random.choice(ready or [cluster])
        request = rule(cluster)
        if cluster.deleted:
            # Magnum's API fails while only the nodegroups' rows are gone.
            request = dataclasses.replace(
                request, right=walk_requests.EITHER | {5}
            )
        return request

    def draw_missing(self, idle: Set[str]) -> Request | None:
        """Draw a request of a kind of which none was accepted so far.

        :param idle: UUIDs of clusters that nothing goes on with
        :returns: None if no cluster can take it now
        """
        make = self._requests
        (what, *_) = self.missing
        if what == "create":
            return make.create()
        ready = [each for each in self.living if each.uuid in idle]
        if not ready:
            return None
        rule: Rule = getattr(make, what.replace(" ", "_"))
        return rule(self._random.choice(ready))

    def _rules(self) -> dict[Rule, int]:
        """How likely each request for a living cluster is."""
        make = self._requests
        return {
            make.resize: 22,
            make.resize_wrongly: 10,
            make.resize_masters: 10,
            make.update: 8,
            make.add_group: 14,
            make.add_group_wrongly: 8,
            make.change_group: 8,
            make.delete_group: 8,
            make.upgrade: 10,
            make.upgrade_wrongly: 5,
            make.rotate_credential: 6,
            make.rotate_authority: 2,
            make.delete: 4,
        }

    def _pool(self, idle: Set[str]) -> list[Cluster]:
        """Clusters to choose from, some of them several times."""
        hasty = [each for each in self.living if not each.calm]
        calm = [
            each for each in self.living if each.calm and each.uuid in idle
        ]
        # Deleted ones, too: the last three, which may not be gone yet.
        gone = [each for each in self.clusters if each.deleted][-3:]
        return [*hasty * 3, *calm * 6, *gone]

    def learn(self, request: Request, status: int, answer: Any) -> None:
        """What an answer changes."""
        if status >= 300:
            self.refused[request.what] += 1
            return
        self.accepted[request.what] += 1
        cluster = request.cluster
        if cluster is None:
            self._learn_made(request, answer)
        elif request.what == "delete":
            cluster.deleted = True
        elif request.what == "resize masters":
            cluster.masters.add(request.count or 1)
        elif request.what == "upgrade":
            cluster.versions.add(walk_requests.NEW)
        elif request.what == "delete group":
            cluster.doomed.add(request.group)
        elif request.count is not None:
            counts = cluster.counts
            counts.setdefault(request.group, set()).add(request.count)

    def _learn_made(self, request: Request, answer: Any) -> None:
        counts = {"default-worker": {request.body["node_count"]}}
        self.clusters.append(
            Cluster(
                answer["uuid"],
                {1},
                counts,
                calm=sum(each.calm for each in self.living) < CALM,
            )
        )

    def summary(self) -> list[str]:
        """Lines that say what came of the requests of each kind."""
        kinds = sorted(self.accepted | self.refused)
        return [
            f"{each}: {self.accepted[each]} accepted, "
            f"{self.refused[each]} refused"
            for each in kinds
        ]


def _kind(rule: Rule) -> str:
    """What a rule's requests are called."""
    return rule.__name__.replace("_", " ")
