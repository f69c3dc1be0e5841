# SPDX-License-Identifier: Apache-2.0
"""No COMPLETE comes too early, however slow the controllers are.

``CHANGES`` says how many and ``WALK_CLUSTERS`` in how many clusters.
``WALK_SEED`` repeats the choices of a run.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import os
import pathlib
import random
import secrets
import time

from lab.drills import case
from lab.drills import changes
from lab.drills import fleet
from lab.drills import judgement
from lab.drills import moments
from lab.drills import slow_weather
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import walk_agreement
from magnum_capi_helm.tests.functional import walk_requests

SEED = int(os.environ.get("WALK_SEED") or secrets.randbelow(10**6))
CHANGES = int(os.environ.get("CHANGES") or 300)
CLUSTERS = int(os.environ.get("WALK_CLUSTERS") or 6)
_LOOKS = tuple(
    itertools.product(
        (walk_requests.OLD, walk_requests.NEW), changes.FLAVORS, changes.VALUES
    )
)


class EarlyCompleteTest(case.DrillCase):
    """Clusters side by side, each with one change after the other."""

    record = "early-complete"

    def setUp(self) -> None:
        super().setUp()
        self.looks = {
            look: self.template(
                image_id=f"ubuntu-{look[0]}",
                flavor_id=look[1],
                labels={"nvidia_mig_strategy": look[2], **fleet.FEW_ADDONS},
            )
            for look in _LOOKS
        }
        self.accepted: collections.Counter[str] = collections.Counter()
        self.checked: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.late: list[float] = []
        self.written: collections.Counter[str] = collections.Counter()
        self.pairs = self.refused = self.failed = 0
        self.problems: list[BaseException] = []
        texts = {t: f"strategy: {e[2]}" for e, t in self.looks.items()}
        self.images = self._images()
        self.judge = judgement.Judge(self.images, texts)
        self.world = moments.World()
        self.database = moments.Database()
        folder = pathlib.Path(self.create_tempfiles([("x", "")])[0]).parent
        self.reader = moments.Reader(self, folder)

    def _images(self) -> dict[str, tuple[str, str]]:
        """Return ID and version of each image, by ID and by name."""
        found = walk_agreement.images(self.magnum.session)
        listed = self.magnum.session.get(
            "/v2/images", endpoint_filter={"service_type": "image"}
        ).json()["images"]
        return {
            each[key]: (each["id"], found[each["id"]])
            for each in listed
            if each["id"] in found
            for key in ("id", "name")
        }

    def test_no_complete_comes_too_early(self) -> None:
        self.tell(
            f"{CHANGES} changes of {CLUSTERS} clusters, WALK_SEED={SEED}"
        )
        self.completes = moments.Completes(self.world, self._check)
        self.addCleanup(self.completes.close)
        dice = random.Random(SEED)  # noqa: S311 (no secret)
        self.weather = slow_weather.Weather(dice, self.world)
        walkers = [self._walker(each) for each in range(CLUSTERS)]
        with self.completes:
            for each in walkers:
                each.start()
            while not self.over and not all(each.made for each in walkers):
                time.sleep(changes.POLL)
            self.assertEqual([], self.problems)
            self.tell("all clusters are complete")
            with self.weather:
                for each in walkers:
                    each.join()
        self._tell(self.weather.seen)
        self.assertEqual([], self.problems)
        self.assertEqual([], self.wrong)

    def _walker(self, number: int) -> changes.Walker:
        dice = random.Random(f"{SEED}-{number}")  # noqa: S311 (no secret)
        image, _ = self.images[f"ubuntu-{walk_requests.OLD}"]
        requests = changes.Requests(dice, self.looks, image)
        return changes.Walker(self, dice, requests)

    @property
    def over(self) -> bool:
        """Return whether the walkers end."""
        for each in (self.completes.problem, self.weather.problem):
            if each and each not in self.problems:
                self.problems.append(each)
        return bool(self.problems) or self.accepted.total() >= CHANGES

    # The moment

    def _check(self, completes: list[judgement.Object]) -> None:
        """Compare what is said to be complete with what there is."""
        seen: dict[str, judgement.Snapshot] = {}
        for each in completes:
            rows = each["rows"]
            release = rows["cluster"]["stack_id"]
            self.late.append(max(0, self.world.stood - each["at"]))
            if release not in seen:
                seen[release] = self.reader.read(release)
            found = self.judge.of(each["what"], rows, seen[release])
            self._note(each, found, seen[release])

    def _note(
        self,
        complete: judgement.Object,
        found: list[str],
        seen: judgement.Snapshot,
    ) -> None:
        group, rows = complete["what"], complete["rows"]
        self.checked["of a nodegroup" if group else "of a cluster"] += 1
        title = f"{rows['cluster']['name']} {group}, {complete['was']} before"
        # A request that came meanwhile changes rows and objects.
        if found and (
            self._changed(rows) or judgement.is_rotated(seen, complete["at"])
        ):
            self.checked["overtaken by the next change"] += 1
            self.tell(f"overtaken: {title}: {found}")
        elif found:
            self.tell(f"WRONG {title}: {found}")
            self.wrong.append(f"{title}: {found}")
            # With resourceVersions, to find the cause.
            path = programs.LAB / f"early-{len(self.wrong)}.json"
            path.write_text(json.dumps([rows, dataclasses.asdict(seen)]))
        if not group:
            self.written[rows["cluster"]["uuid"]] += 1

    def _changed(self, rows: judgement.Object) -> bool:
        now = self.rows(rows["cluster"]["uuid"])
        before = {e["name"]: e["node_count"] for e in rows["groups"]}
        after = {k: v["node_count"] for k, v in now.groups.items()}
        is_other = now.status != rows["cluster"]["status"]
        return now.status.startswith("DELETE") or (
            is_other and before != after
        )

    def rows(self, uuid: str) -> changes.Rows:
        """Return a cluster's rows; they are empty when it is gone."""
        clusters = self.database.run(
            "SELECT * FROM cluster WHERE uuid = %s", uuid
        )
        groups = self.database.run(
            "SELECT * FROM nodegroup WHERE cluster_id = %s", uuid
        )
        if not clusters:
            return changes.Rows("", "", "", {})
        return changes.Rows(
            clusters[0]["status"],
            clusters[0]["status_reason"] or "",
            clusters[0]["cluster_template_id"],
            {each["name"]: each for each in groups},
        )

    def _tell(self, weather: collections.Counter[str]) -> None:
        for title, counts in (
            ("changes", self.accepted),
            ("controllers", weather),
            ("COMPLETEs checked", self.checked),
        ):
            self.tell(
                f"{counts.total()} {title}:"
                if title == "changes"
                else f"{title}:"
            )
            for name, count in sorted(counts.items()):
                self.tell(f"  {name}: {count}")
        self.tell(f"two changes at once: {self.pairs}")
        self.tell(f"refused requests: {self.refused}; failed: {self.failed}")
        if self.late:
            late = sorted(self.late)
            half, most = late[len(late) // 2], late[-1]
            self.tell(
                f"a COMPLETE is {half:.1f} s old when the controllers stand"
                f" still, at most {most:.1f} s"
            )
        self.tell(f"wrong: {len(self.wrong)}")
