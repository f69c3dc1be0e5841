# SPDX-License-Identifier: Apache-2.0

"""Addons and images of a chart version."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import dataclasses
import pathlib
from typing import Any

import fixtures
from oslotest import base
import yaml

from magnum_capi_helm.chart import patches
from magnum_capi_helm.features import storage
from magnum_capi_helm.helm import client
from magnum_capi_helm.helm import mirroring
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import chart as fake_chart

CALICO = mirroring.Addon("tigera-operator", "v3.31.5", "https://calico")
CILIUM = mirroring.Addon("cilium", "1.19.3", "https://cilium")
CERTS = mirroring.Addon("cert-manager", "v1.17.0", "https://jetstack")
ETCD = mirroring.Addon("etcd-defrag", "0.27.0", "https://azimuth")

DEFAULTS: dict[str, Any] = yaml.safe_load("""
cni:
  calico:
    chart: {repo: 'https://calico', name: tigera-operator, version: v3.31.5}
certManager:
  enabled: false
  chart: {repo: 'https://jetstack', name: cert-manager, version: v1.17.0}
  release: {namespace: cert-manager, values: {crds: {enabled: true}}}
etcdDefrag:
  chart: {repo: 'https://azimuth', name: etcd-defrag, version: null}
  values: {a: 1}
