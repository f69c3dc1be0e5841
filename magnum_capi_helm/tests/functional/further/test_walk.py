# SPDX-License-Identifier: Apache-2.0

"""Two hundred requests at random, and then everything agrees.

The seed is printed with a failure. ``WALK_SEED`` repeats a walk: the same
requests, though clusters may be quicker or slower; ``WALK_STEPS`` makes it
shorter or longer.
"""

from __future__ import annotations

import os
import secrets
import time

from cryptography import x509
from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import walk
from magnum_capi_helm.tests.functional import walk_agreement
from magnum_capi_helm.tests.functional import walk_requests

SEED = int(os.environ.get("WALK_SEED") or secrets.randbelow(10**6))
STEPS = int(os.environ.get("WALK_STEPS") or 200)
#: Seconds from one request to the next: clusters shall be met complete, too.
PACE = 1.0
#: Seconds that everything may take to settle, and to be gone.
SETTLED = 300
#: A walk of so many requests has to get one of each kind accepted.
ENOUGH = 200
#: Requests, one every five seconds, for kinds that the walk missed: on a slow
#: machine clusters are seldom idle.
TRIES = 40


class WalkTest(base.LabCase):
    """Five clusters, and no mercy."""

    def setUp(self) -> None:
        super().setUp()
        self.path: list[str] = []
        self.prefix = self.unique("walk")
        images = walk_agreement.images(self.magnum.session)
        self.assertIn(walk_requests.NEW, images.values())
        self.agreement = walk_agreement.Agreement(
            self.plane, self.namespace, images
        )
        self.addOnException(
            lambda _: print(f"WALK_SEED={SEED}", *self.path, sep="\n")
        )
        self.model = walk.Model(
            SEED,
            {
                walk_requests.OLD: self.template(),
                walk_requests.NEW: self.template(image_id="ubuntu-v1.35.1"),
                "": self.template(image_id="ubuntu-no-version"),
            },
            self.prefix,
        )
        self.addCleanup(self._sweep)

    def test_a_walk_ends_with_everything_in_agreement(self) -> None:
        for _ in range(STEPS):
            began = time.monotonic()
            self._step(self.model.draw(self._idle()))
            time.sleep(max(0.0, PACE - (time.monotonic() - began)))
        if STEPS >= ENOUGH:
            self._catch_up()
        print(f"WALK_SEED={SEED}", *self.model.summary(), sep="\n  ")
        for cluster in self.model.living:
            self._settle(cluster)
        for cluster in self.model.clusters:
            if cluster.deleted:
                self._assert_gone(cluster)
        for cluster in self.model.living:
            self._compare(cluster)
        living = self.model.living
        for cluster in living:
            self.magnum.call("DELETE", cluster.path)
        for cluster in living:
            self._assert_gone(cluster)
        self.agreement.check(not self._certificates(), "certificates left")
        if STEPS >= ENOUGH:
            self.agreement.check(
                not self.model.missing,
                f"never accepted: {self.model.missing}",
            )
        self.assertEqual([], self.agreement.wrong, f"WALK_SEED={SEED}")

    # Walking

    def _step(self, request: walk_requests.Request) -> None:
        headers = {}
        if request.version:
            headers["OpenStack-API-Version"] = request.version
        answer = self.magnum.send(
            request.method, request.path, request.body, headers
        )
        line = (
            f"{len(self.path)} {request.what} {request.path} {request.body}: "
            f"{answer.status_code}"
        )
        self.path.append(line)
        if answer.status_code // 100 not in request.right:
            self.agreement.wrong.append(f"{line} {answer.text[:300]}")
        body = answer.json() if answer.content else {}
        self.model.learn(request, answer.status_code, body)
        if request.cluster is None and answer.status_code < 300:
            # Before it has rows, Magnum can't answer for it.
            self.until(lambda: self._shown(body["uuid"]), 60)

    def _catch_up(self) -> None:
        """Send requests of kinds of which none was accepted."""
        for _ in range(TRIES):
            if not self.model.missing:
                return
            request = self.model.draw_missing(self._idle())
            if request is not None:
                self._step(request)
            time.sleep(5)

    def _idle(self) -> frozenset[str]:
        """Clusters that nothing goes on with now."""
        try:
            listed = self.magnum.call("GET", "/clusters")["clusters"]
        except ka_exceptions.BadRequest:
            # Magnum lists none while one has lost its nodegroups' rows.
            return frozenset()
        return frozenset(
            each["uuid"]
            for each in listed
            if not each["status"].endswith("_IN_PROGRESS")
        )

    def _settle(self, cluster: walk_requests.Cluster) -> None:
        """Wait until nothing is in progress."""
        busy = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")

        def settled() -> bool:
            found = self.magnum.find(cluster.uuid) or {}
            groups = self.magnum.nodegroups(cluster.uuid).values()
            states = [found, *groups]
            return not any(
                each.get("status") in (*busy, "DELETE_IN_PROGRESS")
                for each in states
            )

        self.until(settled, SETTLED, f"settled: {cluster.uuid}")

    # Looking

    def _assert_gone(self, cluster: walk_requests.Cluster) -> None:
        self.until(
            lambda: self.magnum.find(cluster.uuid) is None,
            SETTLED,
            f"gone: {cluster.uuid}",
        )
        # Another request may hold the Lease for a moment.
        self.until(
            lambda: not self._left(cluster),
            10,
            lambda: f"{cluster.uuid} left {self._left(cluster)}",
        )

    def _left(self, cluster: walk_requests.Cluster) -> list[str]:
        """What there is of a cluster whose row is gone."""
        # What every name of the release has of the UUID.
        mark = names.release("", cluster.uuid).rpartition("-")[2]
        return [
            *self.left_of(mark),
            *(each["name"] for each in self.credentials_of(cluster.uuid)),
            *walk_agreement.server_groups(self.magnum.session, mark),
        ]

    def _compare(self, cluster: walk_requests.Cluster) -> None:
        row = self.magnum.find(cluster.uuid)
        if row is None:
            self.agreement.wrong.append(f"{cluster.uuid} is lost")
            return
        groups = self.magnum.nodegroups(cluster.uuid)
        self.agreement.compare(cluster, row, groups)

    def _certificates(self) -> list[str]:
        """What Magnum stores for clusters of this walk."""
        return list(database.issued(lambda pem: self.prefix in _issuer(pem)))

    def _sweep(self) -> None:
        """Delete what is still there, whatever happened."""
        there = [
            each
            for each in self.model.clusters
            if self.magnum.find(each.uuid) is not None
        ]
        for each in there:
            self.magnum.send("DELETE", each.path, None, {})
        self.until(
            lambda: not any(self.magnum.find(each.uuid) for each in there),
            SETTLED,
        )


def _issuer(pem: bytes) -> str:
    """Who signed a certificate: clusters' CAs have the clusters' names."""
    return x509.load_pem_x509_certificate(pem).issuer.rfc4514_string()
