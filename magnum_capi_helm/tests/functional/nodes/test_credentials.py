# SPDX-License-Identifier: Apache-2.0

"""Tokens of users, the credential of a cluster, and its end.

The cloud controller manager is real: load balancers come and go as it makes
them. Cinder's CSI driver can't be had, so a volume with the metadata that the
driver writes stands for one of a claim.
"""

from __future__ import annotations

import contextlib
import pathlib
import time
from typing import Any

import fixtures
from keystoneauth1 import exceptions as ka_exceptions
from keystoneauth1.identity import v3
import requests

from lab.demo import workload
from lab.nodes import mode
from lab.nodes import programs as node_programs
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import people
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import project
from magnum_capi_helm.tests.functional.nodes import base
from magnum_capi_helm.tests.functional.nodes import issuer

_CLIENT = "kubernetes"
_PODS = "/api/v1/namespaces/default/pods"
_SECRETS = "/api/v1/namespaces/default/secrets"
_SYSTEM = "/api/v1/namespaces/kube-system/pods"
_CONTROLLERS = "--namespace=openstack-system"
_KEEP = {"janitor.capi.azimuth-cloud.com/keep": "true"}
_AGAIN = """\
apiVersion: v1
kind: Service
metadata: {name: again}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
"""


class CredentialsTest(base.NodesCase):
    """One cluster for all: making one takes most of the time."""

    record_name = "nodes-credentials"

    def setUp(self) -> None:
        super().setUp()
        node_programs.build(print, node_programs.CLIENTS)
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.issuer = issuer.Issuer(mode.ADDRESS, folder)
        self.addCleanup(self.issuer.close)
        self.keystone = people.Keystone()

    def test_tokens_rotation_and_deletion(self) -> None:
        self.make(node_count=1)
        self.record("a cluster with one worker is complete")
        # Without its webhook the API server answers 500 instead of 403.
        self.tokens_of_keystone_are_accepted()
        self.kubectl_logs_in_with_keystone()
        self.tokens_of_the_issuer_are_accepted()
        self.a_rotated_credential_makes_load_balancers()
        self.a_deletion_leaves_nothing()

    def template(self, **fields: Any) -> str:
        """The UUID of a new template, whose machines trust the issuer."""
        trusted = {"trustedCAs": {"issuer": self.issuer.authority}}
        labels = {
            "capi_helm_values_profiles": self.profile(trusted),
            "keystone_auth_enabled": "true",
            "oidc_issuer_url": self.issuer.url,
            "oidc_client_id": _CLIENT,
            "oidc_groups_claim": "roles",
            "reloader_enabled": "false",
            "volumes_policy": "delete",
        }
        return super().template(**{"labels": labels, **fields})

    # OpenID Connect

    def tokens_of_the_issuer_are_accepted(self) -> None:
        """Those for this client alone, that are valid, with its key."""
        usual: dict[str, Any] = {
            "sub": "alice",
            "aud": _CLIENT,
            "roles": ["oncall"],
        }
        api, good = self.api(), self.issuer.token(**usual)
        # The API server asks the issuer for its keys in the background.
        self.until(lambda: api.who(good)[0] == 201, 60, "no token is taken")
        _, user = api.who(good)
        self.assertEqual("oidc:alice", user["username"])
        self.assertEqual(
            ["oidc:oncall", "system:authenticated"], user["groups"]
        )
        now = int(time.time())
        for why, token in {
            "audience": self.issuer.token(**{**usual, "aud": "other"}),
            "expired": self.issuer.token(**usual, exp=now - 60),
            "issuer": self.issuer.token(**usual, iss=f"{self.issuer.url}/a"),
            "key": self.issuer.token(issuer.rsa_key(), **usual),
            "user": self.issuer.token(aud=_CLIENT),
            "text": good[:-8],
        }.items():
            self.assertEqual((why, 401), (why, api.who(token)[0]))

        self.assertEqual(403, api.call(_PODS, token=good).status_code)
        # As the guide grants permissions.
        self.kubectl(
            *("create", "clusterrolebinding", "oncall"),
            *("--clusterrole", "view", "--group", "oidc:oncall"),
        )
        self.until(lambda: api.call(_PODS, token=good).status_code == 200, 30)
        self.assertEqual(403, api.call(_SECRETS, token=good).status_code)
        config, given = self.shared_kubeconfig("issuer"), {"OS_TOKEN": good}
        self.assertEqual("", refusal(config, "pods", given))
        self.assertIn("Forbidden", refusal(config, "secrets", given))
        stranger = self.issuer.token(**{**usual, "roles": []})
        self.assertEqual(403, api.call(_PODS, token=stranger).status_code)
        self.record("a token of an issuer is accepted, six others get 401")

    # Keystone

    def tokens_of_keystone_are_accepted(self) -> None:
        """Roles in the cluster's project decide, by the chart's policy."""
        daemons = "daemonset/k8s-keystone-auth"
        self.until(lambda: self.system_can("get", daemons), 300, daemons)
        self.until(
            lambda: self.system_can(
                "rollout", "status", daemons, "--timeout=10s"
            ),
            300,
            daemons,
        )
        api = self.api()
        viewer = self.token_of("k8s_viewer")
        self.until(lambda: api.who(viewer)[0] == 201, 60, "no token is taken")
        _, user = api.who(viewer)
        self.assertEqual(
            ["k8s_viewer"], user["extra"]["alpha.kubernetes.io/identity/roles"]
        )
        administrator, member = map(self.token_of, ("k8s_admin", "member"))
        stranger = str(magnum_api.keystone_session("other").get_token())
        paths = (_PODS, _SECRETS, _SYSTEM)
        self.assertEqual(
            {
                "viewer": [200, 403, 403],
                "administrator": [200, 200, 200],
                "member": [403, 403, 403],
                "stranger": [403, 403, 403],
                "nobody": [401, 401, 401],
            },
            {
                who: [
                    api.call(path, token=token).status_code for path in paths
                ]
                for who, token in {
                    "viewer": viewer,
                    "administrator": administrator,
                    "member": member,
                    "stranger": stranger,
                    "nobody": "gAAAAAB",
                }.items()
            },
        )
        self.record(
            "tokens of Keystone: the roles k8s_viewer and k8s_admin have "
            "their rights, other roles and another project none"
        )

    def system_can(self, *words: str) -> bool:
        """Return whether a command of kubectl succeeds in kube-system."""
        with contextlib.suppress(AssertionError):
            self.kubectl("--namespace=kube-system", *words)
            return True
        return False

    def token_of(self, role: str) -> str:
        """Return a token of a new user with a role in the project."""
        return self.token(self.user_with(role))

    def user_with(self, role: str) -> str:
        """Return the id of a new user with a role in the project."""
        with contextlib.suppress(ka_exceptions.Conflict):
            # A role of no domain, unless it is there.
            role_id = self.keystone.post("role", name=role, domain_id=None)
            self.addCleanup(self.keystone.delete, f"/roles/{role_id}")
        made = self.keystone.post(
            "user", name=self.unique("user"), password=people.PASSWORD
        )
        self.addCleanup(self.keystone.delete, f"/users/{made}")
        self.keystone.put(self.assignment(made, role))
        return made

    def assignment(self, user: str, role: str) -> str:
        """Return the path of a user's role in the project."""
        project_id = self.magnum.session.get_project_id()
        return (
            f"/projects/{project_id}/users/{user}/roles/"
            f"{self.keystone.role(role)}"
        )

    def token(self, user: str) -> str:
        """Return a token of a user for the project."""
        found = people.magnum(
            v3.Password(
                auth_url=magnum_api.KEYSTONE,
                user_id=user,
                password=people.PASSWORD,
                project_id=self.magnum.session.get_project_id(),
            )
        )
        return str(found.session.get_token())

    def kubectl_logs_in_with_keystone(self) -> None:
        """Both ways of the guide, and the end of each."""
        user = self.user_with("k8s_viewer")
        token = self.token(user)
        config = self.shared_kubeconfig("keystone")
        self.assertNotIn("client-", config.read_text())
        given = {"OS_TOKEN": token}
        self.assertEqual("", refusal(config, "pods", given))
        self.assertIn("Forbidden", refusal(config, "secrets", given))
        requests.delete(
            f"{magnum_api.KEYSTONE}/auth/tokens",
            headers={"X-Auth-Token": token, "X-Subject-Token": token},
            timeout=30,
        ).raise_for_status()
        began = time.monotonic()
        last = self.until(lambda: refusal(config, "pods", given), 300)
        self.assertIn("must be logged in", last)
        self.record(
            "kubectl without a certificate: a revoked token is refused after "
            f"{time.monotonic() - began:.0f} s"
        )
        self.plugin_logs_in(config, user)

    def plugin_logs_in(self, config: pathlib.Path, user: str) -> None:
        """``client-keystone-auth``, until its user loses the role."""
        plugin = node_programs.BIN / node_programs.CLIENTS[0].path
        programs.kubectl(
            config,
            *("config", "set-credentials", "keystone"),
            f"--exec-command={plugin}",
            "--exec-api-version=client.authentication.k8s.io/v1beta1",
            "--exec-interactive-mode=Never",
        )
        programs.kubectl(
            config, "config", "set-context", "--current", "--user=keystone"
        )
        given = {
            "OS_AUTH_URL": magnum_api.KEYSTONE,
            "OS_USER_ID": user,
            "OS_PASSWORD": people.PASSWORD,
            "OS_PROJECT_ID": str(self.magnum.session.get_project_id()),
        }
        self.assertEqual("", refusal(config, "pods", given))
        self.assertIn("Forbidden", refusal(config, "secrets", given))
        self.keystone.delete(self.assignment(user, "k8s_viewer"))
        self.assertIn(
            "Invalid user credentials", refusal(config, "pods", given)
        )
        self.record("client-keystone-auth logs in, until the role is gone")

    def shared_kubeconfig(self, name: str) -> pathlib.Path:
        """``openstack coe cluster config --use-keystone``, in a new folder."""
        folder = self.kubeconfig.with_name(name)
        folder.mkdir()
        words = ("coe", "cluster", "config", self.uuid, "--use-keystone")
        programs.openstack(*words, "--dir", str(folder))
        return folder / "config"

    # The credential

    def a_rotated_credential_makes_load_balancers(self) -> None:
        """After the guide's restart, the old credential is of no use."""
        served = self.serve()
        served.take()
        old = self.in_the_cluster()
        programs.openstack("coe", "credential", "rotate", self.uuid)
        self.until(lambda: self.in_the_cluster() != old, 120, "same copy")
        self.kubectl(
            *(_CONTROLLERS, "rollout", "restart", "deployment,daemonset")
        )
        self.kubectl(
            *(_CONTROLLERS, "rollout", "status", "--timeout=300s"),
            "daemonset/openstack-cloud-controller-manager",
        )
        owner = people.user_of(old)
        path = f"/users/{owner}/application_credentials/{old[0]}"
        self.magnum.session.delete(f"{magnum_api.KEYSTONE}{path}")
        self.assertRaises(ka_exceptions.NotFound, people.user_of, old)
        self.apply(_AGAIN)
        address = workload.address(str(self.kubeconfig), "again")
        self.until(lambda: answers(address), 120, address)
        self.record(
            "the credential is rotated, the old one deleted: a new Service "
            f"gets a load balancer; requests to the old one: {served.take()}"
        )
        served.stop()
        self.until_health(self.uuid, "HEALTHY")

    def in_the_cluster(self) -> tuple[str, str]:
        """Return ID and secret that the controllers in the cluster have."""
        found = self.get("secret", "cloud-config", _CONTROLLERS)
        return people.login(found["data"]["clouds.yaml"])

    # The end

    def a_deletion_leaves_nothing(self) -> None:
        """Load balancers of Services, and volumes of claims, go as well."""
        mine = project.Project(self)
        claimed = mine.volume(self.release)
        kept = mine.volume(self.release, **_KEEP)
        left = self.left_of(self.release)
        services = [
            each for each in left if f"_service_{self.release}" in each
        ]
        self.assertEqual(
            2,
            len([one for one in services if one.startswith("load balancers")]),
            str(services),
        )
        began = time.monotonic()
        self.delete(self.uuid)
        self.record(
            f"deleted in {time.monotonic() - began:.0f} s, with two load "
            "balancers of Services and a volume"
        )
        self.assertFalse(mine.there(*project.VOLUMES, claimed))
        self.assertTrue(mine.there(*project.VOLUMES, kept))
        self.assert_all_gone(self.release, but=[kept["id"]])
        self.assertEqual([], self.credentials_of(self.uuid))
        self.record("nothing is left but a volume that is marked to be kept")


def answers(address: str) -> bool:
    """Return whether the workload answers at an address."""
    try:
        url = f"http://{address}/hostname"
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


def refusal(config: pathlib.Path, kind: str, env: dict[str, str]) -> str:
    """Return why ``kubectl get`` is refused; empty: it is not.

    :param env: of the plugin that the kubeconfig names
    """
    try:
        programs.kubectl(config, "get", kind, env=env)
    except AssertionError as error:
        return str(error)
    return ""
