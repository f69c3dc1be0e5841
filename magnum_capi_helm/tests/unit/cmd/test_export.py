# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""``export``: what is in its files, and what keeps them whole."""

from __future__ import annotations

import gzip
import json
import stat
from typing import Any

from magnum_capi_helm import exceptions
from magnum_capi_helm import names
from magnum_capi_helm.cmd import export
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cmd import backups
from magnum_capi_helm.tests.unit.flows import base

INTENT = backups.INTENT
CREDENTIALS = backups.CREDENTIALS
CA = backups.CA


class ExportTest(backups.BackupTestCase):
    """Of one cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and objects of the file."""
        head, body = gzip.decompress(self.file.read_bytes()).splitlines()
        return json.loads(head), json.loads(body)

    def test_a_file_says_whose_it_is_and_of_when(self) -> None:
        self.assertEqual((0, "exported", str(self.file)), self.export())
        head, _ = self.parts()
        self.assertRegex(head.pop("time"), r"^20\d\d-.*\+00:00$")
        self.assertRegex(head.pop("sha256"), r"^[0-9a-f]{64}$")
        self.assertEqual(
            {
                "format": "magnum-capi-helm export",
                "version": 1,
                "cluster": self.uuid,
                "name": "web",
                "project": openstack.PROJECT,
                "namespace": base.NAMESPACE,
                "release": base.RELEASE,
                "identity": self.management.identity(),
                "chart": "openstack-cluster",
                "chart_version": "0.27.0",
            },
            head,
        )

    def test_it_has_the_secrets_and_a_record_of_the_rest(self) -> None:
        theirs = {"magnum.openstack.org/cluster-uuid": self.uuid}
        meta = {"name": "a-copy", "namespace": base.NAMESPACE}
        self.server.create(
            kinds.SECRET, {"metadata": {**meta, "labels": theirs}}
        )
        self.export()
        _, body = self.parts()
        names_of = [each["metadata"]["name"] for each in body["secrets"]]
        release = base.RELEASE
        self.assertEqual(
            [
                f"sh.helm.release.v1.{release}.v1",
                f"{release}-ca",
                f"{release}-cloud-credentials",
                f"{release}-etcd",
                f"{release}-intent",
                f"{release}-proxy",
                f"{release}-sa",
            ],
            names_of,
        )
        self.assertEqual(
            {"labels", "name", "namespace"},
            set(body["secrets"][1]["metadata"]),
        )
        self.assertEqual(
            {
                "Namespace",
                "Lease",
                "Cluster",
                "OpenStackCluster",
                "KubeadmControlPlane",
                "MachineDeployment",
                "Machine",
                "OpenStackMachine",
                "OpenStackMachineTemplate",
                "KubeadmConfigTemplate",
                "HelmRelease",
                "Manifests",
            },
            {each["kind"] for each in body["objects"]},
        )

    def test_nothing_is_written_but_files(self) -> None:
        self.management.requests.clear()
        with self.saves() as saved:
            self.export()
        self.assertEqual(([], []), (self.writes(), saved))

    def test_nobody_else_can_read_the_files(self) -> None:
        self.export()
        modes = {
            str(each.relative_to(self.place)): stat.S_IMODE(
                each.stat().st_mode
            )
            for each in self.place.rglob("*")
        }
        self.assertEqual(
            {
                "exports": 0o700,
                f"exports/{base.RELEASE}.jsonl.gz": 0o600,
                "exports/charts": 0o700,
                "exports/charts/openstack-cluster-0.27.0.tgz": 0o600,
            },
            modes,
        )

    def test_a_directory_that_others_can_enter_is_refused(self) -> None:
        self.directory.mkdir()
        for mode, refused in (
            (0o700, False),
            (0o750, False),
            (0o755, True),
            (0o701, True),
            (0o770, True),
        ):
            self.directory.chmod(mode)
            if refused:
                error = self.assertRaises(exceptions.InvalidInput, self.export)
                self.assertIn(f"has mode {mode:04o}, and", str(error))
                self.assertEqual([], list(self.directory.iterdir()))
            else:
                self.assertEqual(0, self.export()[0])
                self.file.unlink()
                (chart,) = (self.directory / "charts").iterdir()
                chart.unlink()
                chart.parent.rmdir()

    def test_a_file_in_place_of_the_directory(self) -> None:
        self.directory.write_text("")
        error = self.assertRaises(exceptions.InvalidInput, self.export)
        self.assertEqual(f"{self.directory} is no directory", str(error))

    def test_a_directory_that_can_not_be_made(self) -> None:
        self.directory = self.place / "not" / "there"
        error = self.assertRaises(exceptions.InvalidInput, self.export)
        self.assertIn("can't be made: No such file", str(error))

    def test_no_secret_is_shown_or_logged(self) -> None:
        canary = "Y2FuYXJ5LWNhbmFyeQ=="
        self.change(CA, **{"tls.key": canary})
        self.export()
        self.change(CA, **{"tls.key": "b3RoZXI="})
        self.lose(names.certificate(base.RELEASE, "sa"))
        self.bring()
        self.bring("--apply", "--leave-different")
        self.assertIn(canary.encode(), gzip.decompress(self.file.read_bytes()))
        keys = [
            value
            for each in self.secrets().values()
            for value in each["data"].values()
        ]
        for shown in (self.said, self.log.output):
            for key in (canary, "canary-canary", *keys):
                self.assertNotIn(key, shown)

    def test_run_again_it_replaces_the_file(self) -> None:
        self.export()
        before = self.file.read_bytes()
        self.resize(3)
        self.capi.settle()
        self.poll()
        self.assertEqual(0, self.export()[0])
        self.assertNotEqual(before, self.file.read_bytes())
        _, body = self.parts()
        self.assertEqual(8, len(body["secrets"]))
        self.assertEqual(
            {self.file.name, "charts"},
            {each.name for each in self.directory.iterdir()},
        )

    def test_what_is_lost_stays_in_the_file(self) -> None:
        self.export()
        before = self.file.read_bytes()
        release = base.RELEASE
        for gone, why in (
            (CA, f"there is no Secret {CA}"),
            (CREDENTIALS, f"there is no Secret {CREDENTIALS}"),
            (
                INTENT,
                f"has no more: Secret {INTENT}. Import it",
            ),
            (f"sh.helm.release.v1.{release}.v1", "no helm's records"),
        ):
            self.lose(gone)
            code, result, detail = self.export()
            self.assertEqual((1, "failed"), (code, result))
            self.assertIn(why, detail)
            self.assertEqual(before, self.file.read_bytes())
            self.bring("--apply")

    def test_a_cluster_object_that_is_gone(self) -> None:
        self.server.delete(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.release(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        code, result, detail = self.export()
        self.assertEqual((1, "failed"), (code, result))
        self.assertIn(f"there is no Cluster {base.RELEASE}", detail)
        self.assertFalse(self.file.exists())

    def test_the_key_for_etcd_is_missed_where_it_is_wanted(self) -> None:
        self.create(labels={"etcd_encryption_enabled": "true"}, **self.other())
        self.capi.settle()
        self.poll()
        self.assertEqual(0, self.export(self.uuid)[0])
        self.file_of_other = self.directory / f"{self.release}.jsonl.gz"
        self.file_of_other.unlink()
        self.lose(names.etcd_key(self.release))
        code, _, detail = self.export(self.uuid)
        self.assertEqual(1, code)
        self.assertIn(f"no Secret {names.etcd_key(self.release)}", detail)

    def other(self) -> dict[str, Any]:
        """The helpers are about another cluster from now on."""
        self.uuid = "0e1a8d2b-6a37-4e0c-9d5f-2b7c61a04f9d"
        self.release = names.release("db", self.uuid)
        self.capi = self.plane.cluster_api(base.NAMESPACE, self.release)
        return {"name": "db"}

    def test_one_that_can_not_be_read_keeps_no_other_back(self) -> None:
        self.create(**self.other())
        self.capi.settle()
        self.poll()
        error = exceptions.ManagementUnreachable("cut off")
        self.management.fail(error, verbs=("get",), name=f"{base.RELEASE}-etc")
        code, lines = self.run_command(
            export.Export, "--all", "--directory", str(self.directory)
        )
        self.assertEqual(
            [("db", "exported"), ("web", "failed")],
            [(each["Cluster"], each["Result"]) for each in lines],
        )
        self.assertEqual("cut off", lines[1]["Detail"])
        self.assertEqual(1, code)
        self.assertEqual(
            {f"{self.release}.jsonl.gz", "charts"},
            {each.name for each in self.directory.iterdir()},
        )
        self.assertIn("1 exported, 1 failed\n", self.said)

    def test_it_tries_again(self) -> None:
        self.management.unreachable(times=2)
        self.assertEqual(0, self.export()[0])
        self.management.unreachable(times=3)
        self.assertEqual((1, "failed"), self.export()[:2])

    def test_what_changes_meanwhile_is_read_again(self) -> None:
        changes = iter(("one", "two"))

        def before() -> None:
            # Between the intent and what is read at the end.
            last = self.management.requests[-1].kind
            if last == "OpenStackMachine" and (text := next(changes, None)):
                self.change(INTENT, parked=text)

        self.management.before = before
        self.assertEqual(0, self.export()[0])
        self.assertEqual(None, next(changes, None))
        _, body = self.parts()
        (intent,) = (
            each
            for each in body["secrets"]
            if each["metadata"]["name"] == INTENT
        )
        self.assertEqual("two", intent["data"]["parked"])

    def test_what_goes_on_changing_fails(self) -> None:
        count = iter(range(1000))
        self.management.before = lambda: self.change(
            INTENT, parked=str(next(count))
        )
        code, result, detail = self.export()
        self.assertEqual((1, "failed"), (code, result))
        self.assertIn("is being changed while it is read", detail)
        self.assertFalse(self.file.exists())

    def test_the_chart_is_copied_once(self) -> None:
        self.export()
        chart = self.directory / "charts" / "openstack-cluster-0.27.0.tgz"
        before = chart.stat().st_mtime_ns
        self.export()
        self.assertEqual(before, chart.stat().st_mtime_ns)
        chart.write_bytes(b"another")
        code, result, detail = self.export()
        self.assertEqual((1, "exported without its chart"), (code, result))
        self.assertIn(f"{chart} is another chart than", detail)
        self.assertEqual(b"another", chart.read_bytes())

    def test_a_cluster_that_is_being_deleted(self) -> None:
        row, master = self.row(), self.groups()["default-master"]
        mark = {lease.DELETE_MARK: "2026-01-01T00:00:00.000000Z"}
        where = (kinds.LEASE, base.NAMESPACE, base.RELEASE)

        def says(status: str, of_master: str, annotations: Any) -> None:
            row.status, master.status = status, of_master
            row.save()
            master.save()
            marked = {"metadata": {"annotations": annotations}}
            self.server.patch(*where, marked)

        well, leaving = "UPDATE_COMPLETE", "DELETE_IN_PROGRESS"
        for says_so in (
            ("DELETE_FAILED", well, None),
            (well, leaving, None),
            (well, well, mark),
        ):
            says(*says_so)
            self.assertEqual(
                (1, "failed", "the cluster is being deleted"), self.export()
            )
        says(well, well, None)
        self.assertEqual(0, self.export()[0])

    def test_one_of_which_nothing_was_ever_made(self) -> None:
        row = self.row()
        row.stack_id = None
        row.save()
        self.assertEqual((0, "nothing to export", ""), self.export())

    def test_another_management_cluster_has_nothing_of_it(self) -> None:
        self.server.delete(kinds.NAMESPACE, "", "kube-system")
        self.server.create(
            kinds.NAMESPACE, {"metadata": {"name": "kube-system"}}
        )
        code, _, detail = self.export()
        self.assertEqual(1, code)
        self.assertIn("is not the one that the cluster was made on", detail)

    def test_a_file_of_another_cluster_is_not_replaced(self) -> None:
        self.export()
        head, body = gzip.decompress(self.file.read_bytes()).splitlines(True)
        other = head.replace(self.uuid.encode(), b"somebody")
        for content, why in (
            (gzip.compress(other + body), "is the export of cluster somebody"),
            (b"precious", "move it away"),
        ):
            self.file.write_bytes(content)
            code, _, detail = self.export()
            self.assertEqual(1, code)
            self.assertIn(why, detail)
            self.assertEqual(content, self.file.read_bytes())

    def test_who_exported_it_is_logged(self) -> None:
        self.export()
        self.assertRegex(
            self.log.output,
            f"audit: cluster {self.uuid}: accepted: export, user .+@",
        )
