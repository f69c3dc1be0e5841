# SPDX-License-Identifier: Apache-2.0

"""Fills the bench with clusters, and changes how they fare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
import contextlib
import gzip
import json
import queue
from typing import Any

import requests

from bench import crds
from bench import driver_user
from bench import etcd
from bench import magnum_rows
from bench import members
from bench import places
from bench import servers
from bench import template

_THREADS = 4
#: Rows of so many clusters are written at once.
_BATCH = 50

Say = Callable[[str], None]


def templates() -> dict[str, template.Template]:
    """Return the recorded objects, by state."""
    return {
        state: template.Template(
            gzip.decompress(
                (places.RECORDED / f"{state}.json.gz").read_bytes()
            )
        )
        for state in members.STATES
    }


class Population:
    """The clusters that the bench's servers hold.

    They are made in order, and never unmade but all at once: a population of
    ten has nothing of the hundred that come after it.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._templates = templates()
        self._plurals = crds.plurals()
        self._stores: queue.SimpleQueue[etcd.Store] = queue.SimpleQueue()
        for _ in range(_THREADS):
            self._stores.put(etcd.Store(self._plurals))
        self._states: list[str] = []
        self._identity = ""

    @property
    def size(self) -> int:
        """Return the number of clusters."""
        return len(self._states)

    def begin(self, options: dict[str, str], *, restricted: bool) -> None:
        """Start servers without any cluster.

        :param options: of ``[capi_helm]``, for every driver
        :param restricted: drivers have the user of the shipped manifest
        """
        servers.make()
        for each in servers.all_servers():
            each.start()
        crds.apply()
        magnum_rows.make_tables()
        magnum_rows.configure(options)
        with crds.session() as http:
            answer = http.get(
                f"{places.API}/api/v1/namespaces/kube-system", timeout=30
            )
            self._identity = str(answer.json()["metadata"]["uid"])
            names = self._make_namespaces(http)
        if restricted:
            driver_user.use(names)
        for line in self._sizes():
            self._say(line)

    def become(self, size: int, in_progress: int = 0) -> None:
        """Have so many clusters, the first of them in progress."""
        if size < len(self._states):
            raise ValueError("a population never shrinks")
        wanted = [members.state(each, in_progress) for each in range(size)]
        new = range(len(self._states), size)
        self._insert_rows(new)
        self._work(lambda store, number: self._make(store, number), new)
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
        places.EXPECTED.write_text(json.dumps(self.expected()))

    def reset(self) -> None:
        """Undo what a driver wrote: the next one begins with the same.

        The first driver that polls a cluster in progress notes its progress
        in the Cluster, and the others would find that note.
        """
        in_progress = [
            number
            for number, state in enumerate(self._states)
            if state == members.SCALING
        ]
        self._work(self._reset_cluster, in_progress)
        crds.wait_until_read()
        magnum_rows.settle(len(in_progress))

    def expected(self) -> dict[str, dict[str, Any]]:
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
            store = self._stores.get()
            try:
                task(store, number)
            finally:
                self._stores.put(store)

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

    def _insert_rows(self, numbers: range) -> None:
        for start in range(0, len(numbers), _BATCH):
            batch = numbers[start : start + _BATCH]
            magnum_rows.insert([self._rows(each) for each in batch])

    def _make_namespaces(self, http: requests.Session) -> list[str]:
        made = []
        for number in range(members.PROJECTS):
            name = members.Member(number).namespace
            body = {"metadata": {"name": name}}
            answer = http.post(
                f"{places.API}/api/v1/namespaces", json=body, timeout=30
            )
            answer.raise_for_status()
            made.append(name)
        return made

    def _sizes(self) -> list[str]:
        sizes = self._templates[members.SETTLED].sizes()
        return [
            "one settled cluster, bytes of JSON: "
            + ", ".join(f"{kind} {size}" for kind, size in sizes.items())
        ]


@contextlib.contextmanager
def running(
    say: Say, options: dict[str, str], *, restricted: bool = False
) -> Iterator[Population]:
    """A population on servers that are stopped at the end."""
    with servers.alone():
        made = Population(say)
        try:
            made.begin(options, restricted=restricted)
            yield made
        finally:
            servers.stop()
