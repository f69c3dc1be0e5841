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

"""``adopt --report`` and ``check --rollback``, on a cluster of 1.4.0."""

from __future__ import annotations

import base64
import io
import json
import pathlib
from typing import Any
from unittest import mock
import uuid

import fixtures
from keystoneauth1 import exceptions as ka_exceptions
from magnum.common import exception
from magnum.common.x509 import operations
from magnum.drivers.common import driver as drivers
from oslotest import base as oslotest
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import spec
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cmd import adopt
from magnum_capi_helm.cmd import check
from magnum_capi_helm.cmd import main
from magnum_capi_helm.management import kinds
from magnum_capi_helm.swap import witnesses
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.flows import base
from magnum_capi_helm.tests.unit.flows import test_legacy
from magnum_capi_helm.tests.unit.flows import test_places

RELEASE = test_legacy.RELEASE
IMAGE = spec.Image("i-30", "ubuntu-1.34", "1.30.1", "ubuntu")


def template(**fields: Any) -> Any:
    """The row of a cluster template."""
    known = {
        "coe": "kubernetes",
        "driver": None,
        "server_type": "vm",
        "cluster_distro": "ubuntu",
    }
    return mock.Mock(**(known | fields))


#: A template -> whether its clusters are 1.4.0's, or this driver's.
TEMPLATES: dict[str, tuple[dict[str, Any], bool]] = {
    "by its driver": (
        {"driver": "k8s_capi_helm_v1", "cluster_distro": "any"},
        True,
    ),
    "by its operating system, as before Magnum had drivers there": ({}, True),
    "of another driver": ({"driver": "k8s_cluster_api_ubuntu"}, False),
    "of another operating system": ({"cluster_distro": "rocky"}, False),
    "of another orchestrator": ({"coe": "swarm"}, False),
}


class TemplatesTest(oslotest.BaseTestCase):
    def test_whose_clusters_they_are(self) -> None:
        provides = [{"server_type": "vm", "os": "ubuntu", "coe": "kubernetes"}]
        for name, (fields, expected) in TEMPLATES.items():
            with self.subTest(name):
                found = witnesses.ours(template(**fields), provides)
                self.assertEqual(expected, found)


class ReportCase(test_legacy.LegacyTestCase):
    """Magnum's environment has 1.4.0 and not this driver."""

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        for name, flavor in (("master", "old.1"), ("worker", "old.2")):
            group = self.groups()[f"default-{name}"]
            group.flavor_id = flavor
            group.save()
        missing = mock.patch.object(
            drivers.Driver,
            "get_driver",
            side_effect=exception.ClusterTypeNotSupported(
                server_type="vm", os="ubuntu", coe="kubernetes"
            ),
        )
        missing.start()
        self.addCleanup(missing.stop)

    def labels(self) -> dict[str, str]:
        return {}

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """All that the cluster is made of."""
        found = super().catalogue(session)
        found.images = {"ubuntu-1.34": IMAGE, "i-30": IMAGE}
        found.flavors = {"old.1": "old.1", "old.2": "old.2"}
        return found

    def legacy_values(self) -> dict[str, Any]:
        """What 1.4.0 sends of it again, but for the chart."""
        health = {"healthCheck": {"enabled": True}}
        balancer = {
            "lb-provider": "amphora",
            "lb-method": "ROUND_ROBIN",
            "create-monitor": True,
        }
        return {
            "kubernetesVersion": "1.30.1",
            "machineImageId": "i-30",
            "machineSSHKeyName": "mine",
            "cloudCredentialsSecretName": test_legacy.CREDENTIALS,
            "apiServer": {"loadBalancerProvider": "amphora"},
            "clusterNetworking": {
                "internalNetwork": {"nodeCidr": "10.0.0.0/24"}
            },
            "controlPlane": {
                "machineFlavor": "old.1",
                "machineCount": 1,
                **health,
            },
            "nodeGroupDefaults": health,
            "nodeGroups": [
                {
                    "name": "default-worker",
                    "machineFlavor": "old.2",
                    "machineCount": 2,
                }
            ],
            "addons": {
                "cni": {"type": "calico"},
                "openstack": {"cloudConfig": {"LoadBalancer": balancer}},
            },
        }

    def write_secrets(self) -> None:
        """1.4.0's Secrets, with certificates that last."""
        super().write_secrets()
        clouds = self.secret(test_legacy.CREDENTIALS)["data"]["clouds.yaml"]
        text = base64.b64decode(clouds).replace(b"s3cr3t", b"s3cret")
        clouds = base64.b64encode(text).decode()
        self.change_secret("cloud-credentials", {"clouds.yaml": clouds})
        made = operations.generate_ca_certificate("web")
        pem = base64.b64encode(made["certificate"]).decode()
        for name in ("ca", "etcd", "proxy"):
            self.change_secret(name, {"tls.crt": pem, "tls.key": "c2VjcmV0"})
        user = {"user": {"client-certificate-data": pem}}
        text = yaml.safe_dump({"users": [user]}).encode()
        self.server.create(
            kinds.SECRET,
            {
                "metadata": {
                    "name": f"{RELEASE}-kubeconfig",
                    "namespace": base.NAMESPACE,
                },
                "data": {"value": base64.b64encode(text).decode()},
            },
        )

    def change_secret(self, name: str, data: dict[str, str]) -> None:
        """Put something into a Secret of the release."""
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, f"{RELEASE}-{name}", {"data": data}
        )

    def run_command(
        self, kind: type, *argv: str
    ) -> tuple[int, list[dict[str, str]]]:
        """Exit code and lines; nothing is written in the meantime."""
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), self.err
        self.management.requests.clear()
        command = kind(app, None)
        options = command.get_parser("test").parse_args([*argv, "-f", "json"])
        before = len(self.helm.upgrades)
        with self.saves() as saved:
            code = int(command.run(options))
        self.assertEqual([], saved)
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, {"discover", "get", "list"})
        self.assertEqual(before, len(self.helm.upgrades))
        return code, json.loads(app.stdout.getvalue())


