# SPDX-License-Identifier: Apache-2.0

"""``values`` of each template in ``tests/data`` is one whole literal file.

After a change that is meant, run with ``WRITE_VALUES=1`` and read the
difference of ``tests/data/values``.
"""

from __future__ import annotations

import io
import os
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
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.fakes import sample_cloud
from magnum_capi_helm.tests.unit.lifecycle import base as flows

_DATA = pathlib.Path(data.__file__).parent
_TEMPLATES = _DATA.parents[2] / "samples" / "templates"

_TEXT = "give text, in quotes if YAML takes it for something else"
_LABELS = "is not allowed: give a mapping of names to values"
_GROUPS = "give a list of mappings with the fields of a nodegroup"
_TAINTS = "give a list of mappings with key, value and effect"

#: What a file holds, and what is said of it after its name.
WRONG_FILES = {
    b"": "give the fields of a cluster template",
    b"- name": "must be a mapping",
    b"# gr\xfcn": "is no YAML in UTF-8",
    b"name: a\nlabels: [": "is no YAML in line 2",
    b"labels: a=b": f"labels='a=b' {_LABELS}",
    b"labels: [a]": f"labels=['a'] {_LABELS}",
    b"cluster: {labels: [a]}": f"cluster: labels=['a'] {_LABELS}",
    b"cluster: foo": "cluster='foo' is not allowed: give a mapping with the "
    "fields of a cluster",
    b"cluster: {name: 5}": f"cluster: name=5 is not allowed: {_TEXT}",
    b"cluster: {node_count: two}": "cluster: node_count='two' is not "
    "allowed: give a whole number",
    b"cluster: {node_count: true}": "cluster: node_count=True is not "
    "allowed: give a whole number",
    b"nodegroups: 5": f"nodegroups=5 is not allowed: {_GROUPS}",
    b"nodegroups: {name: gpu}": "nodegroups={'name': 'gpu'} is not allowed: "
    f"{_GROUPS}",
    b"nodegroups: [gpu]": "nodegroup 1: 'gpu' has no fields; known are "
    "docker_volume_size, flavor_id, image_id, labels, max_node_count, "
    "min_node_count, name, node_count, node_labels, node_taints, role",
    b"nodegroups: [{name: a}, {role: gpu}]": "nodegroup 2: it has no name: "
    "give one",
    b"nodegroups: [{name: a, node_labels: b}]": "nodegroup 1: "
    f"node_labels='b' {_LABELS}",
    b"nodegroups: [{name: a, node_taints: [b]}]": "nodegroup 1: "
    f"node_taints=['b'] is not allowed: {_TAINTS}",
    b"dns_nameserver: [192.0.2.1]": "dns_nameserver=['192.0.2.1'] is not "
    f"allowed: {_TEXT}",
    b"master_lb_enabled: 1": "master_lb_enabled=1 is not allowed: give true "
    "or false",
}

#: Sample -> what its values are for, by path.
_SAMPLES: dict[str, dict[str, Any]] = {
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
            "6f0c5a2e-0000-4000-8000-000000000007"
        ),
        "apiServer/allowedCIDRs/0": "10.0.0.0/8",
    },
    "small": {
        "controlPlane/machineCount": 1,
        "nodeGroups/0/machineCount": 1,
        "addons/nvidiaGPUOperator/enabled": False,
    },
}


class ValuesTest(base.DbTestCase):
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
            (catalogue, "Cloud", sample_cloud.cloud),
            (sessions, "service_session", lambda: None),
            (sessions, "project", lambda _: "p1"),
        ):
            self.useFixture(fixtures.MockPatchObject(target, name, value))

    def printed(self, *argv: str) -> str:
        app = main.Application()
        app.stdout = io.StringIO()
        command = preview.Values(app, None)
        command.run(command.get_parser("values").parse_args(list(argv)))
        return str(app.stdout.getvalue())

    def test_a_label_is_refused_before_keystone_is_asked(self) -> None:
        def silent(_: object) -> str:
            raise errors.CloudUnreachable("Keystone does not answer")

        self.useFixture(fixtures.MockPatchObject(sessions, "project", silent))
        home = self.useFixture(fixtures.TempDir()).path
        path = pathlib.Path(home) / "new.yaml"
        for labels, reason in (
            ("{boot_volume_size: big}", "label boot_volume_size: give a "),
            ("{}", "Keystone does not answer"),
        ):
            path.write_text(f"name: new\nlabels: {labels}\n")
            error = self.assertRaises(
                errors.CapiHelmError, self.printed, "--template", str(path)
            )
            self.assertTrue(str(error).startswith(reason), str(error))

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

    def test_samples_become_the_values_that_they_are_for(self) -> None:
        # A label that nobody knows would be logged alone.
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        samples = sorted(_TEMPLATES.iterdir())
        self.assertEqual(sorted(_SAMPLES), [each.stem for each in samples])
        for sample in samples:
            printed = yaml.safe_load(self.printed("--template", str(sample)))
            for path, expected in _SAMPLES[sample.stem].items():
                value: Any = printed
                for name in path.split("/"):
                    value = value[int(name) if name.isdigit() else name]
                self.assertEqual(expected, value, (sample, path))

    def test_a_file_that_describes_no_template_is_refused(self) -> None:
        folder = self.useFixture(fixtures.TempDir()).path
        file = pathlib.Path(folder) / "wrong.yaml"
        for content, text in WRONG_FILES.items():
            file.write_bytes(content)
            error = self.assertRaises(
                errors.CapiHelmError, self.printed, "--template", str(file)
            )
            self.assertEqual(f"{file}: {text}", str(error))

    def test_every_file_of_values_has_its_template(self) -> None:
        self.assertEqual(
            sorted(path.name for path in (_DATA / "templates").iterdir()),
            sorted(path.name for path in (_DATA / "values").iterdir()),
        )
