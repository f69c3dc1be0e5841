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

"""The sample templates, and the tool that makes Magnum's templates of them."""

from __future__ import annotations

import importlib.util
import io
import pathlib
from typing import Any

import fixtures
from magnum.tests.unit.db import base
from oslotest import base as plain
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import spec
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import networks
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.cmd import main
from magnum_capi_helm.cmd import values
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.flows import base as flows
from magnum_capi_helm.tests.unit.tools import stubs

TOOL = stubs.ROOT / "tools" / "create-template.py"
SAMPLES = sorted((stubs.ROOT / "samples" / "templates").glob("*.yaml"))


def tool() -> Any:
    """The script as a module."""
    wanted = importlib.util.spec_from_file_location("create_template", TOOL)
    assert wanted and wanted.loader
    found = importlib.util.module_from_spec(wanted)
    wanted.loader.exec_module(found)
    return found


def cloud(_: object) -> fake_cloud.FakeCloud:
    """A cloud that has what the samples name."""
    tenant = "6f0c5a2e-0000-4000-8000-000000000002"
    return fake_cloud.FakeCloud(
        images={
            "ubuntu-v1.34.2": spec.Image(
                id="2b1f0e3c-0000-4000-8000-000000000000",
                name="ubuntu-v1.34.2",
                kube_version="1.34.2",
                os_distro="ubuntu",
            )
        },
        flavors={n: n for n in ("m1.medium", "m1.large", "g1.large")},
        networks={
            "public": "6f0c5a2e-0000-4000-8000-000000000001",
            "corporate": tenant,
        },
        subnets={
            "corporate-v4": networks.Subnet(
                "6f0c5a2e-0000-4000-8000-000000000004", tenant, "10.7.0.0/24"
            )
        },
        machine_zones=("nova",),
        zones_of_volumes=("nova",),
        identity="https://keystone.example.org/v3",
    )


def at(found: dict[str, Any], path: str) -> Any:
    """One of the values, by its path."""
    value: Any = found
    for name in path.split("."):
        value = value[int(name)] if name.isdigit() else value[name]
    return value


class SamplesTest(base.DbTestCase):
    """The driver's own validation, on a cloud of fakes."""

    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        # A label that nobody knows would be logged alone.
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        made = plane.Plane(conf.CONF.capi_helm.chart_store)
        flows.install(self, made.runtime())
        for target, name, value in (
            (catalogue, "Cloud", cloud),
            (sessions, "service_session", lambda: None),
            (sessions, "project", lambda _: "p1"),
        ):
            self.useFixture(fixtures.MockPatchObject(target, name, value))

    def values(self, sample: pathlib.Path) -> dict[str, Any]:
        """What helm would get for a cluster of it."""
        app = main.Application()
        app.stdout = io.StringIO()
        command = values.Values(app, None)
        argv = ["--template", str(sample)]
        command.run(command.get_parser("values").parse_args(argv))
        found: dict[str, Any] = yaml.safe_load(app.stdout.getvalue())
        return found

    def test_each_sample_becomes_the_values_that_it_is_for(self) -> None:
        wanted: dict[str, dict[str, Any]] = {
            "air-gapped": {
                "addons.nodeFeatureDiscovery.enabled": False,
                "addons.nvidiaGPUOperator.enabled": False,
                "apiServer.associateFloatingIP": False,
            },
            "autoscaled": {
                "nodeGroups.0.machineCountMin": 1,
                "nodeGroups.0.machineCountMax": 10,
            },
            "gpu": {
                "addons.nvidiaGPUOperator.enabled": True,
                "addons.cni.type": "cilium",
                "nodeGroups.1.name": "gpu",
                "nodeGroups.1.machineFlavor": "g1.large",
                "nodeGroups.1.kubeadmConfigSpec.joinConfiguration."
                "nodeRegistration.taints.0.key": "nvidia.com/gpu",
            },
            "ha": {
                "controlPlane.machineCount": 3,
                "etcd.blockDevice.size": 10,
                "addons.monitoring.enabled": True,
            },
            "private": {
                "apiServer.associateFloatingIP": False,
                "clusterNetworking.internalNetwork.networkFilter.id": (
                    "6f0c5a2e-0000-4000-8000-000000000002"
                ),
                "apiServer.allowedCIDRs.0": "10.0.0.0/8",
            },
            "small": {
                "controlPlane.machineCount": 1,
                "nodeGroups.0.machineCount": 1,
                "addons.nvidiaGPUOperator.enabled": False,
            },
        }
        self.assertEqual(sorted(wanted), [sample.stem for sample in SAMPLES])
        for sample in SAMPLES:
            found = self.values(sample)
            for path, value in wanted[sample.stem].items():
                self.assertEqual(value, at(found, path), (sample, path))

    def test_mirrors_of_the_air_gapped_one_are_those_of_its_label(
        self,
    ) -> None:
        found = self.values(SAMPLES[0])["registryMirrors"]
        self.assertEqual(
            {"docker.io", "ghcr.io", "quay.io", "registry.k8s.io"},
            {
                name
                for name, mirror in found.items()
                if "https://registry.example.org" in str(mirror)
            },
        )


