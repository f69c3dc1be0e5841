# SPDX-License-Identifier: Apache-2.0
"""Charts in a private OCI registry, behind a login of helm's own."""

from __future__ import annotations

from collections.abc import Mapping
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

import fixtures
from oslotest import base

from magnum_capi_helm.helm import charts
from magnum_capi_helm.helm import client
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.unit.delivery import pki

_USER = "magnum"
_PASSWORD = "correct horse"
#: As ``htpasswd -B`` writes it; the registry takes bcrypt alone.
_HTPASSWD = (
    f"{_USER}:$2b$04$NVyW/MbQJgx9AvzyQnHoGOVUv9y2k.GGhs3Dzc5yb5D3DMgPJQo7G\n"
)
_SECONDS = 30


class RegistryLoginTest(base.BaseTestCase):
    """Debian's docker-registry, the real helm, and the lab's chart."""

    def setUp(self) -> None:
        super().setUp()
        program = shutil.which("docker-registry")
        if program is None:
            self.skipTest(
                "no docker-registry on the PATH: it is in Debian's package "
                "docker-registry"
            )
        self.helm = rendering.find_helm()
        folder = pathlib.Path(self.helm).parent
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        self.useFixture(fixtures.EnvironmentVariable("PATH", path))
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        authority = self.home / "ca.pem"
        authority.write_text(pki.trusted().pem)
        for name, value in (
            ("HOME", str(self.home)),
            ("SSL_CERT_FILE", str(authority)),
            ("XDG_CONFIG_HOME", None),
            ("HELM_CONFIG_HOME", None),
            ("HELM_REGISTRY_CONFIG", None),
            ("DOCKER_CONFIG", None),
        ):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.server = self._start(program)
        self._publish()

    def _start(self, program: str) -> str:
        """Run the registry; its host and port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            server = f"127.0.0.1:{free.getsockname()[1]}"
        certificate, key = pki.trusted().signed("registry", host=True)
        for name, text in (
            ("registry.crt", certificate),
            ("registry.key", key),
            ("htpasswd", _HTPASSWD),
        ):
            (self.home / name).write_text(text)
        options = {
            "version": "0.1",
            "storage": {
                "filesystem": {"rootdirectory": str(self.home / "data")}
            },
            "http": {
                "addr": server,
                "tls": {
                    "certificate": str(self.home / "registry.crt"),
                    "key": str(self.home / "registry.key"),
                },
            },
            "auth": {
                "htpasswd": {
                    "realm": "charts",
                    "path": str(self.home / "htpasswd"),
                }
            },
        }
        # YAML is what it reads, and JSON is YAML.
        config = self.home / "registry.yml"
        config.write_text(json.dumps(options))
        with (self.home / "registry.log").open("wb") as log:
            process = subprocess.Popen(
                [program, "serve", str(config)], stdout=log, stderr=log
            )
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.terminate)
        give_up = time.monotonic() + _SECONDS
        with socket.socket() as tried:
            while tried.connect_ex(("127.0.0.1", _port(server))):
                if process.poll() is not None or time.monotonic() > give_up:
                    self.fail((self.home / "registry.log").read_text())
                time.sleep(0.05)
        return server

    def _publish(self) -> None:
        """Log in as an operator does, and push the lab's chart."""
        self.run_helm(
            "registry",
            "login",
            self.server,
            "--username",
            _USER,
            "--password-stdin",
            text=_PASSWORD,
        )
        self.run_helm(
            "package",
            str(rendering.CHART),
            "--version=0.27.0",
            f"--destination={self.home}",
        )
        self.run_helm(
            "push",
            str(self.home / "openstack-cluster-0.27.0.tgz"),
            f"oci://{self.server}/charts",
        )
        self.login = self.home / ".config/helm/registry/config.json"

    def run_helm(self, *words: str, text: str = "") -> None:
        """What an operator does with helm; it must end well."""
        done = subprocess.run(
            [self.helm, *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)

    def fetch(self, environment: Mapping[str, str]) -> bytes:
        """The chart of a cluster, from the registry into a new store."""
        store = self.useFixture(fixtures.TempDir()).path
        chart = cluster_spec.Chart(
            f"oci://{self.server}/charts/openstack-cluster", "0.27.0", ""
        )
        for name, value in environment.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        path = charts.Store(store, client.Helm("", 60)).ensure(chart)
        return pathlib.Path(path).read_bytes()

    def test_the_registry_lets_nobody_in_without_a_login(self) -> None:
        error = self.assertRaises(
            urllib.error.HTTPError,
            urllib.request.urlopen,
            f"https://{self.server}/v2/",
            timeout=_SECONDS,
        )
        self.assertEqual(401, error.code)
        self.login.unlink()
        refused = str(
            self.assertRaises(errors.ChartUnavailable, self.fetch, {})
        )
        self.assertIn("basic credential not found", refused)
        self.assertIn("helm registry login", refused)

    def test_a_login_of_magnum_conductors_user_counts(self) -> None:
        published = self.home / "openstack-cluster-0.27.0.tgz"
        self.assertEqual(published.read_bytes(), self.fetch({}))

    def test_a_login_in_a_file_of_another_place_counts(self) -> None:
        elsewhere = self.home / "registry.json"
        self.login.rename(elsewhere)
        published = self.home / "openstack-cluster-0.27.0.tgz"
        self.assertEqual(
            published.read_bytes(),
            self.fetch({"HELM_REGISTRY_CONFIG": str(elsewhere)}),
        )


def _port(server: str) -> int:
    return int(server.rpartition(":")[2])
