# SPDX-License-Identifier: Apache-2.0

"""``list``: where each cluster is, of several management clusters."""

from __future__ import annotations

import uuid

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import listed
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


class ListOfSeveralTest(placing.LocationTestCase):
    """Two management clusters, and a cluster on b."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def where(self, *argv: str) -> list[tuple[str, str, str]]:
        """Name, management cluster and state of each line."""
        keys = ("Name", "Management cluster", "State")
        found = listed.run(*argv)[1]
        return [tuple(each[key] for key in keys) for each in found]  # type: ignore[misc]

    def test_each_line_names_its_management_cluster(self) -> None:
        self.assertEqual([("web", "b", "ok")], self.where())
        self.overwrite()
        self.assertEqual([("web", "b", "ok")], self.where())

    def test_a_management_cluster_limits_the_list(self) -> None:
        self.stop("a")
        only = "--management-cluster"
        self.assertEqual([("web", "b", "ok")], self.where(only, "b"))
        self.assertEqual(0, listed.run(only, "b")[0])
        ((name, where, state),) = self.where(only, "a")
        self.assertEqual(("", "a"), (name, where))
        self.assertIn("does not answer", state)

    def test_a_silent_management_cluster_does_not_hide_the_other(self) -> None:
        other = str(uuid.uuid5(uuid.NAMESPACE_DNS, "a"))
        self.uuid = other
        self.make("a", name="api")
        self.planes["a"].cluster_api(
            base.NAMESPACE, names.release("api", other)
        ).settle()
        self.stop("b")
        first, second = self.where()
        self.assertEqual(("api", "a", "ok"), first)
        self.assertEqual(("web", "b"), second[:2])
        self.assertIn("unreachable: the management cluster b", second[2])
        self.assertEqual(1, listed.run()[0])

    def test_a_copy_on_the_wrong_one_is_no_orphan(self) -> None:
        there = self.planes["b"].server
        self.planes["a"].server.create(
            kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
        )
        for kind in (kinds.CLUSTER, kinds.SECRET):
            for each in there.list(kind, base.NAMESPACE):
                each["metadata"].pop("resourceVersion", None)
                self.planes["a"].server.create(kind, each)
        self.assertEqual(
            [
                ("web", "b", "ok"),
                ("web", "a", "drift: the cluster is on b"),
            ],
            self.where(),
        )

    def test_another_clouds_clusters_are_not_listed(self) -> None:
        conf.CONF.set_override("namespace_prefix", "east", "capi_helm")
        self.assertEqual(
            [("web", "b", "not on its management cluster")], self.where()
        )
