# SPDX-License-Identifier: Apache-2.0

"""``cluster apply --cloud-settings``: its lines, and what it writes."""

from __future__ import annotations

import base64

import yaml

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import addon
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import refreshed
from magnum_capi_helm.tests.unit.lifecycle import base

ELSEWHERE = "https://elsewhere.test/v3"


class RefreshTest(refreshed.RefreshTestCase):
    def test_a_cluster_with_current_settings_needs_nothing(self) -> None:
        self.assertEqual(
            {"Result": "nothing to do", "Detail": ""}, self.refresh("--apply")
        )
        self.assertEqual(self.before, self.secret())

    def test_the_dry_run_shows_changes_and_writes_nothing(self) -> None:
        self.identity = ELSEWHERE
        conf.CONF.set_override("region_name", "R2", "cinder_client")
        conf.CONF.set_override(
            "app_cred_interface_type", "internalURL", "capi_helm"
        )
        self.trust(refreshed.ca("new"))
        self.assertEqual(
            {
                "Result": "would change",
                "Detail": "auth_url: http://keystone.test/v3 becomes "
                f"{ELSEWHERE}; region_name: RegionOne becomes R2; "
                "interface: public becomes internal; CAs: 1 are new; nodes "
                "still trust the old CA: they get the new one with the "
                "cluster's next upgrade",
            },
            self.refresh(),
        )
        self.assertEqual(self.before, self.secret())

    def test_the_credential_stays_and_all_else_is_of_now(self) -> None:
        old = yaml.safe_load(self.data("clouds.yaml"))
        self.identity = ELSEWHERE
        conf.CONF.set_override("region_name", "R2", "cinder_client")
        self.assertEqual("changed", self.refresh("--apply")["Result"])
        old["clouds"]["openstack"]["region_name"] = "R2"
        old["clouds"]["openstack"]["auth"]["auth_url"] = ELSEWHERE
        self.assertEqual(old, yaml.safe_load(self.data("clouds.yaml")))
        self.assertEqual("nothing to do", self.refresh("--apply")["Result"])

    def test_a_url_without_its_version_is_the_same(self) -> None:
        text = self.data("clouds.yaml").replace(
            "http://keystone.test/v3", "http://keystone.test/"
        )
        encoded = base64.b64encode(text.encode()).decode()
        self.patch(data={"clouds.yaml": encoded})
        self.assertEqual("nothing to do", self.refresh()["Result"])

    def test_the_command_waits_for_the_clusters_copy(self) -> None:
        name = names.chart_object(base.RELEASE, "cloud-config")
        key = f"secret.addons.stackhpc.com/{refreshed.NAME}"
        note = {"annotations": {key: "of the old data"}}
        copy = (kinds.MANIFESTS, base.NAMESPACE, name)
        self.server.patch(*copy, {"metadata": note})
        looks: list[str] = []

        def deploy() -> None:
            looks.append("")
            if len(looks) == 40:
                note["annotations"][key] = addon.checksum(self.secret())
                self.server.patch(*copy, {"metadata": note})

        self.identity = ELSEWHERE
        self.management.before = deploy
        self.assertEqual("changed", self.refresh("--apply")["Result"])
        self.assertLessEqual(40, len(looks))

    def test_no_machine_no_row_and_no_release_is_touched(self) -> None:
        self.identity = ELSEWHERE
        upgrades, row = len(self.helm.upgrades), self.row().as_dict()
        self.management.requests.clear()
        self.refresh("--apply")
        written = {
            (each.kind, each.name)
            for each in self.management.requests
            if each.verb not in ("get", "list")
        }
        self.assertEqual(
            {("Secret", refreshed.NAME), ("Lease", base.RELEASE)}, written
        )
        self.assertEqual(upgrades, len(self.helm.upgrades))
        self.assertEqual(row, self.row().as_dict())

    def test_somebody_else_who_works_on_the_cluster(self) -> None:
        self.identity = ELSEWHERE
        with self.busy():
            line = self.refresh("--apply")
        self.assertEqual(
            {
                "Result": "failed",
                "Detail": f"another conductor works on {base.RELEASE}",
            },
            line,
        )
        self.assertEqual(self.before["data"], self.secret()["data"])

    def test_a_cluster_without_a_credential_is_refused(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, refreshed.NAME)
        line = self.refresh()
        self.assertEqual("refused", line["Result"])
        self.assertIn("openstack coe credential rotate", line["Detail"])
        row = self.row()
        row.status = "CREATE_IN_PROGRESS"
        row.save()
        self.assertEqual("nothing to do", self.refresh()["Result"])

    def test_a_cluster_that_is_being_deleted(self) -> None:
        row = self.row()
        row.status = "DELETE_IN_PROGRESS"
        row.save()
        self.assertEqual(
            {"Result": "refused", "Detail": "the cluster is being deleted"},
            self.refresh("--apply"),
        )

    def test_a_damaged_secret_is_told_without_its_content(self) -> None:
        broken = base64.b64encode(f"[{openstack.SECRET}".encode()).decode()
        self.patch(data={"clouds.yaml": broken})
        line = self.refresh()
        self.assertEqual("refused", line["Result"])
        self.assertIn(
            f"the Secret {refreshed.NAME} does not say", line["Detail"]
        )
