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
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.cli import listed
from magnum_capi_helm.tests.unit.lifecycle import base


def name(obj: dict[str, Any]) -> str:
    """Of an object."""
    return str(obj["metadata"]["name"])


class ListTest(listed.ListTestCase):
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
        self.assertEqual((0, [line]), listed.run())

    def copy(self, release: str) -> None:
        """One more cluster with all that the first one has."""
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
        row = self.row()
        row.name = "the-production-cluster-of-team-seven-" * 3
        row.save()
        out = io.StringIO()
        command_case.run(listing.List, out=out)
        border, header, *_ = out.getvalue().splitlines()
        self.assertLessEqual(len(border), 120)
        self.assertEqual(
            {
                "Name",
                "Status",
                "Release",
                "Chart",
                "State",
                "Management cluster",
            },
            {each.strip() for each in header.strip("|").split("|")},
        )

    def test_many_cost_as_many_requests_as_one(self) -> None:
        self.copy("api-aaaaaaaaaaaa")
        self.copy("db-bbbbbbbbbbbb")
        self.management.requests.clear()
        lists = mock.patch.object(
            self.management, "list", wraps=self.management.list
        )
        with (
            lists as seen,
            mock.patch.object(objects.NodeGroup, "list", self.fail),
        ):
            self.assertEqual(3, len(listed.run()[1]))
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
        asked = [(each.verb, each.kind) for each in self.management.requests]
        expected = [
            ("get", "Namespace"),
            ("list", "Cluster"),
            ("list", "Secret"),
        ]
        self.assertEqual(expected, asked)

    def test_without_a_cluster_object_the_chart_is_not_known(self) -> None:
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.release(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        code, (line,) = listed.run()
        self.assertEqual(
            (1, "", "drift: the Cluster object does not exist"),
            (code, line["Chart"], line["State"]),
        )

    def test_a_refused_credential_is_no_difference(self) -> None:
        row = self.row()
        row.health_status = "UNHEALTHY"
        row.health_status_reason = {"credential": "Keystone refuses it"}
        row.save()
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_rows_that_changed_since_are_a_drift(self) -> None:
        group = self.groups()["default-worker"]
        group.node_count += 1
        group.save()
        code, (line,) = listed.run()
        self.assertEqual(
            "drift: the rows want something else than was last applied",
            line["State"],
        )
        self.assertEqual(1, code)

    def test_every_operation_ends_with_ok(self) -> None:
        self.resize(3)
        self.add("extra")
        self.capi.settle()
        self.poll()
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_a_deletion_is_no_drift(self) -> None:
        self.delete()
        self.poll()
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_a_deletion_is_none_before_its_groups_are_marked(self) -> None:
        row, group = self.row(), self.groups()["default-worker"]
        row.status = "DELETE_IN_PROGRESS"
        row.save()
        group.node_count += 1
        group.save()
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_clusters_of_another_driver_that_is_installed(self) -> None:
        self.saved(
            {"driver": "heat", "cluster_distro": "core"},
            uuid=str(uuid.uuid4()),
            stack_id="theirs",
        )
        ours = drivers.Driver.get_driver

        def found(server_type: str, distro: str, *args: Any) -> Any:
            if distro == "core":
                return object()
            return ours(server_type, distro, *args)

        with mock.patch.object(drivers.Driver, "get_driver", found):
            self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_clusters_of_other_drivers_are_not_listed(self) -> None:
        for driver in ("k8s_of_somebody_else", None):
            self.saved(
                {"driver": driver, "cluster_distro": "other-os"},
                uuid=str(uuid.uuid4()),
                stack_id="theirs",
            )
        self.assertEqual([(base.RELEASE, "ok")], self.states())

    def test_old_templates_name_no_driver(self) -> None:
        self.saved(
            {"driver": None, "cluster_distro": "ubuntu"},
            uuid=str(uuid.uuid4()),
            name="young",
        )
        self.assertEqual([(base.RELEASE, "ok"), ("", "ok")], self.states())

    def test_a_project_limits_the_list(self) -> None:
        self.assertEqual(
            [(base.RELEASE, "ok")],
            self.states("--project", openstack.PROJECT),
        )
        self.assertEqual((0, []), listed.run("--project", "another"))

    def test_its_rows_are_listed_while_it_does_not_answer(self) -> None:
        self.management.unreachable()
        code, (line,) = listed.run()
        self.assertEqual(
            "unreachable: the management cluster does not answer "
            "(ConnectTimeout). It is https://fake",
            line["State"],
        )
        self.assertEqual(
            ("web", "CREATE_COMPLETE"), (line["Name"], line["Status"])
        )
        self.assertEqual(1, code)

    def test_namespaces_are_read_one_by_one_where_it_has_to_be(self) -> None:
        original = self.management.list

        def refused(
            kind: kinds.Kind, namespace: str | None, *args: Any, **options: Any
        ) -> Any:
            if namespace is None:
                raise responses.ForbiddenError("forbidden")
            return original(kind, namespace, *args, **options)

        self.management.list = refused  # type: ignore[method-assign]
        self.assertEqual([(base.RELEASE, "ok")], self.states())
        self.management.fail(responses.ForbiddenError("forbidden"))
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

    def test_an_unknown_management_cluster_is_refused(self) -> None:
        error = self.assertRaises(
            errors.NotConfigured, listed.run, "--management-cluster", "x"
        )
        self.assertIn("there is no management cluster 'x'", str(error))
