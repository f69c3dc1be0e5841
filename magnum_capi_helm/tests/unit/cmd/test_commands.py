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

"""The operator's commands: what they print, and how they exit."""

from __future__ import annotations

import io
import json
import pathlib
import re
from typing import Any

import fixtures
from oslotest import base
import requests_mock
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import chart
from magnum_capi_helm.cmd import check
from magnum_capi_helm.cmd import checks
from magnum_capi_helm.cmd import main
from magnum_capi_helm.cmd import permissions
from magnum_capi_helm.management import kinds
from magnum_capi_helm.planes import home_options
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.delivery import endpoint
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.flows import base as flows


class CommandsTest(base.BaseTestCase):
    """Commands on fakes, and on Magnum's real configuration code."""

    def setUp(self) -> None:
        super().setUp()
        self.openstack = flows.configure(self)
        self.store = pathlib.Path(conf.CONF.capi_helm.chart_store)
        self.plane = plane.Plane(str(self.store))
        flows.install(self, self.plane.runtime())
        self.out = io.StringIO()
        self.err = io.StringIO()

    def run_command(self, kind: type, *argv: str) -> int:
        """Run one command as the application would."""
        app = main.Application()
        app.stdout, app.stderr = self.out, self.err
        command = kind(app, None)
        options = command.get_parser("test").parse_args(list(argv))
        return int(command.run(options) or 0)

    def states(self) -> dict[str, str]:
        """What ``check -f json`` printed: state by check.

        Versions have tests of their own (``test_check_versions.py``).
        """
        return {
            row["Check"]: row["State"]
            for row in json.loads(self.out.getvalue())
            if not row["Check"].endswith("version")
        }

    def test_check_is_0_when_all_is_well(self) -> None:
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual(
            {name: "ok" for name, _ in checks.CHECKS}, self.states()
        )
        self.assertEqual(0, code)

    def test_check_goes_on_after_what_fails_and_says_what_to_do(self) -> None:
        self.plane.management.unserved = {kinds.HELM_RELEASE}
        self.plane.helm.published = set()
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual(
            {
                "kubeconfig": "ok",
                "management cluster": "ok",
                "maintenance": "ok",
                "permissions": "ok",
                "Cluster API": "failed",
                "helm": "ok",
                "chart": "failed",
                "OpenStack": "ok",
                "clean-up": "ok",
                "certificates": "ok",
                "delivery": "ok",
            },
            self.states(),
        )
        self.assertIn("install the provider", self.out.getvalue())
        self.assertEqual(1, code)

    def test_check_names_the_permissions_that_are_missing(self) -> None:
        self.plane.management.refused = {
            "delete secrets",
            "patch machinedeployments/scale.cluster.x-k8s.io",
        }
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["permissions"])
        self.assertIn(
            "the kubeconfig's user may not delete secrets, patch "
            "machinedeployments/scale.cluster.x-k8s.io: apply what "
            "'magnum-capi-helm permissions' prints, or give it these",
            self.printed(),
        )
        self.assertEqual(1, code)

    def test_check_says_that_it_is_frozen_and_what_ends_that(self) -> None:
        self.plane.runtime().anchor.freeze("etcd moves", "op@host", 1000.0)
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["maintenance"])
        self.assertIn(
            "it is frozen by op@host: etcd moves; 'magnum-capi-helm thaw "
            "--apply' ends that",
            self.printed(),
        )
        self.assertEqual(1, code)

    def delivery(self, certificate: str = "") -> endpoint.Endpoint:
        """A receiver of kubeconfigs, and the options for it."""
        receiver = self.useFixture(endpoint.Endpoint(certificate))
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in (
            ("delivery_key_file", f"{'a' * 44}\n"),
            ("delivery_ca_file", pki.trusted().pem),
        ):
            path = directory / name
            path.write_text(text)
            path.chmod(0o600)
            conf.CONF.set_override(name, str(path), "capi_helm")
        conf.CONF.set_override("delivery_url", receiver.url, "capi_helm")
        return receiver

    def test_check_looks_at_the_receiver_and_sends_nothing(self) -> None:
        receiver = self.delivery()
        self.assertEqual(0, self.run_command(check.Check, "-f", "json"))
        self.assertIn(
            f"of the user limited to https://127.0.0.1:{receiver.port}",
            self.printed(),
        )
        self.assertEqual([], receiver.received)

    def test_check_refuses_a_receiver_that_is_not_to_be_trusted(self) -> None:
        stranger = pki.Authority("stranger")
        self.delivery("".join(stranger.signed("receiver", host=True)))
        self.assertEqual(1, self.run_command(check.Check, "-f", "json"))
        self.assertEqual("failed", self.states()["delivery"])
        self.assertIn("is not trusted, and nothing was sent", self.printed())

    def test_check_refuses_a_key_that_others_can_read(self) -> None:
        self.delivery()
        path = pathlib.Path(conf.CONF.capi_helm.delivery_key_file)
        path.chmod(0o644)
        self.assertEqual(1, self.run_command(check.Check, "-f", "json"))
        self.assertIn(f"{path} has mode 0644", self.printed())

    def test_permissions_are_printed_as_they_are_checked(self) -> None:
        self.run_command(permissions.Permissions)
        role = list(yaml.safe_load_all(self.printed()))[2]
        self.assertEqual("ClusterRole", role["kind"])
        self.assertEqual([], self.plane.management.requests)

    def test_check_of_an_unreachable_management_cluster(self) -> None:
        self.plane.management.unreachable()
        self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["management cluster"])
        self.assertEqual("ok", self.states()["helm"])

    def barbican(self, status: int) -> list[str]:
        """Barbican is the store; the requests that it gets."""
        conf.CONF.set_override("cert_manager_type", "barbican", "certificates")
        requests: list[str] = []

        def answer(request: Any, context: Any) -> dict[str, str]:
            requests.append(f"{request.method} {request.path}")
            context.status_code = status
            return {"secret_ref": "http://elsewhere.test/v1/secrets/s-1"}

        self.openstack.mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{openstack.KEYS}/v1/secrets"),
            json=answer,
        )
        return requests

    def test_check_stores_a_secret_where_magnum_does(self) -> None:
        requests = self.barbican(201)
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual(
            ["POST /v1/secrets", "DELETE /v1/secrets/s-1"], requests
        )
        self.assertIn(f"barbican at {openstack.KEYS}", self.printed())
        self.assertEqual(0, code)

    def test_check_says_when_barbican_refuses(self) -> None:
        self.barbican(403)
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["certificates"])
        self.assertIn("Barbican, as Magnum's service user", self.printed())
        self.assertEqual(1, code)

    def test_check_says_when_there_is_no_barbican(self) -> None:
        conf.CONF.set_override("cert_manager_type", "barbican", "certificates")
        conf.CONF.set_override("region_name", "elsewhere", "barbican_client")
        self.run_command(check.Check, "-f", "json")
        self.assertEqual("failed", self.states()["certificates"])
        self.assertIn("service in elsewhere region not found", self.printed())

    def printed(self) -> str:
        """What came out."""
        return self.out.getvalue()

    def test_chart_fetch_prints_where_the_chart_is(self) -> None:
        code = self.run_command(chart.Fetch, "0.26.1")
        path = self.store / "openstack-cluster-0.26.1.tgz"
        self.assertEqual(f"{path}\n", self.out.getvalue())
        self.assertTrue(path.is_file())
        self.assertEqual(0, code)

    def test_chart_fetch_takes_the_configured_version(self) -> None:
        self.run_command(chart.Fetch)
        self.assertEqual(
            f"{self.store}/openstack-cluster-0.27.0.tgz\n",
            self.out.getvalue(),
        )

    def test_a_fault_is_one_line_and_exit_code_1(self) -> None:
        self.plane.helm.published = set()
        self.useFixture(
            fixtures.MonkeyPatch("magnum.conf.CONF", lambda *_, **__: None)
        )
        app = main.Application()
        app.stdout, app.stderr = self.out, self.err
        self.assertEqual(1, app.run(["chart", "fetch", "0.1.0"]))
        self.assertRegex(
            self.err.getvalue(), r"\Achart openstack-cluster 0\.1\.0 is not"
        )
        self.assertEqual(1, self.err.getvalue().count("\n"))

    def several(self) -> dict[str, plane.Plane]:
        """Two management clusters, b for one project's gpu templates."""
        several: dict[str, dict[str, Any]] = {
            "a": {},
            "b": {"projects": ["p1"], "only_labelled": True},
        }
        conf.CONF.set_override("management_clusters", ["a", "b"], "capi_helm")
        for name, options in several.items():
            group = f"capi_helm_management_{name}"
            conf.CONF.register_opts(home_options.OPTIONS, group=group)
            options["kubeconfig_file"] = f"/kube/{name}"
            for option, value in options.items():
                conf.CONF.set_override(option, value, group)
        runtime.reset()
        planes = {
            home.name: plane.Plane(str(self.store), home)
            for home in runtime.configured()
        }
        for each in planes.values():
            runtime.use(each.runtime())
        return planes

    def checked(self, *argv: str) -> tuple[int, list[tuple[str, str, str]]]:
        """Exit code; management cluster, check and state of each line."""
        code = self.run_command(check.Check, "-f", "json", *argv)
        return code, [
            (row["Management cluster"], row["Check"], row["State"])
            for row in json.loads(self.out.getvalue())
            if not row["Check"].endswith("version")
        ]

    def test_check_looks_at_each_of_several_management_clusters(self) -> None:
        planes = self.several()
        planes["b"].management.unreachable()
        code, found = self.checked()
        self.assertEqual(1, code)
        self.assertEqual(
            [
                ("a", "kubeconfig", "ok"),
                ("a", "management cluster", "ok"),
                ("a", "maintenance", "ok"),
                ("a", "permissions", "ok"),
                ("a", "new clusters", "ok"),
                ("a", "Cluster API", "ok"),
                ("a", "clean-up", "ok"),
                ("b", "kubeconfig", "ok"),
                ("b", "management cluster", "failed"),
                ("b", "maintenance", "failed"),
                ("b", "permissions", "failed"),
                ("b", "new clusters", "ok"),
                ("b", "Cluster API", "ok"),
                ("b", "clean-up", "failed"),
                ("b", "versions", "failed"),
                ("(all)", "helm", "ok"),
                ("(all)", "chart", "ok"),
                ("(all)", "OpenStack", "ok"),
                ("(all)", "certificates", "ok"),
                ("(all)", "delivery", "ok"),
            ],
            found,
        )
        self.assertIn("of projects p1 of templates that", self.out.getvalue())

    def test_check_looks_at_one_of_several_if_it_is_told_to(self) -> None:
        planes = self.several()
        planes["b"].management.unreachable()
        code, found = self.checked("--management-cluster", "a")
        self.assertEqual(0, code)
        self.assertEqual({"a", "(all)"}, {where for where, _, _ in found})
        error = self.assertRaises(
            exceptions.NotConfigured, self.checked, "--management-cluster", "x"
        )
        self.assertEqual(
            "there is no management cluster 'x': give one of [capi_helm] "
            "management_clusters (a, b)",
            str(error),
        )

    def test_check_finds_two_names_of_one_management_cluster(self) -> None:
        planes = self.several()
        planes["b"].management.server = planes["a"].server
        code, found = self.checked()
        self.assertEqual(1, code)
        self.assertIn(("b", "management cluster", "failed"), found)
        self.assertIn("which is a as well", self.out.getvalue())

    def test_runtime_is_built_from_the_configuration_alone(self) -> None:
        runtime.reset()
        made = runtime.get()
        self.assertIs(made, runtime.get())

    def test_each_of_several_has_clients_of_its_own(self) -> None:
        self.several()
        runtime.reset()
        for name in ("a", "b"):
            made = runtime.get(name)
            self.assertIs(made, runtime.get(name))
            error = self.assertRaises(
                exceptions.NotConfigured, made.management.identity
            )
            self.assertEqual(
                f"no kubeconfig at /kube/{name}: set "
                f"[capi_helm_management_{name}] kubeconfig_file to a "
                "kubeconfig of the management cluster",
                str(error),
            )
        # There is none without a name.
        self.assertRaises(exceptions.NotConfigured, runtime.get)
