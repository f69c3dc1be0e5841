# SPDX-License-Identifier: Apache-2.0
"""Changes of one cluster, one after the other, some two at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
import random
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import walk_requests

if TYPE_CHECKING:
    from lab.drills import test_early_complete

#: Kubernetes, flavor of workers, a value of an addon.
Look = tuple[str, str, str]
_PARTS = ("Kubernetes", "flavor", "values of an addon")
FLAVORS, VALUES = ("m1.worker", "m1.control"), ("single", "mixed")
#: Seconds until a change is complete, until Magnum begins with an accepted
#: one, and between two looks at rows.
_SETTLED, _BEGINS, POLL = 1800, 90, 3
_TWO, _LAST = 0.3, 0.05
_MOST_GROUPS = 4


class Rows(NamedTuple):
    """What Magnum's database has of a cluster; groups by name."""

    status: str
    reason: str
    template: str
    groups: dict[str, dict[str, Any]]


class Requests(walk_requests.Requests):
    """Right requests, and of kinds that no other walk has.

    :param looks: the ID of the template of each
    :param image: ID of an older image
    """

    def __init__(
        self, dice: random.Random, looks: Mapping[Look, str], image: str
    ) -> None:
        super().__init__(dice, {}, "")
        self._looks, self._image = looks, image
        self.rows = Rows("", "", "", {})

    def draw(self, uuid: str, rows: Rows) -> walk_requests.Request:
        """Return the next request for a cluster."""
        self.rows = rows
        workers = [k for k, v in rows.groups.items() if v["role"] != "master"]
        counts: dict[str, set[int]] = {each: set() for each in sorted(workers)}
        cluster = walk_requests.Cluster(uuid, set(), counts)
        rules = {
            self.resize: 7,
            self.resize_masters: 1,
            self.add_group: 3 if len(rows.groups) < _MOST_GROUPS else 0,
            self.delete_group: 3,
            self.change_group: 3,
            self.upgrade: 6,
            self.upgrade_group: 2,
            self.rotate_credential: 2,
        }
        (rule,) = self._random.choices([*rules], [*rules.values()])
        return rule(cluster)

    @property
    def look(self) -> Look:
        """What the cluster's template has."""
        known = {template: look for look, template in self._looks.items()}
        return known[self.rows.template]

    def add_group(
        self, cluster: walk_requests.Cluster
    ) -> walk_requests.Request:
        """A group of any flavor, some with an image of their own."""
        made = super().add_group(cluster)
        self._made += 1
        name = f"group-{self._made}"
        body = {
            "name": name,
            "flavor_id": self._random.choice(FLAVORS),
            "node_count": 1,
            "min_node_count": 0,
        }
        if self._random.random() < 0.4:
            body["image_id"] = self._image
        return dataclasses.replace(made, body=body, group=name)

    def change_group(
        self, cluster: walk_requests.Cluster
    ) -> walk_requests.Request:
        """Other labels of nodes: new machines."""
        made = super().change_group(cluster)
        value = {"tier": f"t{self._random.randrange(10**6)}"}
        body = [{"op": "replace", "path": "/node_labels", "value": value}]
        return dataclasses.replace(
            made,
            what="other node labels of a group",
            body=body,
            version="container-infra 1.14",
        )

    def upgrade(self, cluster: walk_requests.Cluster) -> walk_requests.Request:
        """Another template, with one difference or more."""
        now = self.look
        looks = [e for e in self._looks if e[0] >= now[0] and e != now]
        look = self._random.choice(looks)
        made = self._upgraded(cluster, self._looks[look], walk_requests.EITHER)
        what = [p for p, a, b in zip(_PARTS, now, look, strict=True) if a != b]
        title = f"template with other {', '.join(what)}"
        return dataclasses.replace(made, what=title)

    def upgrade_group(
        self, cluster: walk_requests.Cluster
    ) -> walk_requests.Request:
        """One group, to the template of the cluster."""
        made = self._upgraded(
            cluster, self.rows.template, walk_requests.EITHER
        )
        group = self._random.choice([*cluster.counts])
        body = {**made.body, "nodegroup": group}
        return dataclasses.replace(made, what="upgrade a group", body=body)


class Walker(threading.Thread):
    """Changes one cluster, until another takes its place."""

    def __init__(
        self,
        test: test_early_complete.EarlyCompleteTest,
        dice: random.Random,
        requests: Requests,
    ) -> None:
        super().__init__()
        self._test, self._dice, self._requests = test, dice, requests
        self._magnum = magnum_api.Magnum(magnum_api.keystone_session("demo"))
        self._uuid = ""
        #: Whether it has its first cluster, which is made in good weather.
        self.made = False

    def run(self) -> None:
        """Walk until there were enough changes."""
        try:
            while not self._test.over:
                self._create()
                self._walk()
        except BaseException as problem:
            self._test.tell(f"{self._uuid}: {problem!r}")
            self._test.problems.append(problem)

    def _create(self) -> None:
        look = walk_requests.OLD, FLAVORS[0], self._dice.choice(VALUES)
        name = self._test.unique("early")
        template = self._test.looks[look]
        self._uuid = self._test.cluster(template, self._magnum, name=name)
        self._test.accepted["create"] += self.made
        self._await_complete(0, [])
        self.made = True

    def _walk(self) -> None:
        while not self._test.over:
            rows = self._test.rows(self._uuid)
            failed = rows.status.endswith("FAILED")
            if failed:
                self._test.failed += 1
                self._test.tell(f"{self._uuid} {rows.status} {rows.reason}")
            written = self._test.written[self._uuid]
            drawn = [self._requests.draw(self._uuid, rows)]
            is_new = self._requests.look[0] == walk_requests.NEW
            if failed or (is_new and self._dice.random() < _LAST):
                self._test.delete(self._uuid)
                return
            if self._dice.random() < _TWO:
                drawn.append(self._requests.draw(self._uuid, rows))
            accepted = [each for each in drawn if self._ask(each)]
            self._test.pairs += len(accepted) == 2
            if accepted:
                self._await_complete(written, accepted)
            else:
                time.sleep(POLL)

    def _ask(self, request: walk_requests.Request) -> bool:
        version = request.version or magnum_api.MICROVERSION
        answer = self._magnum.send(
            request.method,
            request.path,
            request.body,
            {"OpenStack-API-Version": version},
        )
        if answer.status_code >= 300:
            # In bad weather, a refusal may be a webhook that is silent.
            self._test.refused += 1
            return False
        self._test.accepted[request.what] += 1
        return True

    def _await_complete(
        self, written: int, requests: Sequence[walk_requests.Request]
    ) -> None:
        """Wait until all is in the rows, and a COMPLETE is checked."""
        begins = time.monotonic() + _BEGINS
        over = time.monotonic() + _SETTLED
        while not self._test.problems:
            time.sleep(POLL)
            rows = self._test.rows(self._uuid)
            late = time.monotonic() > begins
            new = late or self._test.written[self._uuid] > written
            done = late or all(_is_in(each, rows) for each in requests)
            complete = rows.status.endswith("COMPLETE") and new and done
            if complete or rows.status.endswith("FAILED"):
                return
            if time.monotonic() > over:
                raise AssertionError(f"not complete: {requests} {rows}")


def _is_in(request: walk_requests.Request, rows: Rows) -> bool:
    """Return whether Magnum's rows have a change."""
    row = rows.groups.get(request.group)
    if request.what == "delete group":
        return row is None
    if request.count is None:
        return True
    return row is not None and row["node_count"] == request.count
