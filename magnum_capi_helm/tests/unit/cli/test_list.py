# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm list``: what it prints, asks, and how it exits."""

from __future__ import annotations

import io
import json
from typing import Any
from unittest import mock
import uuid

from magnum import objects
from magnum.drivers.common import driver as drivers

from magnum_capi_helm.cli import list as listing
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


def name(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["name"])


class ListTest(command_case.ListTestCase):
    def test_a_cluster_that_is_well(self) -> None:
        line = {
            "Name": "web",
            "UUID": self.uuid,
            "Project": openstack.PROJECT,
            "Status": "CREATE_COMPLETE",
            "Management cluster": "",
            "Release": base.RELEASE,
            "Chart": "0.27.0",
            "Kubernetes": self.row().coe_version,
            "Revision": "deployed",
            "State": "ok",
        }
        for argv, lines in (
            ((), [line]),
            (("--project", openstack.PROJECT), [line]),
            (("--project", "another"), []),
            (("--orphans",), []),
        ):
            self.assertEqual((0, lines), command_case.run_list(*argv))

    def copy(self, release: str) -> None:
        self.saved(
            uuid=str(uuid.uuid4()), stack_id=release, status="CREATE_COMPLETE"
        )
        for kind in (kinds.CLUSTER, kinds.SECRET):
            for each in self.server.list(kind, base.NAMESPACE):
                text = json.dumps(each).replace(base.RELEASE, release)
                made = json.loads(text)
                if self.server.get(kind, base.NAMESPACE, name(made)) is None:
                    self.server.create(kind, made)

    def test_a_piped_table_has_six_columns_and_120_characters(self) -> None:
        self.save(name="the-production-cluster-of-team-seven-" * 3)
        out = io.StringIO()
        command_case.run(listing.List, out=out)
        border, header, *_ = out.getvalue().splitlines()
        self.assertLessEqual(len(border), 120)
        columns = {each.strip() for each in header.strip("|").split("|")}
        self.assertEqual(
            {"Name", "Status", "Release", "Chart", "State"}
            | {"Management cluster"},
            columns,
        )

    def test_many_cost_as_many_requests_as_one(self) -> None:
        self.copy("api-aaaaaaaaaaaa")
        self.copy("db-bbbbbbbbbbbb")
        self.management.requests.clear()
        original = self.management.list
        lists = mock.patch.object(self.management, "list", wraps=original)
        groups = mock.patch.object(objects.NodeGroup, "list", self.fail)
        with lists as seen, groups:
            self.assertEqual(3, len(command_case.run_list()[1]))
        label = "capi.stackhpc.com/cluster"
        records = "owner=helm,status!=superseded,name"
        metadata = {"metadata_only": True}
        self.assertEqual(
            [
                mock.call(kinds.CLUSTER, None, label, **metadata),
                mock.call(kinds.SECRET, None, records, **metadata),
            ],
            seen.mock_calls,
        )
        self.assertEqual(
            ["get Namespace", "list Cluster", "list Secret"],
            [f"{each.verb} {each.kind}" for each in self.management.requests],
        )

    def test_rows_that_changed_since_are_a_drift_unless_they_go(self) -> None:
        self.save(self.groups()["default-worker"], node_count=3)
        code, (line,) = command_case.run_list()
        self.assertEqual(
            "drift: the rows want something else than was last applied",
            line["State"],
        )
        self.assertEqual(1, code)
        # A deletion whose groups are not marked yet.
        self.save(status="DELETE_IN_PROGRESS")
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_every_operation_ends_with_ok(self) -> None:
        self.resize(3)
        self.add("extra")
        self.settle()
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_only_clusters_of_this_driver_are_listed(self) -> None:
        # "core" is another driver's that is installed; old templates of this
        # driver name none.
        for driver, distro in (
            ("heat", "core"),
            ("k8s_of_somebody_else", "other-os"),
            (None, "other-os"),
            (None, "ubuntu"),
        ):
            self.saved(
                {"driver": driver, "cluster_distro": distro},
                uuid=str(uuid.uuid4()),
                stack_id=None if distro == "ubuntu" else "theirs",
                name="young",
            )
        ours = drivers.Driver.get_driver

        def found(server_type: str, distro: str, *args: Any) -> Any:
            if distro == "core":
                return object()
            return ours(server_type, distro, *args)

        with mock.patch.object(drivers.Driver, "get_driver", found):
            self.assertEqual([(base.RELEASE, "ok"), ("", "ok")], self.states())

    def test_namespaces_are_read_one_by_one_where_it_has_to_be(self) -> None:
        command_case.refuse_all_namespaces(self.management)
        self.assertEqual([(base.RELEASE, "ok")], self.states())
        self.fails(error=responses.ForbiddenError("forbidden"))
        self.assertEqual(
            [(base.RELEASE, "unreachable: forbidden")], self.states()
        )

    def test_secrets_are_read_in_namespaces_that_are_here(self) -> None:
        """With the shipped roles, which are bound in no other namespace."""
        original = self.management.list
        asked: list[str | None] = []

        def refused(
            kind: kinds.Kind, namespace: str | None, *args: Any, **options: Any
        ) -> Any:
            if kind is kinds.SECRET:
                asked.append(namespace)
                if namespace not in here:
                    raise responses.ForbiddenError("forbidden")
            return original(kind, namespace, *args, **options)

        self.management.list = refused  # type: ignore[method-assign]
        here = {base.NAMESPACE}
        self.assertEqual([(base.RELEASE, "ok")], self.states())
        self.assertIn(base.NAMESPACE, asked)
        # Of a cluster on another management cluster: nothing of it is here.
        self.plane.server.release(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.plane.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.plane.server.delete(kinds.NAMESPACE, "", base.NAMESPACE)
        asked.clear()
        self.states()
        self.assertNotIn(base.NAMESPACE, asked)


ORPHAN = "orphan, or a cluster of another Magnum"


class OrphansTest(command_case.ListTestCase):
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
        for argv in ((), ("--orphans",)):
            self.assertEqual((1, [orphan]), command_case.run_list(*argv))
        # What nobody can see now, is not nothing.
        self.management.unreachable()
        self.assertEqual(1, command_case.run_list("--orphans")[0])

    def test_a_release_of_another_region_is_no_orphan(self) -> None:
        def mark(owner: str | None, region: str) -> None:
            self.set_option(region_name=region)
            labels = {"magnum.openstack.org/region": owner}
            change = {"metadata": {"labels": labels}}
            self.server.patch(kinds.NAMESPACE, "", base.NAMESPACE, change)

        other = "other-aaaaaaaaaaaa"
        stray = {
            "name": other,
            "namespace": base.NAMESPACE,
            "labels": {"capi.stackhpc.com/cluster": other},
        }
        self.server.create(kinds.CLUSTER, {"metadata": stray})
        # A cluster of ours is listed wherever it is.
        mark("west", "east")
        self.assertEqual([(base.RELEASE, "ok")], self.states())
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, other)
        self.forget()
        for owner, region, orphans in (
            ("west", "east", []),
            ("west", "", []),
            ("east", "east", [ORPHAN]),
            (None, "east", [ORPHAN]),
            (None, "", [ORPHAN]),
        ):
            mark(owner, region)
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


class ListOfSeveralTest(placing.LocationTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.made()

    def where(self, *argv: str) -> list[tuple[str, str, str]]:
        keys = ("Name", "Management cluster", "State")
        found = command_case.run_list(*argv)[1]
        return [tuple(each[key] for key in keys) for each in found]  # type: ignore[misc]

    def test_each_line_names_its_management_cluster(self) -> None:
        self.assertEqual([("web", "b", "ok")], self.where())
        self.forget()
        self.assertEqual([("web", "b", "ok")], self.where())

    def test_another_clouds_clusters_are_not_listed(self) -> None:
        self.set_option(namespace_prefix="east")
        self.assertEqual(
            [("web", "b", "not on its management cluster")], self.where()
        )

    def test_a_management_cluster_limits_the_list(self) -> None:
        self.stop("a")
        only = "--management-cluster"
        self.assertEqual([("web", "b", "ok")], self.where(only, "b"))
        self.assertEqual(0, command_case.run_list(only, "b")[0])
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
        self.assertEqual(1, command_case.run_list()[0])
