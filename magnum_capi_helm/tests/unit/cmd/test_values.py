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

"""``values`` of each template in ``tests/data`` is one whole literal file.

After a change that is meant, run with ``WRITE_VALUES=1`` and read the
difference of ``tests/data/values``.
"""

from __future__ import annotations

import io
import os
import pathlib

import fixtures
from magnum.tests.unit.db import base
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import spec
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import networks
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.cmd import main
from magnum_capi_helm.cmd import values
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.flows import base as flows

_DATA = pathlib.Path(data.__file__).parent


def images() -> dict[str, spec.Image]:
    """The images that the templates name."""
    return {
        f"{distro}-v1.34.2": spec.Image(
            id=f"2b1f0e3c-0000-4000-8000-00000000000{number}",
            name=f"{distro}-v1.34.2",
            kube_version="1.34.2",
            os_distro=distro,
        )
        for number, distro in enumerate(("ubuntu", "flatcar"))
    }


def cloud(_: object) -> fake_cloud.FakeCloud:
    """The cloud that the templates are for."""
    return fake_cloud.FakeCloud(
        images=images(),
        flavors={n: n for n in ("m1.control", "m1.worker", "g1.gpu")},
        networks={
            "public": "6f0c5a2e-0000-4000-8000-000000000001",
            "tenant": "6f0c5a2e-0000-4000-8000-000000000002",
            "storage": "6f0c5a2e-0000-4000-8000-000000000003",
        },
        subnets={
            name: networks.Subnet(
                f"6f0c5a2e-0000-4000-8000-00000000000{number}",
                "6f0c5a2e-0000-4000-8000-000000000002",
                cidr,
            )
            for number, (name, cidr) in enumerate(
                (("v4", "10.77.0.0/24"), ("v6", "fd00:77::/64")), start=4
            )
        },
        types=("fast", "slow"),
        machine_zones=("az1", "az2", "az3"),
        zones_of_volumes=("az1", "nova"),
        identity="https://keystone.example.org/v3",
    )


class ValuesTest(base.DbTestCase):
    """The command as an operator runs it, on a cloud of fakes."""

    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        conf.CONF.set_override(
            "values_profile_dir", str(_DATA / "profiles"), "capi_helm"
        )
        conf.CONF.set_override(
            "server_metadata", {"cost-centre": "4711"}, "capi_helm"
        )
        made = plane.Plane(conf.CONF.capi_helm.chart_store)
        flows.install(self, made.runtime())
        for target, name, value in (
            (catalogue, "Cloud", cloud),
            (sessions, "service_session", lambda: None),
            (sessions, "project", lambda _: "p1"),
        ):
            self.useFixture(fixtures.MockPatchObject(target, name, value))

    def printed(self, *argv: str) -> str:
        """What the command prints."""
        app = main.Application()
        app.stdout = io.StringIO()
        command = values.Values(app, None)
        command.run(command.get_parser("values").parse_args(list(argv)))
        return str(app.stdout.getvalue())

    def test_every_template_becomes_the_values_in_its_file(self) -> None:
        self.maxDiff = None
        for template in sorted((_DATA / "templates").glob("*.yaml")):
            printed = self.printed("--template", str(template))
            wanted = _DATA / "values" / template.name
            if os.environ.get("WRITE_VALUES"):
                wanted.parent.mkdir(exist_ok=True)
                wanted.write_text(printed)
            self.assertEqual(
                yaml.safe_load(wanted.read_text()),
                yaml.safe_load(printed),
                template.name,
            )

    def test_every_file_of_values_has_its_template(self) -> None:
        self.assertEqual(
            sorted(path.name for path in (_DATA / "templates").iterdir()),
            sorted(path.name for path in (_DATA / "values").iterdir()),
        )
