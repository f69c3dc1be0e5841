"""With both mirrors set, nothing that is rendered names another host."""

from collections.abc import Iterator
import os
import pathlib
import re
from typing import Any

import fixtures
from oslotest import base
import testscenarios

from magnum_capi_helm.chart import overlays
from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client
from magnum_capi_helm.helm import mirroring
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.unit.features import specs

REPOSITORY = "https://charts.mirror.test"
REGISTRY = "registry.mirror.test/cloud"
ALLOWED = {
    "charts.mirror.test",
    "registry.mirror.test",
    "keystone.example.org",
    # The machine itself.
    "0.0.0.0",  # noqa: S104  it is what etcd listens on
    "127.0.0.1",
}

#: All that can be switched on together.
EVERYTHING = {
    "addons": {
        "certManager": {"enabled": True},
        "reloader": {"enabled": True},
        "amdGPUOperator": {"enabled": True},
        "intelDevicePlugin": {"enabled": True},
        "monitoring": {"enabled": True},
        "ingress": {"enabled": True},
        "csi": {"cephfs": {"enabled": True}},
        "openstack": {
            "csiManila": {"enabled": True},
            "k8sKeystoneAuth": {"enabled": True},
        },
    }
}

#: A URL, or the name of an image: host, path and tag.
_URL = re.compile(r"[a-z]+://\[?([A-Za-z0-9.-]+)")
_IMAGE = re.compile(
    r"(?<![\w./-])([a-z0-9.-]+\.[a-z]+)(?::[0-9]+)?(?:/[\w.-]+)+:[\w.-]+"
)
#: Names of taints and labels are written like hosts.
_KEYS = re.compile(r"(.*\.)?(kubernetes\.io|x-k8s\.io|stackhpc\.com)")


def hosts(node: Any) -> Iterator[str]:
    """All hosts that the strings of an object name."""
    if isinstance(node, dict):
        for value in node.values():
            yield from hosts(value)
    elif isinstance(node, list):
        for value in node:
            yield from hosts(value)
    elif isinstance(node, str):
        yield from _URL.findall(node)
        for host in _IMAGE.findall(node):
            if not _KEYS.fullmatch(host):
                yield host


def packaged() -> list[tuple[str, dict[str, Any]]]:
    """The lab's chart, and those in the store that LAB_CHART_STORE names."""
    store = pathlib.Path(os.environ.get("LAB_CHART_STORE") or os.devnull)
    found = [rendering.CHART, *store.glob("openstack-cluster-*.tgz")]
    return [(path.name, {"chart": path}) for path in found]


class AirGapTest(testscenarios.WithScenarios, base.BaseTestCase):  # type: ignore[misc]
    scenarios = packaged()
    chart: pathlib.Path

    def setUp(self) -> None:
        super().setUp()
        helm = pathlib.Path(rendering.find_helm()).parent
        path = f"{helm}{os.pathsep}{os.environ['PATH']}"
        self.useFixture(fixtures.EnvironmentVariable("PATH", path))
        self.home = self.useFixture(fixtures.TempDir()).path
        self.helm = client.Helm("", 60)
        if self.chart.is_dir():
            self.helm.package(str(self.chart), self.home)
            (self.chart,) = pathlib.Path(self.home).glob("*.tgz")
        self.package = charts.read(self.chart)

    def render(self, cni: str, switched_on: dict[str, Any]) -> list[Any]:
        """What a cluster is made of behind the mirrors."""
        cluster = specs.cluster(
            cni=cni,
            chart=cluster_spec.Chart(
                "openstack-cluster", self.package.version, ""
            ),
            site=cluster_spec.Site(registry_mirror=REGISTRY),
        )
        made = charts.merged(values.build(cluster), switched_on)
        made = overlays.with_repository(made, self.package.values, REPOSITORY)
        made = paths.spelled(made, self.package.version)
        return [*self.helm.render("r", "n", str(self.chart), made, hooks=True)]

    def foreign(self, objects: list[Any]) -> dict[str, list[str]]:
        """Names of objects that name other hosts, and these."""
        found = {
            f"{item['kind']} {item['metadata']['name']}": sorted(
                set(hosts(item)) - ALLOWED
            )
            for item in objects
        }
        return {name: others for name, others in found.items() if others}

    def test_a_cluster_names_no_other_host(self) -> None:
        for cni in ("calico", "cilium"):
            self.assertEqual({}, self.foreign(self.render(cni, {})))

    def test_a_cluster_with_all_addons_names_no_other_host(self) -> None:
        objects = self.render("calico", EVERYTHING)
        self.assertEqual({}, self.foreign(objects))
        self.assertNotIn("GitRepository", {each["kind"] for each in objects})

    def test_all_addons_are_all_that_the_chart_has(self) -> None:
        on = {each["spec"]["chart"]["name"] for each in self.releases()}
        known = {
            each.name
            for each in mirroring.contents(
                self.helm, str(self.chart), {}, everything=True
            ).addons
        }
        # One network, one ingress controller; and the driver's own for NFS.
        self.assertLessEqual(
            known - on, {"cilium", "ingress-nginx", "csi-driver-nfs"}
        )

    def test_without_the_mirrors_there_are_many(self) -> None:
        cluster = specs.cluster()
        made = charts.merged(values.build(cluster), EVERYTHING)
        objects = self.helm.render("r", "n", str(self.chart), made)
        found = {each for item in objects for each in hosts(item)}
        for host in (
            "github.com",
            "helm.ngc.nvidia.com",
            "quay.io",
            "registry.k8s.io",
        ):
            self.assertIn(host, found)

    def releases(self) -> list[Any]:
        objects = self.render("calico", EVERYTHING)
        return [each for each in objects if each["kind"] == "HelmRelease"]
