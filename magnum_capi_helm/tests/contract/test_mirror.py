"""A mirror of addon charts, made by the real helm and read by it again."""

from collections.abc import Iterator
import contextlib
import functools
from http import server
import os
import pathlib
import threading
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm.chart import overlays
from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client
from magnum_capi_helm.helm import mirroring
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.fakes import chart as fake_chart

POD = b"""
apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}}
spec:
  containers:
    - name: main
      image: quay.io/addons/{{ .Chart.Name }}:{{ .Values.tag }}
---
apiVersion: v1
kind: Pod
metadata:
  name: before
  annotations: {helm.sh/hook: pre-install}
spec: {containers: [{name: hook, image: busybox}]}
"""


class Quiet(server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""


@contextlib.contextmanager
def served(directory: pathlib.Path) -> Iterator[str]:
    """The URL of a directory, as a repository."""
    handler = functools.partial(Quiet, directory=str(directory))
    with server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


class MirrorTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        path = pathlib.Path(rendering.find_helm()).parent
        self.useFixture(
            fixtures.EnvironmentVariable(
                "PATH", f"{path}{os.pathsep}{os.environ['PATH']}"
            )
        )
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.helm = client.Helm("", 60)
        self.store = charts.Store(str(self.home / "store"), self.helm)
        self.upstream = self.home / "upstream"
        self.mirror = self.home / "mirror"
        for each in (self.upstream, self.mirror):
            each.mkdir()

    def chart(self) -> str:
        """The lab's chart, by way of the store."""
        source = cluster_spec.Chart(str(rendering.CHART), "0.27.0", "")
        return self.store.ensure(source)

    def publish(self, name: str, version: str) -> None:
        about = f"{{apiVersion: v2, name: {name}, version: {version}}}"
        packed = fake_chart.archive(
            {
                f"{name}/Chart.yaml": about.encode(),
                f"{name}/values.yaml": b"tag: v1",
                f"{name}/templates/pod.yaml": POD,
            }
        )
        (self.upstream / f"{name}-{version}.tgz").write_bytes(packed)
        self.helm.index(str(self.upstream))

    def test_what_is_mirrored_can_be_installed_from(self) -> None:
        self.publish("tigera-operator", "v3.31.5")
        chart = self.chart()
        defaults = charts.read(chart).values
        fetched, missing = set(), set()
        images: set[str] = set()
        with served(self.upstream) as url:
            values = overlays.with_repository({}, defaults, url)
            found = mirroring.contents(
                self.helm, chart, values, everything=False
            )
            for addon in found.addons:
                try:
                    file = mirroring.fetch(self.helm, addon, self.mirror)
                except errors.ChartUnavailable:
                    missing.add(addon.name)
                    continue
                fetched.add(addon.name)
                images |= mirroring.images_of(self.helm, addon, file)
        mirroring.finish(self.helm, images | found.images, self.mirror)
        self.assertEqual({"tigera-operator"}, fetched)
        self.assertIn("etcd-defrag", missing)
        self.assertEqual(
            [
                "docker.io/library/busybox:latest",
                "quay.io/addons/tigera-operator:v1",
                "registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.4",
            ],
            (self.mirror / "images.txt").read_text().splitlines(),
        )
        (self.home / "again").mkdir()
        with served(self.mirror) as url:
            self.helm.pull(
                "tigera-operator", "v3.31.5", url, str(self.home / "again")
            )
        self.assertTrue(
            (self.home / "again" / "tigera-operator-v3.31.5.tgz").exists()
        )

    def test_a_packaged_directory_renders_as_the_directory_does(self) -> None:
        values = rendering.load_values("rich")
        plain, packed = (
            self.helm.render("rel", "n", chart, values)
            for chart in (str(rendering.CHART), self.chart())
        )
        self.assertEqual(plain, packed)

    def test_defaults_are_what_helm_itself_takes(self) -> None:
        chart = self.chart()
        values = rendering.load_values("plain")
        defaults = charts.read(chart).values
        whole = charts.merged(defaults, values, keep_nulls=True)
        self.assertEqual(
            self.helm.render("rel", "n", chart, values),
            self.helm.render("rel", "n", chart, whole),
        )