class CommandTest(plain.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tool = tool()

    def refusal(self, **fields: Any) -> str:
        """Why no template is made of these fields."""
        error = self.assertRaises(
            self.tool.WrongInput,
            self.tool.command,
            {"name": "t", "image_id": "i", **fields},
            public=False,
        )
        return str(error)

    def test_each_field_has_its_option(self) -> None:
        self.assertEqual(
            [
                *("openstack", "coe", "cluster", "template", "create"),
                *("t", "--coe", "kubernetes"),
                *("--image", "i"),
                *("--flavor", "m1.large"),
                *("--docker-volume-size", "20"),
                "--floating-ip-disabled",
                *("--labels", "a=1,2"),
                *("--labels", "b=x=y"),
                "--public",
            ],
            self.tool.command(
                {
                    "name": "t",
                    "image_id": "i",
                    "flavor_id": "m1.large",
                    "docker_volume_size": 20,
                    "master_lb_enabled": False,
                    "floating_ip_enabled": False,
                    "labels": {"a": "1,2", "b": "x=y"},
                    "cluster": {"node_count": 3},
                    "nodegroups": [{"name": "n"}],
                },
                public=True,
            ),
        )

    def test_bad_fields_are_refused_by_name(self) -> None:
        self.assertIn(
            "there is no field image: give dns_nameserver, ",
            self.refusal(image="i"),
        )
        self.assertEqual(
            "image_id is missing: a template needs one",
            self.refusal(image_id=""),
        )
        self.assertEqual(
            "flavor_id is '--help': give a name, ID or number",
            self.refusal(flavor_id="--help"),
        )
        self.assertEqual(
            "master_lb_enabled is 'maybe': give true or false",
            self.refusal(master_lb_enabled="maybe"),
        )
        self.assertEqual(
            "labels is ['a']: give names and values",
            self.refusal(labels=["a"]),
        )
        self.assertEqual(
            "label 'a=b' is no name: give one without spaces, commas and =",
            self.refusal(labels={"a=b": "c"}),
        )
        self.assertIn(
            "label registry_mirrors is the only one, and the client would "
            "split its value",
            self.refusal(labels={"registry_mirrors": "a=b,c=d"}),
        )

    def test_arguments_win_over_the_file(self) -> None:
        found = self.tool.read(
            str(SAMPLES[-1]),
            ["image_id=mine", "labels.boot_volume_size=40"],
        )
        self.assertEqual("mine", found["image_id"])
        self.assertEqual("40", found["labels"]["boot_volume_size"])
        self.assertEqual("false", found["labels"]["monitoring_enabled"])
        error = self.assertRaises(
            self.tool.WrongInput, self.tool.read, str(SAMPLES[-1]), ["x"]
        )
        self.assertEqual("--set x: give FIELD=VALUE", str(error))


class RunTest(plain.BaseTestCase):
    """The script itself."""

    def setUp(self) -> None:
        super().setUp()
        self.stubs = self.useFixture(
            stubs.Stubs(["openstack"], {"openstack": "exit 3"})
        )

    def run_tool(self, *argv: str) -> tuple[int, str, str]:
        """Exit code, and what it wrote."""
        done = self.stubs.bash("-c", 'python3 "$@"', "-", str(TOOL), *argv)
        return done.returncode, done.stdout, done.stderr

    def test_the_command_is_run_and_its_exit_code_returned(self) -> None:
        self.assertEqual((3, "", ""), self.run_tool(str(SAMPLES[-1])))
        (command,) = self.stubs.commands()
        self.assertIn("template create k8s-small --coe kubernetes", command)

    def test_a_dry_run_prints_it_alone(self) -> None:
        code, out, _ = self.run_tool(str(SAMPLES[-1]), "--dry-run")
        self.assertEqual(0, code)
        self.assertTrue(
            out.startswith("openstack coe cluster template create k8s-small ")
        )
        self.assertEqual([], self.stubs.commands())

    def test_an_error_is_one_line(self) -> None:
        code, _, error = self.run_tool(str(SAMPLES[-1]), "--set", "a=b")
        self.assertEqual(1, code)
        self.assertTrue(error.startswith("error: there is no field a: give "))
        self.assertEqual([], self.stubs.commands())
