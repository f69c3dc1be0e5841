# SPDX-License-Identifier: Apache-2.0

"""The choice of a management cluster for a new cluster."""

from __future__ import annotations

import time

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.management_clusters import placement
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import placing


class ChooseTest(placing.LocationTestCase):
    def choose(self, label: str = "") -> str:
        """Return the name of the chosen management cluster."""
        labels = {"capi_management_cluster": label} if label else {}
        cluster = self.cluster({"labels": labels})
        return placement.choose(cluster).management_cluster.name

    def freeze(self, name: str) -> None:
        rt = self.planes[name].runtime("operator")
        rt.maintenance.freeze("etcd moves", "op@host", time.time())

    def test_the_label_names_the_management_cluster(self) -> None:
        self.assertEqual(["a", "b"], [self.choose("a"), self.choose("b")])

    def test_an_unknown_label_is_refused_with_all_names(self) -> None:
        error = self.assertRaises(errors.LabelError, self.choose, "x")
        self.assertRegex(
            str(error), "^label capi_management_cluster: give a or b. .* 'x'$"
        )

    def test_a_label_without_any_name_is_refused(self) -> None:
        conf.CONF.clear_override("management_clusters", "capi_helm")
        self.start()
        error = self.assertRaises(errors.LabelError, self.choose, "x")
        self.assertRegex(str(error), "give none: .* 'x'$")

    def test_the_first_one_of_the_list_is_chosen(self) -> None:
        self.assertEqual("a", self.choose())
        self.assertEqual(0, self.requests("b"))
        self.configure("b", "a")
        self.restart()
        self.assertEqual("b", self.choose())

    def test_a_silent_one_is_passed_over(self) -> None:
        self.stop("a")
        self.assertEqual("b", self.choose())

    def test_a_frozen_one_is_passed_over(self) -> None:
        self.freeze("a")
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
