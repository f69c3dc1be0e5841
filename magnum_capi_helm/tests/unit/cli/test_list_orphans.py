# SPDX-License-Identifier: Apache-2.0

"""``list``: what a management cluster has and Magnum does not."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.unit.cli import listed
from magnum_capi_helm.tests.unit.lifecycle import base

ORPHAN = "orphan, or a cluster of another Magnum"


class OrphansTest(listed.ListTestCase):
    def test_a_release_without_a_row_is_an_orphan(self) -> None:
        self.forget()
        orphan = {
            "Name": "",
            "UUID": "",
            "Project": "fakeproject",
            "Status": "",
            "Management cluster": "",
            "Release": base.RELEASE,
            "Chart": "0.27.0",
            "Kubernetes": "",
            "Revision": "deployed",
            "State": ORPHAN,
        }
        self.assertEqual((1, [orphan]), listed.run())

    def test_a_release_of_another_region_is_no_orphan(self) -> None:
        label = "magnum.openstack.org/region"
        rows: tuple[tuple[str | None, str, list[str]], ...] = (
            # in the namespace, in the configuration, orphans
            ("west", "east", []),
            ("west", "", []),
            ("east", "east", [ORPHAN]),
            (None, "east", [ORPHAN]),
            (None, "", [ORPHAN]),
        )
        for owner, region, _ in rows:
            conf.CONF.set_override("region_name", region, "capi_helm")
            change = {"metadata": {"labels": {label: owner}}}
            self.server.patch(kinds.NAMESPACE, "", base.NAMESPACE, change)
            # A cluster of ours is listed wherever it is.
            self.assertEqual([(base.RELEASE, "ok")], self.states())
        other = "other-aaaaaaaaaaaa"
        stray = {
            "name": other,
            "namespace": base.NAMESPACE,
            "labels": {"capi.stackhpc.com/cluster": other},
        }
        self.server.create(kinds.CLUSTER, {"metadata": stray})
        change = {"metadata": {"labels": {label: "west"}}}
        self.server.patch(kinds.NAMESPACE, "", base.NAMESPACE, change)
        self.assertEqual([(base.RELEASE, "ok")], self.states())
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, other)
        self.forget()
        for owner, region, orphans in rows:
            conf.CONF.set_override("region_name", region, "capi_helm")
            change = {"metadata": {"labels": {label: owner}}}
            self.server.patch(kinds.NAMESPACE, "", base.NAMESPACE, change)
            found = [state for _, state in self.states()]
            self.assertEqual(orphans, found, (owner, region))

    def test_a_cluster_that_is_made_meanwhile_is_no_orphan(self) -> None:
        row, groups = self.row(), self.groups().values()
        self.forget()
        original = self.management.list

        def made_now(*args: Any, **options: Any) -> Any:
            self.management.list = original  # type: ignore[method-assign]
            fields = {key: row[key] for key in row.fields if key != "id"}
            fields.pop("cluster_template", None)
            self.dbapi.create_cluster(fields)
            for each in groups:
                values = {key: each[key] for key in each.fields if key != "id"}
                self.dbapi.create_nodegroup(values)
            return original(*args, **options)

        self.management.list = made_now  # type: ignore[method-assign]
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_an_option_limits_the_list_to_orphans(self) -> None:
        self.assertEqual((0, []), listed.run("--orphans"))
        self.forget()
        self.assertEqual([(base.RELEASE, ORPHAN)], self.states("--orphans"))
        # What nobody can see now, is not nothing.
        self.management.unreachable()
        self.assertEqual(1, listed.run("--orphans")[0])
