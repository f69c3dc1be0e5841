# SPDX-License-Identifier: Apache-2.0

"""``export``: what is in its files, and who can read them."""

from __future__ import annotations

import gzip
import stat

from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cmd import backups
from magnum_capi_helm.tests.unit.lifecycle import base

CA = backups.CA

#: Of what an export has a record.
RECORDED = {
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
}


class ExportTest(backups.ExportTestCase):
    """Of one cluster."""

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
            RECORDED,
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
                error = self.assertRaises(errors.InvalidInput, self.export)
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
        error = self.assertRaises(errors.InvalidInput, self.export)
        self.assertEqual(f"{self.directory} is no directory", str(error))

    def test_a_directory_that_can_not_be_made(self) -> None:
        self.directory = self.place / "not" / "there"
        error = self.assertRaises(errors.InvalidInput, self.export)
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

    def test_one_of_which_nothing_was_ever_made(self) -> None:
        row = self.row()
        row.stack_id = None
        row.save()
        self.assertEqual((0, "nothing to export", ""), self.export())

    def test_who_exported_it_is_logged(self) -> None:
        self.export()
        self.assertRegex(
            self.log.output,
            f"audit: cluster {self.uuid}: accepted: export, user .+@",
        )
