# SPDX-License-Identifier: Apache-2.0

"""Live objects equal the manifest again, whatever happened to them."""

from __future__ import annotations

from typing import Any

from oslotest import base as test_base

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import repair
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import base

WORKERS = names.machine_deployment(base.RELEASE, "default-worker")
PLANE = names.control_plane(base.RELEASE)


#: Requests that find out whether the release is newer than its desired state.
_VERSION = {("get", "Cluster"), ("get", "KubeadmControlPlane")}


class RepairTestCase(base.NodegroupTestCase):
    """A complete cluster that somebody disturbs."""

    def disturb(self, kind: kinds.Kind, name: str, spec: Any) -> None:
        """Change an object behind helm's back."""
        self.edit(kind, name, {"spec": spec})

    def failed_revision(self) -> None:
        """A resize whose helm is stopped half way, and is undone."""
        self.helm.outcomes = [helm.Outcome.INTERRUPTED]
        self.resize(3)
        self.disturb(kinds.CONTROL_PLANE, PLANE, {"version": "v1.33.0"})
        template = {"spec": {"version": "v1.33.0"}}
        change = {"replicas": 3, "template": template}
        self.disturb(kinds.MACHINE_DEPLOYMENT, WORKERS, change)

    def as_wanted(self) -> bool:
        plane = self.live(kinds.CONTROL_PLANE, PLANE)["spec"]
        workers = self.live(kinds.MACHINE_DEPLOYMENT, WORKERS)["spec"]
        version = workers["template"]["spec"]["version"]
        return {plane["version"], version} == {"v1.34.2"}

    def verbs(self) -> set[tuple[str, str]]:
        """What was done to the management cluster, but for the records.

        Its identity, which a namespace has, is looked at before any change.
        """
        return {
            (each.verb, each.kind)
            for each in self.management.requests
            if each.kind not in ("Lease", "Namespace", "Secret", "Machine")
        }


