# SPDX-License-Identifier: Apache-2.0

"""Access rules of a cluster's credential: what they let CAPO do."""

from __future__ import annotations

import base64
import pathlib
import subprocess
from typing import Any

import fixtures
import openstack.config
import openstack.connection
import yaml

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

#: Services of a cluster, and the first part of their paths. Where Cinder's
#: type is volumev3, rules name that. CAPO asks for Octavia's /v2.0, and the
#: driver for /v2.
_SERVICES = {
    "compute": "/v2.1/**",
    "network": "/v2.0/**",
    "image": "/v2/**",
    "block-storage": "/v3/**",
    "load-balancer": "/v2**",
}
#: Services that no rule names.
_FORBIDDEN = {
    "container-infra": "/clusters",
    "identity": "/projects",
    "key-manager": "/v1/secrets",
}
_METHODS = ("GET", "POST", "PUT", "DELETE")
#: Else CAPO asks Keystone how long its token is valid (``ExtractToken`` in
#: ``pkg/scope/provider.go`` of 0.14.6), and Keystone answers 404 to clients
#: that do not know access rules.
_NO_CACHE = "--scope-cache-max-size=0"


class AccessRulesTest(base.LabCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def test_a_cluster_lives_with_the_documented_rules(self) -> None:
        rules = [
            {"service": service, "method": method, "path": path}
            for service, path in _SERVICES.items()
            for method in _METHODS
        ]
        path = self.folder / "rules.yaml"
        path.write_text(yaml.safe_dump(rules))
        self.configure(app_cred_access_rules=str(path))
        self._run_capo_without_cache()
        cluster = self.cluster(self.template())
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"], str(done))
        mine = self._use(str(done["stack_id"]))
        self.assertTrue(list(mine.compute.servers()))
        for service, url in _FORBIDDEN.items():
            answer = mine.session.get(
                url,
                endpoint_filter={"service_type": service},
                raise_exc=False,
            )
            self.assertEqual(401, answer.status_code, service)

    def _use(self, release: str) -> Any:
        """Return a client that logs in as CAPO does for a cluster."""
        secret = self.plane.get(
            kinds.SECRET, self.namespace, f"{release}-cloud-credentials"
        )
        assert secret is not None
        path = self.folder / "clouds.yaml"
        path.write_bytes(base64.b64decode(secret["data"]["clouds.yaml"]))
        (name,) = yaml.safe_load(path.read_text())["clouds"]
        config = openstack.config.OpenStackConfig(config_files=[str(path)])
        return openstack.connection.Connection(config=config.get_one(name))

    def _run_capo_without_cache(self) -> None:
        """Run CAPO as the guide says for access rules, until the test ends."""
        record = programs.LAB / "run" / "capo.pid"
        process = record.read_text().split()[0]
        line = pathlib.Path("/proc", process, "cmdline").read_bytes()
        words = [*line.rstrip(b"\0").split(b"\0"), _NO_CACHE.encode()]
        programs.lab("stop", "capo")
        self.addCleanup(programs.lab, "up")
        log = (programs.LAB / "log" / "capo-without-cache.log").open("wb")
        self.addCleanup(log.close)
        running = subprocess.Popen(words, stdout=log, stderr=log)
        self.addCleanup(running.wait)
        self.addCleanup(running.terminate)
