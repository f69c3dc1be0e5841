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
    def test_the_fingerprint_is_that_of_wanted_groups_alone(self) -> None:
        # It is kept in the cluster: another text would look like a change.
        known = "v1-6549278878733536fb6af434"
        more = dataclasses.replace(WORKER, uuid="u-2", name="gpu")
        for whole, same in (
            (rows(MASTER, WORKER), True),
            (rows(WORKER, MASTER), True),
            (rows(MASTER, WORKER, leaving=(more,), refused=(more,)), True),
            (rows(MASTER, WORKER, uuid="u-2", release="demo-2"), True),
            (rows(MASTER), False),
            (rows(MASTER, WORKER, more), False),
        ):
            self.assertEqual(same, whole.fingerprint() == known, str(whole))

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


class RowsTest(base.BaseTestCase):
    def test_master_workers_and_counts(self) -> None:
        whole = rows(WORKER, MASTER)
        self.assertEqual(MASTER, whole.master)
        self.assertEqual((WORKER,), whole.workers)
        self.assertEqual({"default-worker": 2}, whole.counts())

    def test_rows_without_a_master_have_none(self) -> None:
        self.assertIsNone(rows(WORKER).master)


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
    def test_a_group_keeps_its_name_for_life(self) -> None:
        old, ours = "worker-1", "worker-1--ba7bf687"
        for name, chart_name, existing, expected in (
            ("worker_1", ours, (old,), old),
            ("worker_1", ours, (), ours),
            ("worker_1", ours, (old, ours), ours),
            ("gpu", "gpu", ("gpu",), "gpu"),
        ):
            group = dataclasses.replace(
                WORKER, name=name, chart_name=chart_name
            )
            self.assertEqual(
                {name: expected}, self._names(rows(group), *existing)
            )

    def _names(
        self, whole: requested_groups.Rows, *existing: str
    ) -> dict[str, str]:
        known = whole.named_as(existing)
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
        for whole in (
            rows(self.OLD, self.NEW),
            # Nor are machines of a leaving group taken over.
            rows(self.OLD, leaving=(self.NEW,)),
        ):
            self.assertEqual(
                {"worker_1": "worker-1--ba7bf687", "worker-1": "worker-1"},
                self._names(whole, "worker-1"),
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
