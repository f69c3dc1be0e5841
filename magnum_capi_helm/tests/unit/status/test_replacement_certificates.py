# SPDX-License-Identifier: Apache-2.0

"""Warnings before certificates expire, and machines still to be replaced."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

NOW = view.timestamp("2026-06-15T00:00:00Z")


def machine(
    name: str, made: str, expires: str = "", **meta: str
) -> dict[str, Any]:
    """Of the control plane."""
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


def seen(*machines: dict[str, Any], **spec: Any) -> view.View:
    plane = {"spec": spec}
    clock = view.Clock(NOW)
    return view.View(
        "web", control_plane=plane, machines=machines, clock=clock
    )


class ExpiryTest(base.BaseTestCase):
    def test_workers_and_machines_that_go_are_no_reason_to_warn(self) -> None:
        worker = machine("w", "2025-07-01", "2026-07-01", labels={})  # type: ignore[arg-type]
        leaving = machine(
            "b", "2025-07-01", "2026-07-01", deletionTimestamp="x"
        )
        stays = machine("a", "2026-02-01", "2027-02-01")
        self.assertEqual(
            "", replacement.expiry_warning(seen(worker, leaving, stays))
        )
        self.assertEqual("", replacement.expiry_warning(seen()))

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
            only = machine("a", "2025-07-01", expires)
            later = machine("b", "2026-06-01", "2027-06-01")
            found = replacement.expiry_warning(seen(only, later))
            self.assertEqual(expected, found)

    def test_a_warning_appears_once_cluster_api_should_have_renewed(
        self,
    ) -> None:
        days = {"certificatesExpiryDays": 21}
        rows: tuple[dict[str, Any], ...] = (
            {"rolloutBefore": days},
            {"rollout": {"before": days}},
        )
        for spec in rows:
            for expires, told in (("2026-06-23", False), ("2026-06-22", True)):
                only = seen(machine("a", "2025-07-01", expires), **spec)
                self.assertEqual(told, bool(replacement.expiry_warning(only)))


class RolloutTest(base.BaseTestCase):
    """In both versions of Cluster API."""

    def test_machines_older_than_asked_for_are_still_to_be_replaced(
        self,
    ) -> None:
        machines = (machine("a", "2026-01-01"), machine("b", "2026-06-02"))
        for spec, expected in (
            ({}, []),
            ({"rolloutAfter": "2026-06-02T00:00:00Z"}, ["a"]),
            ({"rollout": {"after": "2026-06-02T00:00:00Z"}}, ["a"]),
            ({"rollout": {"after": "2026-06-10T00:00:00Z"}}, ["a", "b"]),
            ({"rollout": {"after": "2025-06-10T00:00:00Z"}}, []),
            # Planned for later.
            ({"rollout": {"after": "2026-06-16T00:00:00Z"}}, []),
        ):
            found = replacement.outdated_machines(seen(*machines, **spec))
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
