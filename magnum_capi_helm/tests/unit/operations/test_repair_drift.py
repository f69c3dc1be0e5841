# SPDX-License-Identifier: Apache-2.0

"""Live objects that differ from a manifest, and objects that do not."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import repair
from magnum_capi_helm.status import view

_SCOPE = ("magnum-p", "k1")
_OURS = {
    "meta.helm.sh/release-name": "k1",
    "meta.helm.sh/release-namespace": "magnum-p",
}
_KEPT = {**_OURS, "helm.sh/resource-policy": "keep"}
_OTHERS = {**_OURS, "meta.helm.sh/release-name": "k2"}
#: Counts of control plane and workers, annotations of the MachineDeployment
#: -> whether the counts differ from 3 and 2.
COUNTS: tuple[tuple[int, int, dict[str, str], bool], ...] = (
    (3, 2, {}, False),
    (1, 2, {}, True),
    (3, 4, {}, True),
    (3, 4, {view.AUTOSCALER_ANNOTATION: "5"}, False),
)
#: Annotations of the addon "new" beside "cni" -> whether it is one too many.
STRAYS: tuple[tuple[dict[str, str], bool], ...] = (
    (_OURS, True),
    (_KEPT, False),
    (_OTHERS, False),
    ({}, False),
)


def obj(name: str, notes: dict[str, str], **fields: Any) -> view.Object:
    return {"metadata": {"name": name, "annotations": notes}, **fields}


class DriftTest(base.BaseTestCase):
    def test_a_count_that_the_rows_decide_differs(self) -> None:
        rows = requested_groups.Rows(
            uuid="u",
            release="k1",
            groups=(
                requested_groups.Group("m", "master", "", True, 3),
                requested_groups.Group("w", "workers", "workers", False, 2),
            ),
        )
        for masters, workers, notes, differs in COUNTS:
            with self.subTest(masters=masters, workers=workers, notes=notes):
                spec = {"replicas": workers}
                group = obj("k1-workers", notes, spec=spec)
                plane = obj("k1-control-plane", {}, spec={"replicas": masters})
                live = view.View(
                    "k1", control_plane=plane, deployments=(group,)
                )
                self.assertIs(differs, repair.miscounted(live, rows))

    def test_objects_that_are_not_there_do_not_differ(self) -> None:
        group = requested_groups.Group("w", "workers", "workers", False, 2)
        rows = requested_groups.Rows(uuid="u", release="k1", groups=(group,))
        self.assertFalse(repair.miscounted(view.View("k1"), rows))

    def test_an_addon_of_helm_in_no_manifest_is_too_many(self) -> None:
        for notes, differs in STRAYS:
            with self.subTest(notes=notes):
                addons = (obj("cni", _OURS), obj("new", notes))
                live = view.View("k1", addons=addons)
                found = repair.addons_differ(live, _SCOPE, {"cni"})
                self.assertIs(differs, found)

    def test_an_addon_that_is_missing_differs_if_addons_were_read(
        self,
    ) -> None:
        unread = view.View("k1", addons_known=False)
        expected: tuple[tuple[view.View, set[str], bool], ...] = (
            (view.View("k1"), {"cni"}, True),
            (view.View("k1"), set(), False),
            (unread, {"cni"}, False),
        )
        for live, names, differs in expected:
            with self.subTest(known=live.addons_known, names=names):
                found = repair.addons_differ(live, _SCOPE, names)
                self.assertIs(differs, found)
