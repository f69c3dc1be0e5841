# SPDX-License-Identifier: Apache-2.0

"""``adopt --report``, on a cluster of 1.4.0."""

from __future__ import annotations

import base64
import json
from unittest import mock
import uuid

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cmd import adopt
from magnum_capi_helm.cmd import main
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.cmd import legacy_reports
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import test_legacy

RELEASE = test_legacy.RELEASE


class AdoptTest(legacy_reports.ReportCase):
    def report(self, *argv: str) -> tuple[int, list[tuple[str, str]]]:
        """Exit code; level and topic of each line."""
        code, found = self.run_command(adopt.Adopt, "--report", *argv)
        self.lines = found
        return code, [(each["Level"], each["About"]) for each in found]

    def texts(self) -> str:
        """All that was said."""
        return json.dumps(self.lines)

    def test_a_cluster_that_is_well_is_one_line(self) -> None:
        code, found = self.run_command(adopt.Adopt, "--report")
        self.assertEqual(
            [
                {
                    "Project": "fake_project",
                    "Name": "web",
                    "UUID": base.UUID,
                    "Level": "ok",
                    "About": "status",
                    "What": "CREATE_COMPLETE; here: complete",
                    "To do": "",
                }
            ],
            found,
        )
        self.assertEqual(0, code)
        self.assertEqual(
            "1 cluster: nothing needs the operator\n", self.err.getvalue()
        )

    def test_what_is_well_is_told_on_request(self) -> None:
        code, found = self.report("--all")
        self.assertEqual(
            [
                ("ok", "status"),
                ("ok", "chart"),
                ("ok", "API versions"),
                ("ok", "credential"),
                ("ok", "certificate"),
            ],
            found,
        )
        self.assertEqual(0, code)
        self.assertIn("kubeconfig until 20", self.texts())
        self.assertIn("ca CA until 20", self.texts())
        self.assertNotIn("s3cret", self.texts())

    def test_no_line_where_nothing_is_to_be_done(self) -> None:
        self.assertEqual((0, []), self.report("--to-do"))

    def test_clusters_of_another_project_are_left_out(self) -> None:
        self.assertEqual((0, []), self.report("--project", "another"))
        _, found = self.report("--project", "fake_project")
        self.assertEqual(1, len(found))

    def test_the_report_has_to_be_asked_for(self) -> None:
        parser = adopt.Adopt(main.Application(), None).get_parser("test")
        self.assertRaises(SystemExit, parser.parse_args, [])

    def test_everything_that_is_wrong_at_once(self) -> None:
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.labels = {"api_master_lb_allowed_cidrs": "192.0.2.0/24"}
        row.save()
        cloud = self.catalogue(None)
        cloud.images, cloud.flavors, cloud.keypairs = {}, {}, {}
        self.helm.published = set()
        self.management.retired = {"cluster.x-k8s.io/v1beta1"}
        self.openstack.credentials.clear()
        self.server.delete(kinds.SECRET, base.NAMESPACE, f"{RELEASE}-etcd")
        self.change_secret("proxy", {"tls.crt": "bm9uZQ=="})
        with mock.patch.object(catalogue, "Cloud", lambda session: cloud):
            code, found = self.report()
        self.assertEqual(1, code)
        self.assertEqual(
            [
                ("act", "status"),
                ("act", "chart"),
                ("act", "API versions"),
                ("act", "damage"),
                ("act", "damage"),
                ("act", "label"),
                ("act", "image"),
                ("act", "flavor"),
                ("act", "flavor"),
                ("act", "keypair"),
                ("act", "credential"),
            ],
            found,
        )
        self.assertIn(f"there is no Secret {RELEASE}-etcd", self.texts())
        self.assertIn(
            f"the Secret {RELEASE}-proxy: it is no certificate", self.texts()
        )
        self.assertIn("cluster.x-k8s.io/v1beta1", self.texts())

    def test_an_old_release_that_has_failed_is_resized_back_first(
        self,
    ) -> None:
        key = (
            kinds.SECRET,
            base.NAMESPACE,
            f"sh.helm.release.v1.{RELEASE}.v1",
        )
        record = self.server.get(*key) or {}
        text = base64.b64decode(record["data"]["release"])
        body = encoding.unpack(text)
        capo = "infrastructure.cluster.x-k8s.io"
        body["manifest"] = body["manifest"].replace(
            f"{capo}/v1beta1", f"{capo}/v1alpha7"
        )
        changed = base64.b64encode(encoding.pack(body).encode()).decode()
        self.server.patch(*key, {"data": {"release": changed}})
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()
        self.report()
        self.assertIn(
            "with this driver: resize it back to the count that it had",
            self.texts(),
        )

    def test_machines_whose_certificates_expire_before_all_others(
        self,
    ) -> None:
        self.expire("2099-01-01T00:00:00Z")
        code, _ = self.report("--all")
        self.assertEqual(0, code)
        self.assertIn("control plane until 2099-01-01", self.texts())
        self.expire("2020-01-01T00:00:00Z")
        code, found = self.report("--to-do")
        self.assertEqual((1, [("act", "certificate")]), (code, found))
        self.assertEqual(
            (
                "control plane was valid until 2020-01-01",
                f"magnum-capi-helm renew {base.UUID} --apply, once this "
                "driver runs",
            ),
            (self.lines[0]["What"], self.lines[0]["To do"]),
        )

    def expire(self, date: str) -> None:
        """When the certificates of the control plane's machines do."""
        for each in self.server.list(kinds.MACHINE, base.NAMESPACE):
            if view.CONTROL_PLANE_LABEL in view.labels_of(each):
                self.server.patch(
                    kinds.MACHINE,
                    base.NAMESPACE,
                    view.name_of(each),
                    {"status": {"certificatesExpiryDate": date}},
                )

    def test_a_management_cluster_that_is_silent(self) -> None:
        self.management.unreachable()
        code, found = self.report()
        self.assertEqual((1, [("act", "status")]), (code, found))
        self.assertIn("could not be read", self.texts())

    def test_a_cloud_that_is_silent_is_a_line_of_its_own(self) -> None:
        error = errors.CloudUnreachable("Nova: no answer")
        for question in ("every_flavor", "image", "keypair"):
            with (
                self.subTest(question),
                mock.patch.object(
                    fake_cloud.FakeCloud, question, side_effect=error
                ),
            ):
                code, found = self.report()
                self.assertEqual([("act", "unread"), ("ok", "status")], found)
                self.assertEqual(1, code)
                self.assertIn("Nova: no answer", self.texts())

    def test_a_record_of_helm_that_is_damaged(self) -> None:
        record = f"sh.helm.release.v1.{RELEASE}.v1"
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, record, {"data": {"release": "bm8="}}
        )
        code, found = self.report()
        self.assertEqual(
            [("ok", "status"), ("act", "chart"), ("act", "damage")], found
        )
        self.assertEqual(1, code)
        self.assertIn(
            f"revision 1 of release {RELEASE} can't be read", self.texts()
        )

    def test_keystone_that_is_silent_refuses_no_credential(self) -> None:
        self.openstack.mocker.post(
            "http://keystone.test/v3/auth/tokens",
            exc=ka_exceptions.ConnectFailure,
        )
        code, found = self.report("--all")
        self.assertIn(("ok", "credential"), found)
        self.assertEqual(0, code)

    def test_a_credential_is_as_old_as_its_last_rotation(self) -> None:
        written = [
            {"manager": "kubectl", "time": "2026-03-03T00:00:00Z"},
            {"manager": "magnum", "time": "2026-01-01T00:00:00Z"},
            {"manager": "magnum", "time": "2026-02-02T00:00:00Z"},
        ]
        self.server.patch(
            kinds.SECRET,
            base.NAMESPACE,
            test_legacy.CREDENTIALS,
            {"metadata": {"managedFields": written}},
        )
        self.report("--all")
        self.assertIn("credential of 2026-02-02", self.texts())

    def test_a_cluster_of_which_nothing_was_made(self) -> None:
        self.saved(
            uuid=str(uuid.uuid4()), name="young", status="CREATE_FAILED"
        )
        _, found = self.report()
        self.assertEqual([("ok", "status"), ("note", "status")], found)

    def test_fields_of_a_template_without_their_secrets(self) -> None:
        self.saved(
            {
                "http_proxy": "http://me:hunter2@proxy.test",
                "docker_volume_size": 20,
            },
            uuid=str(uuid.uuid4()),
            name="young",
            status="CREATE_FAILED",
        )
        _, found = self.report()
        self.assertEqual(2, found.count(("note", "template")))
        self.assertIn("docker_volume_size=20", self.texts())
        self.assertNotIn("hunter2", self.texts())

    def test_lists_are_read_once_for_all_clusters_of_a_project(self) -> None:
        self.report()
        asked = len(self.management.requests)
        text = json.dumps(self.server.list(kinds.SECRET, base.NAMESPACE))
        other = "db-aaaaaaaaaaaa"
        for each in json.loads(text.replace(RELEASE, other)):
            self.server.create(kinds.SECRET, each)
        cluster = self.server.get(kinds.CLUSTER, base.NAMESPACE, RELEASE)
        copy = json.dumps(cluster).replace(RELEASE, other)
        self.server.create(kinds.CLUSTER, json.loads(copy))
        self.saved(
            uuid=str(uuid.uuid4()),
            name="db",
            stack_id=other,
            status="CREATE_COMPLETE",
        )
        _, found = self.report()
        self.assertEqual(("act", "status"), found[0])
        self.assertEqual(asked, len(self.management.requests))
