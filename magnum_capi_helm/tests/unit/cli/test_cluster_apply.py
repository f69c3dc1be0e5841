# SPDX-License-Identifier: Apache-2.0

"""``cluster apply`` of charts, labels or settings; ``hibernate``, ``wake``."""

from __future__ import annotations

import base64
import functools
import io
import json
import pathlib
from typing import Any

import certifi
import fixtures
import yaml

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.status import addon
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import rolling

_LOOKS = 9


class RolloutCommandTest(rolling.RolloutTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        self.looks = 0

    def wait(self) -> None:
        """Machines come up and Magnum polls while the command waits."""
        self.looks += 1
        assert self.looks < _LOOKS, "it waits for ever"
        self.settle()

    def line(self, *argv: str) -> tuple[int, str, str]:
        polled = command_case.polled(cluster.Apply, self.wait)
        code, [found] = command_case.run_json(polled, *argv, err=self.err)
        self.assertEqual("web", found["Cluster"])
        return code, found["Result"], found["Detail"]

    def test_a_chart_is_shown_then_applied_and_waited_for(self) -> None:
        order = ("--all", "--chart-version", rolling.NEW)
        before = self.written()
        detail = (
            "chart 0.26.1 to 0.27.0: nothing changes; no machine is replaced"
        )
        self.assertEqual((0, "would change", detail), self.line(*order))
        self.assertEqual(before, self.written())
        self.assertEqual((0, "changed", detail), self.line(*order, "--apply"))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertGreater(self.looks, 0)
        call = self.helm.upgrades[-1]
        self.assertEqual(
            (rolling.NEW, str(commands.operator("cluster apply"))),
            (call.chart_version, call.asked),
        )
        self.assertEqual(
            (0, "nothing to do", ""), self.line(*order, "--apply")
        )

    def test_machines_are_replaced_only_when_that_is_allowed(self) -> None:
        self.all.write_text(rolling.MACHINES)
        order = ("web", "--values-files", "--apply")
        before = self.written()
        self.assertEqual(
            (
                1,
                "refused",
                "machines would be replaced, in control-plane (1): "
                "--allow-replacement lets them be",
            ),
            self.line(*order),
        )
        self.assertEqual(before, self.written())
        self.assertEqual(
            (
                0,
                "changed",
                "chart 0.26.1: 1 object to change; 1 machine to be replaced",
            ),
            self.line(*order, "--allow-replacement"),
        )

    def test_an_earlier_rollout_is_waited_for(self) -> None:
        self.all.write_text(rolling.ADDON)
        self.roll_out()
        detail = "changed already, not complete yet"
        order = ("web", "--values-files")
        self.assertEqual((0, "would change", detail), self.line(*order))
        self.assertEqual((0, "changed", detail), self.line(*order, "--apply"))
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_rollout_that_helm_left_is_shown_and_waited_for(self) -> None:
        self.helm.outcomes = [fake_helm.Outcome.UNREACHABLE]
        self.all.write_text(rolling.ADDON)
        code, result, _ = self.line("web", "--values-files", "--apply")
        self.assertEqual((0, "changed"), (code, result))
        self.assertIn("web: helm ", self.err.getvalue())

    def test_a_label_is_shown_then_applied(self) -> None:
        order = ("web", "--label", "cert_manager_enabled=true")
        self.assertEqual("would change", self.line(*order)[1])
        self.assertEqual("changed", self.line(*order, "--apply")[1])
        addons = self.told()["addons"]
        self.assertEqual({"enabled": True}, addons["certManager"])
        self.assertEqual((0, "nothing to do", ""), self.line(*order))
        back = ("web", "--label", "cert_manager_enabled", "--apply")
        self.assertEqual("changed", self.line(*back)[1])
        self.assertNotIn("certManager", self.told()["addons"])


class HibernateCommandTest(rolling.RolloutTestCase):
    def line(self, kind: type[cluster.Hibernate], *argv: str) -> str:
        polled = command_case.polled(kind, self.settle)
        _, [line] = command_case.run_json(
            polled, "web", *argv, err=io.StringIO()
        )
        return f"{line['Result']}: {line['Detail']}"

    def test_the_lines_name_the_counts_of_the_workers(self) -> None:
        rows = (
            (cluster.Hibernate, (), "would change: default-worker 2 to 0"),
            (
                cluster.Hibernate,
                ("--apply",),
                "changed: default-worker 2 to 0",
            ),
            (cluster.Hibernate, ("--apply",), "nothing to do: "),
            (cluster.Wake, ("--apply",), "changed: default-worker 0 to 2"),
            (cluster.Wake, (), "nothing to do: "),
        )
        for kind, argv, expected in rows:
            self.assertEqual(expected, self.line(kind, *argv))

    def test_the_record_counts_the_machines_that_went(self) -> None:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = home / "record"
        for kind in (cluster.Hibernate, cluster.Wake):
            self.line(kind, "--apply", "--record", str(file))
        lines = map(json.loads, file.read_text().splitlines())
        self.assertEqual(
            [("begun", None), ("changed", 2), ("begun", None), ("changed", 0)],
            [(each["result"], each.get("machines")) for each in lines],
        )


ELSEWHERE = "https://elsewhere.test/v3"


NAME = names.credentials(base.RELEASE)


@functools.lru_cache
def ca(name: str, days: float = 3650.0) -> str:
    return pki.Authority(name, days).pem


class RefreshTestCase(base.FlowTestCase):
    """A cluster that was made with a private CA, and is complete."""

    identity = "http://keystone.test/v3"

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        self.trust(ca("old"))
        self.created()
        self.before = self.secret()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.identity = self.identity
        return found

    def trust(self, *certificates: str) -> None:
        """What the operator's file has from now on."""
        path = self.create_tempfiles([("ca", "".join(certificates))])[0]
        conf.CONF.set_override("openstack_ca_file", path, "drivers")

    def secret(self) -> Any:
        return self.live(kinds.SECRET, NAME)

    def data(self, key: str) -> str:
        return base64.b64decode(self.secret()["data"][key]).decode()

    def refresh(self, *argv: str) -> dict[str, str]:
        words = ("--cloud-settings", "web", *argv)
        _, [line] = command_case.run_json(
            cluster.Apply, *words, err=self.err, pause=0.0
        )
        self.assertNotIn(openstack.SECRET, f"{line}{self.err.getvalue()}")
        self.assertEqual("web", line["Cluster"])
        return {key: line[key] for key in ("Result", "Detail")}

    def patch(self, **change: Any) -> None:
        self.edit(kinds.SECRET, NAME, change)


class RefreshTest(RefreshTestCase):
    def test_a_cluster_with_current_settings_needs_nothing(self) -> None:
        self.assertEqual(
            {"Result": "nothing to do", "Detail": ""}, self.refresh("--apply")
        )
        self.assertEqual(self.before, self.secret())
        # A URL without its version is the same.
        text = self.data("clouds.yaml").replace(
            "http://keystone.test/v3", "http://keystone.test/"
        )
        encoded = base64.b64encode(text.encode()).decode()
        self.patch(data={"clouds.yaml": encoded})
        self.assertEqual("nothing to do", self.refresh()["Result"])

    def test_the_dry_run_shows_changes_and_writes_nothing(self) -> None:
        self.identity = ELSEWHERE
        conf.CONF.set_override("region_name", "R2", "cinder_client")
        self.set_option(app_cred_interface_type="internalURL")
        self.trust(ca("new"))
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

    def test_the_command_waits_for_the_clusters_copy(self) -> None:
        name = names.chart_object(base.RELEASE, "cloud-config")
        key = f"secret.addons.stackhpc.com/{NAME}"
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
        self.assertEqual({("Secret", NAME), ("Lease", base.RELEASE)}, written)
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

    def test_a_deletion_or_a_missing_credential_is_refused(self) -> None:
        broken = base64.b64encode(f"[{openstack.SECRET}".encode()).decode()
        self.patch(data={"clouds.yaml": broken})
        line = self.refresh()
        self.assertEqual("refused", line["Result"])
        self.assertIn(f"the Secret {NAME} does not say", line["Detail"])
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        line = self.refresh()
        self.assertEqual("refused", line["Result"])
        self.assertIn("openstack coe credential rotate", line["Detail"])
        for status, expected in (
            ("CREATE_IN_PROGRESS", ("nothing to do", "")),
            (
                "DELETE_IN_PROGRESS",
                ("refused", "the cluster is being deleted"),
            ),
        ):
            self.save(status=status)
            self.assertEqual(expected, tuple(self.refresh().values()))


class TrustTest(RefreshTestCase):
    def test_new_and_old_cas_are_both_trusted_each_once(self) -> None:
        gone = ca("gone", days=-0.5)
        self.trust(ca("old"), gone)
        self.refresh("--apply")
        self.assertIn(gone, self.data("cacert"))
        for trusted in ((ca("new"), ca("old")), (ca("new"),)):
            self.trust(*trusted)
            self.refresh("--apply")
            self.assertEqual(
                [ca("new"), ca("old")],
                encoding.pem_certificates(self.data("cacert")),
            )

    def test_nodes_get_a_new_ca_with_an_upgrade_and_it_says_so(self) -> None:
        self.trust(ca("new"))
        self.refresh("--apply")
        expected = {
            "Result": "nothing to do",
            "Detail": "nodes still trust the old CA: they get the new one "
            "with the cluster's next upgrade",
        }
        self.assertEqual(expected, self.refresh())
        # The release tells it without a desired state.
        name = names.desired_state(base.RELEASE)
        self.server.delete(kinds.SECRET, base.NAMESPACE, name)
        self.assertEqual(expected, self.refresh())

    def test_old_cas_go_when_they_are_told_to(self) -> None:
        self.trust(ca("new"))
        self.refresh("--apply")
        detail = self.refresh("--only-new-ca")["Detail"]
        self.assertIn("CAs: 1 old ones are removed", detail)
        self.refresh("--only-new-ca", "--apply")
        bundle = self.data("cacert")
        self.assertEqual([ca("new")], encoding.pem_certificates(bundle))

    def test_a_cloud_whose_ca_is_public_by_now(self) -> None:
        conf.CONF.clear_override("openstack_ca_file", "drivers")
        self.assertEqual(
            ["would change", "CAs: the public ones are new"],
            [*self.refresh().values()],
        )
        self.refresh("--apply")
        some = set(encoding.pem_certificates(self.data("cacert")))
        public = set(encoding.pem_certificates(certifi.contents()))
        self.assertEqual(public | {ca("old")}, some)
        self.assertEqual("nothing to do", self.refresh()["Result"])

    def test_public_cas_that_a_host_has_got_since_are_no_reason(self) -> None:
        conf.CONF.clear_override("openstack_ca_file", "drivers")
        public = encoding.pem_certificates(certifi.contents())
        few = base64.b64encode("".join(public[:3]).encode()).decode()
        self.patch(data={"cacert": few})
        self.assertEqual("nothing to do", self.refresh("--apply")["Result"])
        self.assertEqual(few, self.secret()["data"]["cacert"])

    def test_a_bundle_that_is_none_is_refused(self) -> None:
        self.trust("no certificate")
        why = "[drivers] openstack_ca_file holds no certificates in PEM"
        self.assertEqual(
            {"Result": "refused", "Detail": why}, self.refresh("--apply")
        )
