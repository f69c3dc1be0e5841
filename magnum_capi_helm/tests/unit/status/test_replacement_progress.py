# SPDX-License-Identifier: Apache-2.0

"""Which machines count as old, and which as new ones that are ready."""

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
    """A release with these machines."""
    found: dict[str, Any] = {
        "release": "web",
        "machines": machines,
        "revisions": (REVISION,),
        "clock": view.Clock(NOW),
        **changes,
    }
    return view.View(**found)


def marked(mark: replacement.Progress) -> view.Object:
    """A Cluster with a mark."""
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
        for other in (
            replacement.Progress(6, BEGAN, 9, 0, 5),
            replacement.Progress(7, BEGAN - 1, 9, 0, 5),
        ):
            self.assertEqual(
                replacement.Progress(7, BEGAN, 0, 1, BEGAN + 20),
                replacement.latest_progress(
                    seen(machine(BEFORE), cluster=marked(other))
                ),
            )

    def test_a_renewal_of_certificates_is_an_update_of_its_own(self) -> None:
        for spec in (
            {"rolloutAfter": "2026-01-01T00:05:00Z"},
            {"rollout": {"after": "2026-01-01T00:05:00Z"}},
        ):
            self.assertEqual(
                replacement.Progress(7, BEGAN + 300, 0, 1, BEGAN + 300),
                replacement.latest_progress(
                    seen(
                        machine(AFTER, "NodeHealthy"),
                        control_plane={"spec": spec},
                    ),
                ),
            )

    def test_a_view_without_a_release_has_no_mark(self) -> None:
        self.assertIsNone(replacement.latest_progress(seen(revisions=())))
