# SPDX-License-Identifier: Apache-2.0

"""The choice of a management cluster for a new cluster."""

from __future__ import annotations

import time
from typing import Any

from magnum.common import exception

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.management_clusters import placement
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


class ChooseTest(placing.LocationTestCase):
    def choose(self, label: str = "") -> str:
        labels = {"capi_management_cluster": label} if label else {}
        cluster = self.cluster({"labels": labels})
        return placement.choose(cluster).management_cluster.name

    def freeze(self, name: str) -> None:
        rt = self.planes[name].runtime("operator")
        rt.maintenance.freeze("etcd moves", "op@host", time.time())

    def test_the_label_names_the_management_cluster(self) -> None:
        self.assertEqual(["a", "b"], [self.choose("a"), self.choose("b")])

    def test_an_unknown_label_is_refused_with_all_names(self) -> None:
        for names in ("a or b", "none"):
            error = self.assertRaises(errors.LabelError, self.choose, "x")
            self.assertRegex(
                str(error),
                f"^label capi_management_cluster: give {names}[.:] .*'x'$",
            )
            conf.CONF.clear_override("management_clusters", "capi_helm")
            self.start()

    def test_the_first_one_of_the_list_is_chosen(self) -> None:
        self.assertEqual("a", self.choose())
        self.assertEqual(0, self.requests("b"))
        self.configure("b", "a")
        self.restart()
        self.assertEqual("b", self.choose())

    def test_a_frozen_or_silent_one_is_passed_over(self) -> None:
        self.freeze("a")
        self.assertEqual("b", self.choose())
        self.planes["a"].runtime("operator").maintenance.thaw(time.time())
        self.stop("a")
        self.restart()
        self.assertEqual("b", self.choose())

    def test_the_first_reason_is_shown_when_none_is_open(self) -> None:
        self.freeze("a")
        self.stop("b")
        error = self.assertRaises(errors.Frozen, self.choose)
        self.assertIn("the management cluster a is frozen", str(error))

    def test_a_single_one_is_not_asked(self) -> None:
        self.configure("a")
        self.start()
        runtime.use(self.planes["a"].runtime())
        self.stop("a")
        self.assertEqual("a", self.choose())


LABEL = "magnum.openstack.org/region"
FOREIGN = (
    f"the namespace {base.NAMESPACE} on the management cluster belongs to the "
    "Magnum of region west"
)


class RegionsTest(base.FlowTestCase):
    def region(self, name: str) -> None:
        self.set_option(region_name=name)

    def namespace(self, **labels: str) -> None:
        meta = {"name": base.NAMESPACE, "labels": labels}
        self.server.create(kinds.NAMESPACE, {"metadata": meta})

    def labels(self) -> dict[str, Any] | None:
        found = self.server.get(kinds.NAMESPACE, "", base.NAMESPACE)
        return found and found["metadata"].get("labels", {})

    def made(self) -> bool:
        return base.RELEASE in self.server.names(kinds.CLUSTER)

    def test_a_namespace_is_marked_when_it_is_made(self) -> None:
        for region, labels in (("", {}), ("east", {LABEL: "east"})):
            self.region(region)
            self.server.delete(kinds.NAMESPACE, "", base.NAMESPACE)
            self.uuid = base.UUID.replace("5d", "6d" if region else "5d")
            self.create()
            self.assertEqual({**permissions.LABELS, **labels}, self.labels())

    def test_the_next_create_marks_a_present_namespace(self) -> None:
        """One that has our mark is used as it is."""
        self.region("east")
        for marked in (False, True):
            self.server.delete(kinds.NAMESPACE, "", base.NAMESPACE)
            mark = {LABEL: "east"} if marked else {}
            self.namespace(theirs="kept", **mark)
            self.uuid = base.UUID.replace("3a52", "3a53" if marked else "3a52")
            self.management.requests.clear()
            self.create()
            self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
            self.assertEqual({"theirs": "kept", LABEL: "east"}, self.labels())
            writes = [
                each.verb
                for each in self.management.requests
                if each.kind == "Namespace" and each.verb != "get"
            ]
            self.assertEqual([] if marked else ["patch"], writes)

    def test_another_regions_is_refused_with_nothing_written(self) -> None:
        self.namespace(**{LABEL: "west"})
        for region in ("east", ""):
            self.uuid = base.UUID.replace("5d", "6d" if region else "5d")
            self.region(region)
            self.assertIn(FOREIGN, self.error_of(self.create))
            row = self.row()
            self.assertEqual("CREATE_FAILED", row.status)
            self.assertIsNone(row.stack_id)
        self.assertEqual({LABEL: "west"}, self.labels())
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.server.names(kinds.LEASE))

    def test_another_region_that_was_quicker_is_left_alone(self) -> None:
        self.region("east")
        real = self.management.create

        def quicker(kind: kinds.Kind, obj: Any, **options: Any) -> Any:
            if kind is kinds.NAMESPACE:
                self.namespace(**{LABEL: "west"})
            return real(kind, obj, **options)

        self.management.create = quicker  # type: ignore[method-assign]
        self.assertRaises(exception.NotSupported, self.create)
        self.assertEqual({LABEL: "west"}, self.labels())
        self.assertFalse(self.made())

    def test_a_create_of_our_own_that_was_quicker_is_fine(self) -> None:
        def before() -> None:
            """Another conductor makes it after it was looked for."""
            asked = self.management.requests
            looked = ("get", "Namespace", base.NAMESPACE)
            if looked in asked and self.labels() is None:
                self.namespace()

        for region in ("", "east"):
            self.region(region)
            self.server.delete(kinds.NAMESPACE, "", base.NAMESPACE)
            self.uuid = base.UUID.replace("3a52", "3a53" if region else "3a52")
            self.fails(
                "create",
                kinds.NAMESPACE,
                times=1,
                error=errors.Conflict("it exists (409)"),
            )
            self.management.before = before
            self.create()
            self.assertEqual("CREATE_IN_PROGRESS", self.row().status)
            self.assertEqual({LABEL: region} if region else {}, self.labels())

    def test_clusters_that_are_there_live_on(self) -> None:
        self.complete()
        change = {"metadata": {"labels": {LABEL: "west"}}}
        self.server.patch(kinds.NAMESPACE, "", base.NAMESPACE, change)
        self.resize(3)
        self.assert_updated()
        self.vanish()
        self.assertTrue(self.gone())

    def test_a_region_is_what_a_label_can_hold(self) -> None:
        for wrong in ("a b", "-a", "a-", "x" * 64, "ä"):
            self.assertRaises(ValueError, self.region, wrong)
        for right in ("", "a", "RegionOne", "eu-west_1.b", "x" * 63):
            self.region(right)
