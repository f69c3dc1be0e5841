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

from magnum_capi_helm import conf
from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import chart
from magnum_capi_helm.cmd import check
from magnum_capi_helm.cmd import main
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.fakes import plane
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
        """What ``check -f json`` printed: state by check."""
        return {
            row["Check"]: row["State"]
            for row in json.loads(self.out.getvalue())
        }

    def test_check_is_0_when_all_is_well(self) -> None:
        code = self.run_command(check.Check, "-f", "json")
        self.assertEqual(
            {name: "ok" for name, _ in check.CHECKS}, self.states()
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
                "Cluster API": "failed",
                "helm": "ok",
                "chart": "failed",
                "OpenStack": "ok",
                "clean-up": "ok",
                "certificates": "ok",
            },
            self.states(),
        )
        self.assertIn("install the provider", self.out.getvalue())
        self.assertEqual(1, code)

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

    def test_runtime_is_built_from_the_configuration_alone(self) -> None:
        runtime.reset()
        made = runtime.get()
        self.assertIs(made, runtime.get())
