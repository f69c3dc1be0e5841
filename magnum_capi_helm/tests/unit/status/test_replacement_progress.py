# SPDX-License-Identifier: Apache-2.0

"""Machines that are replaced: how far it is, and certificates that expire."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

BEGAN = 1767225600
BEFORE, AT, AFTER = (
    "2025-12-31T23:59:59Z",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:01Z",
)
REVISION = view.Revision(7, "deployed", BEGAN + 20.0, created=BEGAN)
NOW = BEGAN + 600.0


def machine(made: str, condition: str = "", **changes: Any) -> view.Object:
    """A Machine; ``condition`` is that of its node, and true."""
    listed = [{"type": condition, "status": "True"}] if condition else []
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "metadata": {"creationTimestamp": made, **changes},
        "status": {"conditions": listed},
    }


def read_as_v1beta2(made: str, status: str) -> view.Object:
    """A Machine as an API server with ``v1beta2`` serves it."""
    listed = [{"type": "NodeReady", "status": status}]
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "metadata": {"creationTimestamp": made},
        "status": {"conditions": listed, "deprecated": {"v1beta1": {}}},
    }


#: A machine, and whether it is a new one that is ready, or an old one.
_ROWS: tuple[tuple[view.Object, int, int], ...] = (
    (machine(BEFORE, "NodeHealthy"), 0, 1),
    (machine(BEFORE), 0, 1),
    (machine(BEFORE, deletionTimestamp=AFTER), 0, 1),
    (machine(AT, "NodeHealthy"), 1, 0),
    (machine(AFTER, "NodeHealthy"), 1, 0),
    (machine(AFTER), 0, 0),
    # It goes again.
    (machine(AFTER, "NodeHealthy", deletionTimestamp=AFTER), 0, 0),
    (read_as_v1beta2(BEFORE, "True"), 0, 1),
    (read_as_v1beta2(AFTER, "True"), 1, 0),
    (read_as_v1beta2(AFTER, "False"), 0, 0),
    (read_as_v1beta2(AFTER, "Unknown"), 0, 0),
)


def seen(*machines: view.Object, **changes: Any) -> view.View:
    found: dict[str, Any] = {
        "release": "web",
        "machines": machines,
        "revisions": (REVISION,),
        "clock": view.Clock(NOW),
        **changes,
    }
    return view.View(**found)


def marked(mark: replacement.Progress) -> view.Object:
    annotations = mark.patch()["metadata"]["annotations"]
    return {"metadata": {"annotations": annotations}}


class MarkTest(base.BaseTestCase):
    def test_machines_that_count(self) -> None:
        for each, new, old in _ROWS:
            self.assertEqual(
                replacement.Progress(7, BEGAN, new, old, BEGAN + 20),
                replacement.latest_progress(seen(each)),
                str(each),
            )

    def test_the_mark_changes_with_progress_alone(self) -> None:
        old, new = machine(BEFORE), machine(AFTER, "NodeHealthy")
        now = int(NOW)
        rows: tuple[tuple[tuple[view.Object, ...], tuple[int, ...]], ...] = (
            # machines; new and old ones, and the time, of the mark
            ((old, old, new), (1, 2, 5)),
            ((old, old), (1, 2, 5)),
            ((old, old, old, new), (1, 2, 5)),
            ((old, old, new, new), (2, 2, now)),
            ((old, new), (1, 1, now)),
            ((old,), (1, 1, now)),
        )
        for machines, expected in rows:
            cluster = marked(replacement.Progress(7, BEGAN, 1, 2, 5))
            self.assertEqual(
                replacement.Progress(7, BEGAN, *expected),
                replacement.latest_progress(seen(*machines, cluster=cluster)),
                str(expected),
            )

    def test_the_mark_of_another_update_does_not_count(self) -> None:
        for number, began in ((6, BEGAN), (7, BEGAN - 1)):
            other = marked(replacement.Progress(number, began, 9, 0, 5))
            self.assertEqual(
                replacement.Progress(7, BEGAN, 0, 1, BEGAN + 20),
                replacement.latest_progress(
                    seen(machine(BEFORE), cluster=other)
                ),
            )

    def test_a_renewal_of_certificates_is_an_update_of_its_own(self) -> None:
        moment = "2026-01-01T00:05:00Z"
        new = machine(AFTER, "NodeHealthy")
        for spec in ({"rolloutAfter": moment}, {"rollout": {"after": moment}}):
            found = seen(new, control_plane={"spec": spec})
            self.assertEqual(
                replacement.Progress(7, BEGAN + 300, 0, 1, BEGAN + 300),
                replacement.latest_progress(found),
            )

    def test_a_view_without_a_release_has_no_mark(self) -> None:
        self.assertIsNone(replacement.latest_progress(seen(revisions=())))


TODAY = view.timestamp("2026-06-15T00:00:00Z")


def plane_machine(
    name: str, made: str, expires: str = "", **meta: str
) -> dict[str, Any]:
    """A machine of the control plane."""
    found: dict[str, Any] = {
        "metadata": {
            "name": name,
            "creationTimestamp": f"{made}T00:00:00Z",
            "labels": {view.CONTROL_PLANE_LABEL: ""},
            **meta,
        }
    }
    if expires:
        date = f"{expires}T00:00:00Z"
        found["status"] = {"certificatesExpiryDate": date}
    return found


def plane_of(*machines: dict[str, Any], **spec: Any) -> view.View:
    plane = {"spec": spec}
    clock = view.Clock(TODAY)
    return view.View(
        "web", control_plane=plane, machines=machines, clock=clock
    )


class ExpiryTest(base.BaseTestCase):
    def test_workers_and_machines_that_go_are_no_reason_to_warn(self) -> None:
        worker = plane_machine("w", "2025-07-01", "2026-07-01", labels={})  # type: ignore[arg-type]
        leaving = plane_machine(
            "b", "2025-07-01", "2026-07-01", deletionTimestamp="x"
        )
        stays = plane_machine("a", "2026-02-01", "2027-02-01")
        self.assertEqual(
            "", replacement.expiry_warning(plane_of(worker, leaving, stays))
        )
        self.assertEqual("", replacement.expiry_warning(plane_of()))

    def test_people_are_told_a_month_ahead(self) -> None:
        after = ": an upgrade, or the operator, renews them"
        for expires, expected in (
            ("", ""),
            ("soon", ""),
            ("2026-07-16", ""),
            (
                "2026-07-15",
                f"those of the control plane expire on 2026-07-15{after}",
            ),
            (
                "2026-06-14",
                f"those of the control plane expired on 2026-06-14{after}",
            ),
        ):
            only = plane_machine("a", "2025-07-01", expires)
            later = plane_machine("b", "2026-06-01", "2027-06-01")
            found = replacement.expiry_warning(plane_of(only, later))
            self.assertEqual(expected, found)

    def test_a_warning_follows_a_renewal_that_did_not_come(self) -> None:
        days = {"certificatesExpiryDays": 21}
        rows: tuple[dict[str, Any], ...] = (
            {"rolloutBefore": days},
            {"rollout": {"before": days}},
        )
        for spec in rows:
            for expires, told in (("2026-06-23", False), ("2026-06-22", True)):
                only = plane_of(
                    plane_machine("a", "2025-07-01", expires), **spec
                )
                self.assertEqual(told, bool(replacement.expiry_warning(only)))


class RolloutTest(base.BaseTestCase):
    """In both versions of Cluster API."""

    def test_machines_older_than_asked_are_to_be_replaced(self) -> None:
        machines = (
            plane_machine("a", "2026-01-01"),
            plane_machine("b", "2026-06-02"),
        )
        for spec, expected in (
            ({}, []),
            ({"rolloutAfter": "2026-06-02T00:00:00Z"}, ["a"]),
            ({"rollout": {"after": "2026-06-02T00:00:00Z"}}, ["a"]),
            ({"rollout": {"after": "2026-06-10T00:00:00Z"}}, ["a", "b"]),
            ({"rollout": {"after": "2025-06-10T00:00:00Z"}}, []),
            # Planned for later.
            ({"rollout": {"after": "2026-06-16T00:00:00Z"}}, []),
        ):
            found = replacement.outdated_machines(plane_of(*machines, **spec))
            self.assertEqual(expected, found, str(spec))

    def test_a_rollout_is_requested_in_the_version_that_was_read(self) -> None:
        group = "controlplane.cluster.x-k8s.io"
        day = "2026-06-15T00:00:00Z"
        rows: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
            ("v1beta1", day, {"rolloutAfter": day}),
            ("v1beta2", day, {"rollout": {"after": day}}),
            ("v1beta2", None, {"rollout": {"after": None}}),
        )
        for version, moment, expected in rows:
            plane = {"apiVersion": f"{group}/{version}"}
            patch = replacement.renewal_patch(plane, moment)
            self.assertEqual({"spec": expected}, patch)