""")
JINJA = """
{# what the cluster says #}
ipPools:
{% for cidr in cluster.pods %}
  - {cidr: "{{ cidr }}", blockSize: 26}
{% endfor %}
replicas: 1
"""


class Helm(client.Helm):
    """Renders two addons, and pulls what is published."""

    def __init__(self) -> None:
        super().__init__("", 0)
        self.rendered: list[tuple[str, str, str, Mapping[str, Any]]] = []
        self.pulled: list[tuple[str, str, str]] = []
        self.indexed: list[str] = []
        self.missing: set[str] = set()
        #: Name of an addon's chart -> its manifest.
        self.manifests: dict[str, str] = {}
        #: Whether charts refuse any value.
        self.picky = False

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None:
        self.pulled.append((chart, version, repository))
        if chart in self.missing:
            raise errors.ChartUnavailable(f"helm pull: no {chart}")
        name = chart.rsplit("/", 1)[-1]
        file = pathlib.Path(directory, f"{name}-{version}.tgz")
        file.write_bytes(fake_chart.package(name, version))

    def index(self, directory: str) -> None:
        self.indexed.append(directory)

    def render(
        self,
        release: str,
        namespace: str,
        chart: str,
        values: Mapping[str, Any],
        *,
        live: bool = False,
        hooks: bool = False,
        convert: Collection[str] = (),
        patch: Sequence[patches.Patch] = (),
    ) -> tuple[dict[str, Any], ...]:
        assert hooks and not live and not convert and not patch
        self.rendered.append((release, namespace, chart, values))
        for name, manifest in self.manifests.items():
            if pathlib.Path(chart).name.startswith(name):
                if self.picky and values:
                    raise errors.HelmError("helm template: wrong type")
                return encoding.objects(manifest)
        network = values["addons"]["cni"]["type"]
        addon = {"calico": CALICO, "cilium": CILIUM}[network]
        return tuple(_objects(addon))


def _objects(addon: mirroring.Addon) -> list[dict[str, Any]]:
    secret = {
        "defaults": JINJA,
        "broken": "{% if x %}{ [{% endif %}",
        "overrides": "replicas: 2",
    }
    keys = [*(("s", key) for key in secret), ("elsewhere", "x")]
    chart = {"version": addon.version, "repo": addon.repository}
    release = {
        "chart": {"name": addon.name, **chart},
        "targetNamespace": "net",
        "releaseName": f"cni-{addon.name}",
        "valuesSources": [
            {"secret": {"name": name, "key": key}} for name, key in keys
        ],
    }
    return [
        {"kind": "Deployment", "spec": {"image": "registry.k8s.io/auto:1"}},
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha7",
            "kind": "OpenStackMachineTemplate",
            "spec": {"image": "ubuntu"},
        },
        {"kind": "HelmRelease", "spec": release},
        {"kind": "Secret", "metadata": {"name": "s"}, "stringData": secret},
    ]


class MirroringTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.helm = Helm()
        self.chart = str(self.home / "chart")
        pathlib.Path(self.chart).write_bytes(
            fake_chart.package(
                "openstack-cluster", "0.27.0", {}, {"addons": DEFAULTS}
            )
        )

    def contents(
        self, values: dict[str, Any] | None = None, everything: bool = False
    ) -> mirroring.Contents:
        return mirroring.contents(
            self.helm, self.chart, values or {}, everything=everything
        )


class ContentsTest(MirroringTestCase):
    def test_addons_and_images_are_those_that_the_chart_renders(self) -> None:
        """Each network is in, whichever the values choose."""
        for values in ({}, {"addons": {"cni": {"type": "calico"}}}):
            found = self.contents(values)
            self.assertEqual((CILIUM, CALICO), found.addons)
            self.assertEqual({"registry.k8s.io/auto:1"}, found.images)

    def test_everything_has_all_addons_of_the_defaults(self) -> None:
        found = self.contents(everything=True).addons
        nfs = storage.NFS_MOUNTER["chart"]
        mounter = mirroring.Addon(nfs["name"], nfs["version"], nfs["repo"])
        self.assertEqual((CERTS, CILIUM, mounter, ETCD, CALICO), found)
        self.assertEqual({"crds": {"enabled": True}}, found[0].values)
        self.assertEqual("cert-manager", found[0].namespace)
        self.assertEqual({"a": 1}, found[3].values)

    def test_an_addon_has_its_values_without_those_of_a_cluster(self) -> None:
        _, calico = self.contents().addons
        pools = [{"cidr": "sample", "blockSize": 26}]
        self.assertEqual(
            ({"ipPools": pools, "replicas": 2}, "net", "cni-tigera-operator"),
            (calico.values, calico.namespace, calico.release),
        )

    def test_the_chart_gets_values_of_a_small_cluster(self) -> None:
        own = {"machineImageId": "own", "registryMirrors": None}
        self.contents(own)
        values = self.helm.rendered[0][3]
        self.assertEqual("1.36.0", values["kubernetesVersion"])
        self.assertEqual("own", values["machineImageId"])
        self.assertIsNone(values["registryMirrors"])


class FetchTest(MirroringTestCase):
    def test_a_chart_is_fetched_once(self) -> None:
        for _ in range(2):
            found = mirroring.fetch(self.helm, CALICO, self.home)
            self.assertEqual("tigera-operator-v3.31.5.tgz", found.name)
        self.assertEqual(
            [("tigera-operator", "v3.31.5", "https://calico")],
            self.helm.pulled,
        )

    def test_the_file_may_have_the_version_without_its_v(self) -> None:
        (self.home / "tigera-operator-3.31.5.tgz").touch()
        mirroring.fetch(self.helm, CALICO, self.home)
        self.assertEqual([], self.helm.pulled)

    def test_a_registry_has_no_repository(self) -> None:
        addon = mirroring.Addon("a", "1.0.0", "oci://registry/charts/")
        mirroring.fetch(self.helm, addon, self.home)
        self.assertEqual(
            [("oci://registry/charts/a", "1.0.0", "")], self.helm.pulled
        )

    def test_a_failure_leaves_nothing(self) -> None:
        self.helm.missing = {"tigera-operator"}
        absent = errors.ChartUnavailable
        fetch = mirroring.fetch
        self.assertRaises(absent, fetch, self.helm, CALICO, self.home)
        self.assertEqual(["chart"], [p.name for p in self.home.iterdir()])


class ImagesTest(MirroringTestCase):
    def images(self) -> frozenset[str]:
        self.helm.manifests = {"tigera": "image: quay.io/tigera/operator:v1"}
        file = self.home / "tigera-operator-v3.31.5.tgz"
        _, calico = self.contents().addons
        self.helm.rendered.clear()
        return mirroring.images_of(self.helm, calico, file)

    def test_they_are_those_of_the_release(self) -> None:
        self.assertEqual({"quay.io/tigera/operator:v1"}, self.images())
        (call,) = self.helm.rendered
        self.assertEqual(("cni-tigera-operator", "net"), call[:2])
        self.assertEqual(2, call[3]["replicas"])

    def test_values_that_do_not_fit_are_left_out(self) -> None:
        self.helm.picky = True
        self.assertEqual({"quay.io/tigera/operator:v1"}, self.images())
        self.assertEqual({}, self.helm.rendered[-1][3])

    def test_the_list_is_sorted_and_the_charts_are_a_repository(self) -> None:
        (self.home / ".fetch-left").mkdir()
        mirroring.finish(self.helm, ["b/c:1", "a/b:1", "b/c:1"], self.home)
        self.assertEqual(
            "a/b:1\nb/c:1\n", (self.home / "images.txt").read_text()
        )
        self.assertEqual([str(self.home)], self.helm.indexed)
        self.assertFalse((self.home / ".fetch-left").exists())


#: What the chart of Calico's operator renders.
INSTALLATION = """
apiVersion: operator.tigera.io/v1
kind: Installation
spec: {calicoNetwork: {bgp: Disabled}SPEC}
"""
OTHERS = """
---
apiVersion: operator.tigera.io/v1
kind: APIServer
---
apiVersion: operator.tigera.io/v1
kind: Goldmane
---
apiVersion: operator.tigera.io/v1
kind: Whisker
---
apiVersion: other.example.org/v1
kind: Installation
spec: {registry: other.example.org}
"""
#: Images of the first object.
NODES = (
    "cni",
    "csi",
    "kube-controllers",
    "node-driver-registrar",
    "node",
    "pod2daemon-flexvol",
    "typha",
)


class CalicoTest(MirroringTestCase):
    def images(self, version: str, manifest: str) -> list[str]:
        self.helm.manifests = {"tigera": manifest}
        addon = dataclasses.replace(CALICO, version=version)
        file = self.home / f"tigera-operator-{version}.tgz"
        return sorted(mirroring.images_of(self.helm, addon, file))

    def test_its_operator_starts_images_of_the_charts_version(self) -> None:
        """Of another registry in older versions; values may choose one."""
        more = ("apiserver", "goldmane", "whisker", "whisker-backend")
        spec = ", registry: reg.example.org/, imagePath: cni/own"
        for version, chosen, others, names, place in (
            ("v3.31.5", "", OTHERS, NODES + more, "quay.io/calico"),
            ("3.30.7", "", "", NODES, "docker.io/calico"),
            ("v3.31.5", spec, "", NODES, "reg.example.org/cni/own"),
        ):
            tag = f"v{version.removeprefix('v')}"
            self.assertEqual(
                sorted(f"{place}/{each}:{tag}" for each in names),
                self.images(
                    version, INSTALLATION.replace("SPEC", chosen) + others
                ),
            )


DIGEST = "sha256:" + "0123456789abcdef" * 4

#: Object -> images in it.
FOUND: list[tuple[dict[str, Any], list[str]]] = [
    (
        yaml.safe_load(f"""
kind: Deployment
spec:
  template:
    spec:
      initContainers: [{{image: busybox}}]
      containers:
      - image: bitnami/kubectl:1.30
      - image: quay.io/a/b@{DIGEST}
      - image: reg.example:5000/a_b/c:v1@{DIGEST}
"""),
        [
            "docker.io/library/busybox:latest",
            "docker.io/bitnami/kubectl:1.30",
            f"quay.io/a/b@{DIGEST}",
            f"reg.example:5000/a_b/c:v1@{DIGEST}",
        ],
    ),
    # Custom resources of operators have three fields.
    (
        yaml.safe_load(f"""
kind: ClusterPolicy
spec:
  driver: {{repository: nvcr.io/nvidia, image: driver, version: '580.1'}}
  toolkit:
    repository: nvcr.io/nvidia/k8s
    image: toolkit
    version: {DIGEST}
  pinned: {{repository: nvcr.io/nvidia, image: driver, version: '{DIGEST}'}}
  gds: {{repository: '', image: '', version: ''}}
"""),
        [
            "nvcr.io/nvidia/driver:580.1-ubuntu22.04",
            "nvcr.io/nvidia/driver:580.1-ubuntu24.04",
            f"nvcr.io/nvidia/k8s/toolkit@{DIGEST}",
            f"nvcr.io/nvidia/driver@{DIGEST}",
        ],
    ),
    # Operators are told what to start by arguments and environment.
    (
        yaml.safe_load("""
args:
- --acme-image=quay.io/jetstack/acmesolver:v1.17.0
- --listen=example.org/path
- --taint=node-role.kubernetes.io/control-plane:NoSchedule
- --url=https://example.org/a:b
- 7
env:
- {name: RELATED_IMAGE, value: 'ghcr.io/a/b:1'}
- {name: HOST, value: example.org}
- {name: NODE, valueFrom: {fieldRef: {}}}
command: ['registry.k8s.io/pause:3.10']
"""),
        [
            "quay.io/jetstack/acmesolver:v1.17.0",
            "ghcr.io/a/b:1",
            "registry.k8s.io/pause:3.10",
        ],
    ),
    # A schema that has a field of that name, and what is no name at all.
    (
        {
            "properties": {"image": {"type": "string"}},
            "a": {"image": "{{ image }}"},
            "b": {"image": "two words"},
            "c": {"image": None},
        },
        [],
    ),
]


class ImageNamesTest(base.BaseTestCase):
    def test_each_object_names_its_images(self) -> None:
        for found, images in FOUND:
            self.assertEqual(
                sorted(images), sorted(mirroring.find([found])), str(found)
            )

    def test_names_are_completed_as_containerd_does(self) -> None:
        names = {
            "nginx": "docker.io/library/nginx:latest",
            "nginx:1": "docker.io/library/nginx:1",
            "a/b": "docker.io/a/b:latest",
            "localhost/b:1": "localhost/b:1",
            "host:5000/b": "host:5000/b:latest",
            "ghcr.io/a/b:1": "ghcr.io/a/b:1",
        }
        self.assertEqual(names, {name: mirroring.full(name) for name in names})
