# SPDX-License-Identifier: Apache-2.0

"""A cluster's credential: what it lets CAPO do, and what it does not."""

from __future__ import annotations

import base64
from collections.abc import Callable
import pathlib
import subprocess
from typing import Any

import fixtures
from openstack import exceptions as sdk_exceptions
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


class CredentialCase(base.LabCase):
    def use(self, release: str) -> Any:
        """Return a client that logs in as CAPO does for a cluster."""
        secret = self.plane.get(
            kinds.SECRET, self.namespace, f"{release}-cloud-credentials"
        )
        assert secret is not None
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / "clouds.yaml"
        path.write_bytes(base64.b64decode(secret["data"]["clouds.yaml"]))
        (name,) = yaml.safe_load(path.read_text())["clouds"]
        config = openstack.config.OpenStackConfig(config_files=[str(path)])
        return openstack.connection.Connection(config=config.get_one(name))

    def complete(self, **fields: Any) -> str:
        """Make a cluster, and return its release."""
        cluster = self.cluster(self.template(**fields))
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"], str(done))
        return str(done["stack_id"])

    def assert_refused(self, requests: dict[str, Callable[[], Any]]) -> None:
        """Check that OpenStack refuses each request with 401, 403 or 404."""
        for name, request in requests.items():
            with self.subTest(name):
                error = self.assertRaises(
                    sdk_exceptions.HttpException, request
                )
                self.assertIn(error.status_code, (401, 403, 404), name)


class RightsTest(CredentialCase):
    def test_it_can_do_what_capo_does_and_no_more(self) -> None:
        release = self.complete()
        mine = self.use(release)
        servers = [
            each.name
            for each in mine.compute.servers()
            if each.name.startswith(release)
        ]
        self.assertEqual(2, len(servers))
        group = mine.network.create_security_group(name=self.unique("mine"))
        mine.network.delete_security_group(group)
        [balancer] = [
            each
            for each in mine.load_balancer.load_balancers()
            if release in each.name
        ]
        self.assertEqual("ACTIVE", balancer.provisioning_status)
        self.assert_refused(_foreign(mine))


def _foreign(mine: Any) -> dict[str, Callable[[], Any]]:
    """Return requests of which none belongs to a cluster."""
    user, project = mine.current_user_id, mine.current_project_id
    return {
        "a credential": lambda: mine.identity.create_application_credential(
            user, "another"
        ),
        "a trust": lambda: mine.identity.create_trust(
            trustor_user_id=user,
            trustee_user_id=user,
            project_id=project,
            impersonation=True,
            roles=[{"name": "member"}],
        ),
        "users": lambda: list(mine.identity.users()),
        "a role": lambda: mine.identity.create_role(name="another"),
        "all servers": lambda: list(mine.compute.servers(all_projects=True)),
        "Nova's quota": lambda: mine.compute.update_quota_set(
            project, instances=1000
        ),
        "Neutron's quota": lambda: mine.network.update_quota(
            project, networks=1000
        ),
        "Octavia's quota": lambda: mine.load_balancer.update_quota(
            project, load_balancers=1000
        ),
        "an external network": lambda: mine.network.create_network(
            is_router_external=True
        ),
        "a flavor": lambda: mine.compute.create_flavor(
            name="another", ram=1, vcpus=1, disk=1
        ),
        "a volume type": lambda: mine.block_storage.create_type(
            name="another"
        ),
    }


class AccessRulesTest(CredentialCase):
    def test_a_cluster_lives_with_the_documented_rules(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        rules = [
            {"service": service, "method": method, "path": path}
            for service, path in _SERVICES.items()
            for method in _METHODS
        ]
        (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
        self.configure(app_cred_access_rules=str(folder / "rules.yaml"))
        self._run_capo_without_cache()
        release = self.complete()
        mine = self.use(release)
        self.assertTrue(list(mine.compute.servers()))
        for service, path in _FORBIDDEN.items():
            answer = mine.session.get(
                path,
                endpoint_filter={"service_type": service},
                raise_exc=False,
            )
            self.assertEqual(401, answer.status_code, service)

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