class RepairTest(RepairTestCase):
    def test_changes_of_a_failed_revision_are_repaired_once(self) -> None:
        self.failed_revision()
        self.resize(2)
        self.assertTrue(self.as_wanted())
        self.assertEqual(2, self.replicas())
        self.assert_updated()
        self.management.requests.clear()
        self.resize(4)
        self.assertEqual(_VERSION, self.verbs())

    def test_a_poll_does_it_where_the_request_could_not(self) -> None:
        self.failed_revision()
        self.fails("patch", kinds.CONTROL_PLANE)
        self.resize(2)
        runs = len(self.helm.upgrades)
        self.assertFalse(self.as_wanted())
        self.settle()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.management.recover()
        self.poll_after(11)
        self.assertTrue(self.as_wanted())
        self.assertEqual(runs, len(self.helm.upgrades))
        self.assert_updated()

    def test_changes_of_a_killed_helm_are_repaired(self) -> None:
        self.helm.outcomes = [helm.Outcome.KILLED]
        self.assertRaises(management.Killed, self.resize, 3)
        self.management.recover()
        self.disturb(kinds.CONTROL_PLANE, PLANE, {"version": "v1.33.0"})
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        for seconds in (0, lease.DURATION + 1, 331):
            self.poll_after(seconds)
        self.assertTrue(self.as_wanted())
        self.assertEqual(3, self.replicas())

    def test_an_object_refused_by_a_webhook_stays_with_a_warning(self) -> None:
        self.failed_revision()
        self.fails(
            "patch",
            kinds.CONTROL_PLANE,
            error=errors.ManagementError("admission webhook denied it"),
        )
        self.resize(2)
        self.assertIn("stays as it is: admission webhook", self.log.output)
        self.assert_updated()

    def test_a_kept_object_that_is_missing_is_made_anew(self) -> None:
        self.failed_revision()
        (name, *_) = self.server.names(kinds.CONFIG_TEMPLATE)
        where = (kinds.CONFIG_TEMPLATE, base.NAMESPACE, name)
        self.resize(2)
        self.disturb(kinds.CONTROL_PLANE, PLANE, {"replicas": 3})
        self.server.delete(*where)
        self.poll()
        notes = view.annotations_of(self.live(kinds.CONFIG_TEMPLATE, name))
        self.assertEqual(base.RELEASE, notes["meta.helm.sh/release-name"])
        # Or it is left with a warning.
        self.plane.clock.advance(11)
        self.disturb(kinds.CONTROL_PLANE, PLANE, {"replicas": 3})
        self.server.delete(*where)
        self.fails(
            "create",
            kinds.CONFIG_TEMPLATE,
            error=errors.ManagementError("no such version"),
        )
        self.poll()
        self.assertIn("stays as it is: no such version", self.log.output)
        plane = self.live(kinds.CONTROL_PLANE, PLANE)
        self.assertEqual(1, plane["spec"]["replicas"])

    def test_a_manifest_in_a_version_that_is_served_no_more(self) -> None:
        """Its objects are compared in the version that is served."""
        self.management.retired = {
            f"{group}/{conversion.OLD}" for group, _ in conversion.TABLES
        }
        self.disturb(kinds.CONTROL_PLANE, PLANE, {"version": "v1.33.0"})
        release = held.release(self.row())
        repair.repair(release, release.revisions())
        self.assertTrue(self.as_wanted())

    def test_without_the_cluster_object_nothing_is_made(self) -> None:
        self.server.release(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        release = held.release(self.row())
        repair.repair(release, release.revisions())
        self.assertEqual([], self.server.names(kinds.CONTROL_PLANE))


_POLICY = "helm.sh/resource-policy"


class StraysTest(RepairTestCase):
    """Objects that a failed revision made."""

    def stray(self, kind: kinds.Kind, name: str, **annotations: str) -> None:
        """An object that helm made and no manifest has."""
        owner = {
            "meta.helm.sh/release-name": base.RELEASE,
            "meta.helm.sh/release-namespace": base.NAMESPACE,
            **annotations,
        }
        labels = {view.CHART_CLUSTER_LABEL: base.RELEASE}
        metadata = {
            "name": name,
            "namespace": base.NAMESPACE,
            "labels": labels,
            "annotations": owner,
        }
        self.server.create(kind, {"metadata": metadata, "spec": {}})

    def test_stray_objects_of_the_release_go(self) -> None:
        self.failed_revision()
        other = {"meta.helm.sh/release-name": "other"}
        keep = {_POLICY: "keep"}
        self.stray(kinds.MACHINE_DEPLOYMENT, "stray")
        self.stray(kinds.HELM_RELEASE, "stray")
        self.stray(kinds.MANIFESTS, "kept", **keep)
        self.stray(kinds.MANIFESTS, "others", **other)
        self.stray(kinds.OPENSTACK_MACHINE_TEMPLATE, "older")
        self.resize(2)
        self.assertNotIn("stray", self.server.names(kinds.MACHINE_DEPLOYMENT))
        self.assertNotIn("stray", self.server.names(kinds.HELM_RELEASE))
        self.assertLessEqual(
            {"kept", "others"}, set(self.server.names(kinds.MANIFESTS))
        )
        templates = self.server.names(kinds.OPENSTACK_MACHINE_TEMPLATE)
        self.assertIn("older", templates)

    def test_an_addon_that_helm_left_goes_before_the_end(self) -> None:
        self.stray(kinds.HELM_RELEASE, "stray")
        self.stray(kinds.MANIFESTS, "kept", **{_POLICY: "keep"})
        self.resize(3)
        self.settle()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assertNotIn("stray", self.server.names(kinds.HELM_RELEASE))
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertIn("kept", self.server.names(kinds.MANIFESTS))


class AgainTest(RepairTestCase):
    """What another program does again is undone again, with pauses."""

    def test_repeated_foreign_changes_are_repaired_with_pauses(self) -> None:
        self.resize(3)
        patched = []
        for _ in range(6):
            self.disturb(kinds.CONTROL_PLANE, PLANE, {"replicas": 3})
            self.management.requests.clear()
            self.poll()
            patched.append(("patch", "KubeadmControlPlane") in self.verbs())
            self.plane.clock.advance(10)
        # At once, then after 10, 20 and 40 seconds.
        self.assertEqual([True, True, False, True, False, False], patched)

    def test_an_addon_that_another_program_deletes_again_waits(self) -> None:
        name = self.server.names(kinds.HELM_RELEASE)[0]
        self.resize(3)
        self.capi.settle()
        made = []
        for _ in range(6):
            if name in self.server.names(kinds.HELM_RELEASE):
                self.server.delete(kinds.HELM_RELEASE, base.NAMESPACE, name)
            self.poll()
            made.append(name in self.server.names(kinds.HELM_RELEASE))
            self.plane.clock.advance(10)
        # The pauses are 10, 20 and 40 seconds.
        self.assertEqual([True, True, False, True, False, False], made)
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)

    def test_a_resize_to_the_same_count_repairs_the_release(self) -> None:
        self.disturb(kinds.CONTROL_PLANE, PLANE, {"version": "v1.33.0"})
        self.resize(2)
        self.assertTrue(self.as_wanted())
        # An equal release is not written.
        before = self.versions()
        self.resize(2)
        self.assertEqual(before, self.versions())

    def versions(self) -> dict[str, str]:
        return {
            f"{kind.name} {name}": view.version_of(self.live(kind, name))
            for kind in kinds.ALL
            if kind.group and kind is not kinds.LEASE
            for name in self.server.names(kind)
        }


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


class DriftTest(test_base.BaseTestCase):
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

    def test_a_missing_addon_differs_if_addons_were_read(self) -> None:
        unread = view.View("k1", addons_known=False)
        expected: tuple[tuple[view.View, set[str], bool], ...] = (
            (view.View("k1"), {"cni"}, True),
            (view.View("k1"), set(), False),
            (unread, {"cni"}, False),
        )
        for live, wanted, differs in expected:
            with self.subTest(known=live.addons_known, wanted=wanted):
                found = repair.addons_differ(live, _SCOPE, wanted)
                self.assertIs(differs, found)
