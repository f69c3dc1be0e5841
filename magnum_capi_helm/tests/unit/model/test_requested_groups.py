# SPDX-License-Identifier: Apache-2.0
"""What the rows want: the fingerprint changes then and only then."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.model import requested_groups

MASTER = requested_groups.Group(
    uuid="u-m",
    name="default-master",
    chart_name="default-master",
    control_plane=True,
    count=3,
    flavor_id="m1.large",
    image_id="ubuntu",
)
WORKER = requested_groups.Group(
    uuid="u-w",
    name="default-worker",
    chart_name="default-worker",
    control_plane=False,
    count=2,
    flavor_id="m1.small",
    image_id="ubuntu",
)


def rows(
    *groups: requested_groups.Group, **changes: Any
) -> requested_groups.Rows:
    whole = requested_groups.Rows(uuid="u", release="demo-1", groups=groups)
    return dataclasses.replace(whole, **changes)


class FingerprintTest(base.BaseTestCase):
    def test_the_fingerprint_is_stable_over_processes_and_releases(
        self,
    ) -> None:
        # It is kept in the cluster: another text would look like a change.
        self.assertEqual(
            "v1-6549278878733536fb6af434", rows(MASTER, WORKER).fingerprint()
        )

    def test_the_fingerprint_ignores_the_order_of_rows(self) -> None:
        self.assertEqual(
            rows(MASTER, WORKER).fingerprint(),
            rows(WORKER, MASTER).fingerprint(),
        )

    def test_the_fingerprint_changes_with_each_wanted_field(self) -> None:
        changes: dict[str, Any] = {
            "uuid": "u-x",
            "count": 3,
            "flavor_id": "m1.tiny",
            "image_id": "flatcar",
            "minimum": 1,
            "maximum": 5,
            "node_labels": (("tier", "gpu"),),
            "node_taints": (("gpu", "", "NoSchedule"),),
        }
        self.assertEqual([], self._unnoticed(changes))

    def test_the_fingerprint_ignores_names_and_roles(self) -> None:
        # 1.4.0 may have called it otherwise; the row is the same.
        changes: dict[str, Any] = {
            "name": "other",
            "chart_name": "other",
            "control_plane": True,
            "made": False,
        }
        self.assertEqual(list(changes), self._unnoticed(changes))

    def _unnoticed(self, changes: dict[str, Any]) -> list[str]:
        """Fields of a group whose change the fingerprint does not show."""
        before = rows(MASTER, WORKER).fingerprint()
        return [
            name
            for name, value in changes.items()
            if rows(
                MASTER, dataclasses.replace(WORKER, **{name: value})
            ).fingerprint()
            == before
        ]

    def test_the_fingerprint_changes_with_the_set_of_groups(self) -> None:
        more = dataclasses.replace(WORKER, uuid="u-2", name="gpu")
        found = {
            rows(MASTER).fingerprint(),
            rows(MASTER, WORKER).fingerprint(),
            rows(MASTER, WORKER, more).fingerprint(),
        }
        self.assertEqual(3, len(found))

    def test_groups_that_are_not_wanted_are_not_in_it(self) -> None:
        more = dataclasses.replace(WORKER, uuid="u-2", name="gpu")
        self.assertEqual(
            rows(MASTER, WORKER).fingerprint(),
            rows(
                MASTER, WORKER, leaving=(more,), refused=(more,)
            ).fingerprint(),
        )

    def test_names_of_the_cluster_are_not_wanted_state(self) -> None:
        self.assertEqual(
            rows(MASTER, WORKER).fingerprint(),
            rows(MASTER, WORKER, uuid="u-2", release="demo-2").fingerprint(),
        )


class RowsTest(base.BaseTestCase):
    def test_master_workers_and_counts(self) -> None:
        whole = rows(WORKER, MASTER)
        self.assertEqual(MASTER, whole.master)
        self.assertEqual((WORKER,), whole.workers)
        self.assertEqual({"default-worker": 2}, whole.counts())

    def test_rows_without_a_master_have_none(self) -> None:
        self.assertIsNone(rows(WORKER).master)

    def test_a_cluster_whose_control_plane_leaves_is_doomed(self) -> None:
        self.assertFalse(rows(MASTER, leaving=(WORKER,)).doomed)
        self.assertTrue(rows(leaving=(MASTER, WORKER)).doomed)


class ThenTest(base.BaseTestCase):
    """Rows as a request will leave them."""

    def test_a_group_that_changes_or_comes(self) -> None:
        bigger = dataclasses.replace(WORKER, count=5)
        for before in (
            rows(MASTER, WORKER),
            rows(MASTER, refused=(WORKER,)),
            rows(MASTER),
        ):
            self.assertEqual(rows(MASTER, bigger), before.with_group(bigger))

    def test_a_group_that_goes(self) -> None:
        for before in (
            rows(MASTER, WORKER),
            rows(MASTER, refused=(WORKER,)),
            rows(MASTER, leaving=(WORKER,)),
        ):
            self.assertEqual(
                rows(MASTER, leaving=(WORKER,)), before.with_leaving(WORKER)
            )


class SettingsTest(base.BaseTestCase):
    def test_only_what_is_set(self) -> None:
        self.assertEqual({}, WORKER.settings)
        group = dataclasses.replace(
            WORKER, maximum=5, node_labels=(("tier", "gpu"),)
        )
        self.assertEqual(
            {"maximum": 5, "node_labels": {"tier": "gpu"}}, group.settings
        )

    def test_their_short_name_is_fit_for_a_key_of_a_secret(self) -> None:
        found = dataclasses.replace(WORKER, maximum=5).settings_id
        self.assertRegex(found, "^[0-9a-f]{16}$")
        self.assertNotEqual(WORKER.settings_id, found)


class LegacyNamesTest(base.BaseTestCase):
    def _known(self, name: str, chart_name: str, *existing: str) -> str:
        group = dataclasses.replace(WORKER, name=name, chart_name=chart_name)
        (found,) = rows(group).known_as(existing).groups
        return found.chart_name

    def test_a_group_of_1_4_0_keeps_its_name_for_life(self) -> None:
        self.assertEqual(
            "worker-1",
            self._known("worker_1", "worker-1--ba7bf687", "worker-1"),
        )

    def test_a_group_of_ours_keeps_ours(self) -> None:
        ours = "worker-1--ba7bf687"
        self.assertEqual(ours, self._known("worker_1", ours))
        self.assertEqual(ours, self._known("worker_1", ours, "worker-1", ours))

    def test_a_name_that_needs_no_slug_is_the_same_in_both(self) -> None:
        self.assertEqual("gpu", self._known("gpu", "gpu", "gpu"))

    def _names(
        self, whole: requested_groups.Rows, *existing: str
    ) -> dict[str, str]:
        known = whole.known_as(existing)
        return {
            each.name: each.chart_name
            for each in (*known.groups, *known.leaving, *known.refused)
        }

    OLD = dataclasses.replace(
        WORKER, uuid="u-o", name="worker_1", chart_name="worker-1--ba7bf687"
    )
    NEW = dataclasses.replace(
        WORKER, uuid="u-n", name="worker-1", chart_name="worker-1"
    )

    def test_a_name_has_one_owner(self) -> None:
        self.assertEqual(
            {"worker_1": "worker-1--ba7bf687", "worker-1": "worker-1"},
            self._names(rows(self.OLD, self.NEW), "worker-1"),
        )

    def test_the_machines_of_a_leaving_group_are_not_taken_over(self) -> None:
        self.assertEqual(
            {"worker_1": "worker-1--ba7bf687", "worker-1": "worker-1"},
            self._names(rows(self.OLD, leaving=(self.NEW,)), "worker-1"),
        )

    def test_a_group_that_never_was_has_no_name_of_anothers(self) -> None:
        never = dataclasses.replace(self.NEW, made=False)
        for whole in (
            rows(self.OLD, leaving=(never,)),
            rows(self.OLD, refused=(never,)),
        ):
            self.assertEqual(
                {"worker_1": "worker-1", "worker-1": ""},
                self._names(whole, "worker-1"),
            )