class AdoptTest(ReportCase):
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

    def test_a_management_cluster_that_is_silent(self) -> None:
        self.management.unreachable()
        code, found = self.report()
        self.assertEqual((1, [("act", "status")]), (code, found))
        self.assertIn("could not be read", self.texts())

    def test_a_cloud_that_is_silent_is_a_line_of_its_own(self) -> None:
        error = exceptions.CloudUnreachable("Nova: no answer")
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


class RollbackTest(ReportCase):
    def report(self, *argv: str) -> tuple[int, list[dict[str, str]]]:
        """Exit code and lines."""
        return self.run_command(check.Check, "--rollback", *argv)

    def chart(self, version: str) -> None:
        """The operator's option, in a configuration file."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = folder / "magnum.conf"
        file.write_text(
            f"[capi_helm]\ndefault_helm_chart_version = {version}\n"
        )
        conf.CONF(["--config-file", str(file)], project="magnum")

    def test_a_cluster_of_1_4_0_with_its_chart_in_the_option(self) -> None:
        self.chart(test_legacy.CHART)
        code, (line,) = self.report()
        self.assertEqual(
            {
                "Project": "fake_project",
                "Name": "web",
                "UUID": base.UUID,
                "Level": "ok",
                "About": "status",
                "What": "an operation of 1.4.0 changes what was asked for, "
                "and no more",
                "Prevented by": "",
            },
            line,
        )
        self.assertEqual(0, code)

    def test_the_option_that_was_never_set(self) -> None:
        code, found = self.report("--to-do")
        self.assertEqual(1, code)
        self.assertEqual(
            [
                ("", "[capi_helm] default_helm_chart_version = 0.16.0"),
                (
                    base.UUID,
                    "[capi_helm] default_helm_chart_version = 0.16.0",
                ),
            ],
            [(each["UUID"], each["Prevented by"]) for each in found],
        )
        self.assertIn("chart 0.10.1 in place of 0.16.0", found[1]["What"])
        self.assertEqual(
            "1 cluster: 1 needs the operator (chart 2)\n", self.err.getvalue()
        )

    def test_a_default_that_somebody_wrote_down_counts(self) -> None:
        self.chart("0.27.0")
        _, found = self.report("--to-do")
        self.assertIn("chart 0.27.0 in place of 0.16.0", found[1]["What"])

    def test_the_options_are_those_of_this_moment(self) -> None:
        self.chart(test_legacy.CHART)
        conf.CONF.set_override(
            "octavia_provider", "ovn", "capi_helm_cluster_labels"
        )
        code, found = self.report("--to-do")
        self.assertEqual(1, code)
        self.assertEqual(
            ["network", "addons"], [each["About"] for each in found]
        )
        self.assertEqual(
            "[capi_helm_cluster_labels] octavia_provider = amphora",
            found[0]["Prevented by"],
        )

    def test_a_release_of_which_no_revision_can_be_read(self) -> None:
        self.chart(test_legacy.CHART)
        record = f"sh.helm.release.v1.{RELEASE}.v1"
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, record, {"data": {"release": "bm8="}}
        )
        code, (line,) = self.report()
        self.assertEqual((1, "act"), (code, line["Level"]))
        self.assertIn("nobody can say", line["What"])

    def test_a_management_cluster_that_is_silent(self) -> None:
        self.chart(test_legacy.CHART)
        self.management.unreachable()
        code, (line,) = self.report()
        self.assertEqual((1, "act"), (code, line["Level"]))

    def test_choices_of_findings_are_refused_without_it(self) -> None:
        error = self.assertRaises(
            exceptions.InvalidInput, self.run_command, check.Check, "--to-do"
        )
        self.assertEqual(
            "--project, --all and --to-do are for --rollback: give it, or "
            "leave them away",
            str(error),
        )


class OfThisDriverTest(base.FlowTestCase):
    """A cluster that this driver made."""

    def test_its_machines_would_be_replaced(self) -> None:
        self.complete()
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), io.StringIO()
        command = check.Check(app, None)
        words = ["--rollback", "--to-do", "-f", "json"]
        code = command.run(command.get_parser("test").parse_args(words))
        found = json.loads(app.stdout.getvalue())
        self.assertEqual(1, code)
        self.assertEqual(
            ["chart", "chart", "machines", "addons"],
            [each["About"] for each in found],
        )
        self.assertIn(
            "control plane (nodeLabels, machineMetadata)", found[2]["What"]
        )
        self.assertIn("addons.reloader.enabled", found[3]["What"])


class SeveralTest(test_places.PlacesTestCase):
    """A complete cluster on b, of two management clusters."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def place(self) -> list[str]:
        """What is said of where it is."""
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), io.StringIO()
        command = check.Check(app, None)
        words = ["--rollback", "-f", "json"]
        command.run(command.get_parser("test").parse_args(words))
        return [
            each["Level"]
            for each in json.loads(app.stdout.getvalue())
            if each["About"] == "management cluster"
        ]

    def test_1_4_0_finds_it_where_its_one_kubeconfig_leads(self) -> None:
        for path, expected in (("/kube/b", []), ("/kube/a", ["act"])):
            conf.CONF.set_override("kubeconfig_file", path, "capi_helm")
            self.assertEqual(expected, self.place())

    def test_what_is_silent_hides_nothing_of_the_other(self) -> None:
        conf.CONF.set_override("kubeconfig_file", "/kube/a", "capi_helm")
        self.stop("a")
        self.assertEqual(["act"], self.place())
