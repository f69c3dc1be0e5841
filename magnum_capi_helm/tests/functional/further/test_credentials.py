# SPDX-License-Identifier: Apache-2.0

"""Credentials of clusters: who may make, rotate and delete them.

Users and projects are taken away under living clusters: they are the test's
own.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
import functools
import json
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions
import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import people
from magnum_capi_helm.tests.functional import programs


class RotationTest(people.PeopleCase):
    """One cluster, from user to user, until nobody of them is left."""

    def test_a_cluster_outlives_its_users(self) -> None:
        first, second = self.user(), self.user(by_group=True)
        template = self.shared_template()
        owner, heir = self.as_user(first), self.as_user(second)
        self.keypair(owner, "key-of-a-cluster")
        cluster = self.cluster(template, owner, keypair="key-of-a-cluster")
        self.until_status(cluster, ("CREATE_COMPLETE",))
        found = self.admin_view(cluster)
        before = self.in_use(found)

        self._refused_with_another_key(cluster, heir)
        self.assertEqual(before, self.in_use(found))
        people.nova(heir).delete("/os-keypairs/key-of-a-cluster")

        self._by_application_credentials(cluster, first)
        heir.rotate(cluster)
        self.assertEqual(self.keypairs(owner), self.keypairs(heir))
        self.assertEqual(second, self.admin_view(cluster)["user_id"])
        after = self.in_use(found)
        self.assertEqual(3, len(self.keystone.credentials(cluster)))
        inside = self.workload(found)
        self.until(lambda: inside() == after, 60, "copy in the cluster")

        # The owner so far leaves: nothing of the cluster was his.
        self.keystone.delete(f"/users/{first}")
        self.assertIn(after[0], self.keystone.credentials(cluster))
        self.assertEqual(second, people.user_of(after))
        admin, self.magnum = self.magnum, heir
        self.resize(cluster, 2)
        self.magnum = admin

        self.until(lambda: self._disabled(second, after), 30, "disabled")
        self.until(lambda: self.refused(cluster), 150, "a dead credential")
        third = self._replaced_of_a_living_cluster(cluster, second)
        self._replaced_of_a_deletion(cluster, third)

    def _by_application_credentials(self, cluster: str, owner: str) -> None:
        """An unrestricted one rotates, and a restricted one does not."""
        made = self.keystone.credentials(cluster)
        self.as_credential(owner, True).rotate(cluster)
        before = self.keystone.credentials(cluster)
        self.assertLess(len(made), len(before))
        refusal = self.assertRaises(
            ka_exceptions.BadRequest,
            self.as_credential(owner, False).rotate,
            cluster,
        )
        self.assertIn("--unrestricted", refusal.message)
        self.assertEqual(before, self.keystone.credentials(cluster))

    def _disabled(self, user: str, credential: tuple[str, str]) -> bool:
        """Disable a user, and return whether Keystone refuses the credential.

        Keystone may cache the user as another request has just read it. The
        next change drops that from the cache.
        """
        self.keystone.disable(user)
        try:
            people.user_of(credential)
        except ka_exceptions.Unauthorized:
            return True
        return False

    def _replaced_of_a_living_cluster(self, cluster: str, owner: str) -> str:
        """An operator replaces the credential; return the new owner."""
        found = self.admin_view(cluster)
        before = self.in_use(found)
        heir, dead = self.user(), (cluster, "--invalid")
        self.keystone.delete(f"/users/{owner}")
        self.assertRaises(ka_exceptions.NotFound, people.user_of, before)
        stranger = self.keystone.post(
            "user", name=self.unique("user"), password=people.PASSWORD
        )
        self.addCleanup(self.keystone.delete, f"/users/{stranger}")
        result, why = self.replace(stranger, *dead)
        self.assertEqual("refused", result)
        self.assertIn("log in as a user who has a role in it", why)
        result, what = self.replace(heir, *dead)
        self.assertEqual("would change", result)
        self.assertIn(f"a new one of user {heir} (member, reader)", what)
        self.assertEqual(before, self.in_use(found))

        self.assertEqual("changed", self.replace(heir, *dead, "--apply")[0])
        after = self.in_use(found)
        self.assertEqual(heir, people.user_of(after))
        self.assertEqual(heir, self.admin_view(cluster)["user_id"])
        works = ("nothing to do", "the credential works")
        self.assertEqual(works, self.replace(heir, *dead, "--apply"))
        self.assertEqual(after, self.in_use(found))
        return heir

    def _replaced_of_a_deletion(self, cluster: str, owner: str) -> None:
        """CAPO deletes nothing until it has a credential again."""
        found, heir = self.admin_view(cluster), self.user()
        release = found["stack_id"]
        self.keystone.delete(f"/users/{owner}")
        self.magnum.call("DELETE", f"/clusters/{cluster}")
        self.until_reason(cluster, f"user {owner} is deleted")
        self.until_reason(cluster, f"cluster credentials {cluster}")
        servers = [
            each
            for each in self.openstack.left_of(release)
            if each.startswith("servers")
        ]
        self.assertEqual(3, len(servers), str(servers))

        dead = (cluster, "--invalid", "--apply")
        self.assertEqual("changed", self.replace(heir, *dead)[0])
        self.assertEqual(heir, people.user_of(self.in_use(found)))
        self.assertEqual("nothing to do", self.replace(heir, *dead)[0])
        self.until(lambda: "is deleted" not in self.reason(cluster), 60)
        self.look_at_all(release)
        self.leaves_nothing(cluster, release)

    def _refused_with_another_key(
        self, cluster: str, heir: magnum_api.Magnum
    ) -> None:
        """Another key of that name would be in no machine so far."""
        self.keypair(heir, "key-of-a-cluster")
        refusal = self.assertRaises(
            ka_exceptions.BadRequest, heir.rotate, cluster
        )
        self.assertIn("your keypair is not the cluster's", refusal.message)

    def refused(self, cluster: str) -> bool:
        """Whether the health says that the credential is dead."""
        found = self.admin_view(cluster)
        reason = (found["health_status_reason"] or {}).get("credential", "")
        return (
            found["health_status"] == "UNHEALTHY"
            and "openstack coe credential rotate" in reason
        )

    def workload(
        self, cluster: dict[str, Any]
    ) -> Callable[[], tuple[str, str] | None]:
        """Gives the credential that controllers in the cluster see."""
        name = f"{cluster['stack_id']}-kubeconfig"
        secret = self.plane.get(kinds.SECRET, self.namespace, name)
        assert secret is not None
        text = base64.b64decode(secret["data"]["value"]).decode()
        [path] = self.create_tempfiles([("kubeconfig", text)])
        inside = client.Client(
            lambda: connection.Connection(path, (3.05, 10.0))
        )

        def read() -> tuple[str, str] | None:
            found = inside.get(
                kinds.SECRET, "openstack-system", "cloud-config"
            )
            return (
                people.login(found["data"]["clouds.yaml"]) if found else None
            )

        return read

    def replace(self, user: str, *words: str) -> tuple[str, str]:
        """Result and detail of the one line that it prints."""
        auth = {
            "auth_url": magnum_api.KEYSTONE,
            "user_id": user,
            "password": people.PASSWORD,
        }
        clouds = yaml.safe_dump({"clouds": {"someone": {"auth": auth}}})
        [path] = self.create_tempfiles([("clouds", clouds)], ".yaml")
        done = programs.completed(
            *("cluster", "credentials", "--os-cloud", "someone"),
            *("-f", "json", *words),
            env={"OS_CLIENT_CONFIG_FILE": path},
        )
        self.assertTrue(done.stdout, done.stderr)
        [line] = json.loads(done.stdout)
        self.assertEqual(line["Result"] == "refused", bool(done.returncode))
        self.assertNotIn(people.PASSWORD, done.stdout + done.stderr)
        return line["Result"], line["Detail"]


class CallersTest(people.PeopleCase):
    """Who may do what: the table in the administrator's guide."""

    def test_each_kind_of_token(self) -> None:
        template = self.shared_template()
        user, by_group = self.user(), self.user(by_group=True)
        restricted = self.as_credential(user, False)
        for name, magnum in (
            ("password", self.as_user(user)),
            ("unrestricted", self.as_credential(user, True)),
            ("roles by a group", self.as_user(by_group)),
        ):
            cluster = self.cluster(template, magnum)
            self.until(
                functools.partial(self.keystone.credentials, cluster), 60, name
            )
            # To delete needs no new credential.
            restricted.call("DELETE", f"/clusters/{cluster}")
            self.until(functools.partial(self.gone, cluster), 360)
            self.assertEqual([], self.keystone.credentials(cluster))
