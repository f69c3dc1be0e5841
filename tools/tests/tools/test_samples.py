# SPDX-License-Identifier: Apache-2.0

"""The sample templates: what the driver makes of each."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import fixtures
from magnum.tests.unit.db import base
import yaml

from magnum_capi_helm.cli import main
from magnum_capi_helm.cli import preview
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base as flows
from tools.tests.tools import stubs

_FOLDER = stubs.ROOT / "samples"
SAMPLES = sorted((_FOLDER / "templates").glob("*.yaml"))

#: Sample -> what its values are for, by path.
WANTED: dict[str, dict[str, Any]] = {
    "air-gapped": {
        "addons/nodeFeatureDiscovery/enabled": False,
        "addons/nvidiaGPUOperator/enabled": False,
        "apiServer/associateFloatingIP": False,
        **{
            f"registryMirrors/{name}/0": (
                f"https://registry.example.org/{name}/v2"
            )
            for name in ("docker.io", "ghcr.io", "quay.io", "registry.k8s.io")
        },
    },
    "autoscaled": {
        "nodeGroups/0/machineCountMin": 1,
        "nodeGroups/0/machineCountMax": 10,
    },
    "gpu": {
        "addons/nvidiaGPUOperator/enabled": True,
        "addons/cni/type": "cilium",
        "nodeGroups/1/name": "gpu",
        "nodeGroups/1/machineFlavor": "g1.large",
        "nodeGroups/1/kubeadmConfigSpec/joinConfiguration/"
        "nodeRegistration/taints/0/key": "nvidia.com/gpu",
    },
    "ha": {
        "controlPlane/machineCount": 3,
        "etcd/blockDevice/size": 10,
        "addons/monitoring/enabled": True,
    },
    "private": {
        "apiServer/associateFloatingIP": False,
        "clusterNetworking/internalNetwork/networkFilter/id": (
            "6f0c5a2e-0000-4000-8000-000000000002"
        ),
        "apiServer/allowedCIDRs/0": "10.0.0.0/8",
    },
    "small": {
        "controlPlane/machineCount": 1,
        "nodeGroups/0/machineCount": 1,
        "addons/nvidiaGPUOperator/enabled": False,
    },
}


def cloud(_: object) -> fake_cloud.FakeCloud:
    """A cloud that has what the samples name."""
    tenant = "6f0c5a2e-0000-4000-8000-000000000002"
    return fake_cloud.FakeCloud(
        images={
            "ubuntu-v1.34.2": cluster_spec.Image(
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
            "corporate-v4": catalogue.Subnet(
                "6f0c5a2e-0000-4000-8000-000000000004", tenant, "10.7.0.0/24"
            )
        },
        machine_zones=("nova",),
        zones_of_volumes=("nova",),
        identity="https://keystone.example.org/v3",
    )


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
        command = preview.Values(app, None)
        argv = ["--template", str(sample)]
        command.run(command.get_parser("values").parse_args(argv))
        found: dict[str, Any] = yaml.safe_load(app.stdout.getvalue())
        return found

    def test_each_sample_becomes_the_values_that_it_is_for(self) -> None:
        self.assertEqual(sorted(WANTED), [sample.stem for sample in SAMPLES])
        for sample in SAMPLES:
            found = self.values(sample)
            for path, expected in WANTED[sample.stem].items():
                value: Any = found
                for name in path.split("/"):
                    value = value[int(name) if name.isdigit() else name]
                self.assertEqual(expected, value, (sample, path))

    def test_objects_of_the_first_workload_fit_together(self) -> None:
        text = (_FOLDER / "first-workload.yaml").read_text()
        objects = {each["kind"]: each for each in yaml.safe_load_all(text)}
        service = objects["Service"]["spec"]
        pod = objects["Deployment"]["spec"]["template"]
        [web], [volume] = pod["spec"]["containers"], pod["spec"]["volumes"]
        self.assertEqual(service["selector"], pod["metadata"]["labels"])
        self.assertEqual(
            [port["targetPort"] for port in service["ports"]],
            [port["containerPort"] for port in web["ports"]],
        )
        self.assertEqual(
            objects["PersistentVolumeClaim"]["metadata"]["name"],
            volume["persistentVolumeClaim"]["claimName"],
        )
        self.assertEqual(volume["name"], web["volumeMounts"][0]["name"])
