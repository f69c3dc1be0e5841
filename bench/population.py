# SPDX-License-Identifier: Apache-2.0

"""Fills the bench with clusters, and changes how they fare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
import contextlib
import json
from typing import Any

from bench import crds
from bench import etcd
from bench import magnum_rows
from bench import members
from bench import places
from bench import servers
from bench import template

_THREADS = 4

Say = Callable[[str], None]


class Population:
    """The clusters that the bench's servers hold.

    They are made in order, and never unmade but all at once: a population of
    ten has nothing of the hundred that come after it.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._templates = {
            state: template.recorded(state) for state in members.STATES
        }
        self._plurals = crds.plurals()
        self._states: list[str] = []
        self._identity = ""

    @property
    def size(self) -> int:
        """Return the number of clusters."""
        return len(self._states)

    def begin(self) -> None:
        """Start servers without any cluster."""
        servers.make()
        for each in servers.all_servers():
            each.start()
        crds.apply()
        magnum_rows.make_tables()
        magnum_rows.configure()
        namespaces = f"{places.API}/api/v1/namespaces"
        with crds.session() as http:
            answer = http.get(f"{namespaces}/kube-system", timeout=30)
            self._identity = str(answer.json()["metadata"]["uid"])
            for number in range(members.PROJECTS):
                name = members.Member(number).namespace
                body = {"metadata": {"name": name}}
                answer = http.post(namespaces, json=body, timeout=30)
                answer.raise_for_status()

    def become(self, size: int, in_progress: int = 0) -> None:
        """Have so many clusters, the first of them in progress."""
        if size < len(self._states):
            raise ValueError("a population never shrinks")
        wanted = [members.state(each, in_progress) for each in range(size)]
        new = range(len(self._states), size)
        magnum_rows.insert([self._rows(each) for each in new])
        self._work(self._make, new)
        self._states += [members.SETTLED] * len(new)
        changed = [
            number
            for number in range(size)
            if self._states[number] != wanted[number]
        ]
        self._work(
            lambda store, number: self._change(store, number, wanted[number]),
            changed,
        )
        self._states = wanted
        crds.wait_until_read()
        magnum_rows.settle(in_progress)
        places.EXPECTED.write_text(json.dumps(self._expected()))

    def reset(self) -> None:
        """Undo what a driver wrote: the next one begins with the same.

        The first driver that polls a cluster in progress notes its progress
        in the Cluster, and the others would find that note.
        """
        # The first ones.
        in_progress = self._states.count(members.SCALING)
        self._work(self._reset_cluster, range(in_progress))
        crds.wait_until_read()
        magnum_rows.settle(in_progress)

    def _expected(self) -> dict[str, dict[str, Any]]:
        """State and nodes of each cluster, by UUID."""
        found = {}
        for number, state in enumerate(self._states):
            identity = members.Member(number).identity
            found[identity.cluster] = {
                "state": state,
                "nodes": self._templates[state].nodes(identity),
            }
        return found

    def _work(
        self,
        task: Callable[[etcd.Store, int], None],
        numbers: Iterable[int],
    ) -> None:
        def one(number: int) -> None:
            task(etcd.Store(self._plurals), number)

        with futures.ThreadPoolExecutor(_THREADS) as pool:
            for done, _ in enumerate(pool.map(one, numbers), 1):
                if done % 100 == 0:
                    self._say(f"{done} clusters written")

    def _make(self, store: etcd.Store, number: int) -> None:
        store.put(self._objects(number, members.SETTLED, secrets=True))

    def _change(self, store: etcd.Store, number: int, state: str) -> None:
        """Another state: Secrets stay, all else is that state's."""
        old = self._objects(number, self._states[number])
        new = self._objects(number, state)
        kept = {store.key(each) for each in new}
        store.put(new)
        store.delete(key for key in map(store.key, old) if key not in kept)

    def _reset_cluster(self, store: etcd.Store, number: int) -> None:
        objects = self._objects(number, self._states[number])
        store.put([each for each in objects if each["kind"] == "Cluster"])

    def _objects(
        self, number: int, state: str, *, secrets: bool = False
    ) -> list[dict[str, Any]]:
        member = members.Member(number)
        rows = self._rows(number)
        fingerprint = magnum_rows.fingerprint(rows)
        objects = self._templates[state].objects(member.identity, fingerprint)
        if state == members.SCALING:
            objects = members.under_way(objects)
        return [
            each for each in objects if secrets or each["kind"] != "Secret"
        ]

    def _rows(self, number: int) -> magnum_rows.Rows:
        return magnum_rows.of(
            members.Member(number),
            self._templates[members.SETTLED],
            self._identity,
        )


@contextlib.contextmanager
def running(say: Say) -> Iterator[Population]:
    """A population on servers that are stopped at the end."""
    with servers.alone():
        made = Population(say)
        try:
            made.begin()
            yield made
        finally:
            servers.stop()
