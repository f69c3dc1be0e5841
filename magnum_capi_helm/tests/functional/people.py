# SPDX-License-Identifier: Apache-2.0

"""Users and projects of Keystone that a test makes for itself."""

from __future__ import annotations

import base64
import contextlib
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions
from keystoneauth1 import session
from keystoneauth1.identity import v3
import yaml

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api

PASSWORD = "of-this-test-alone"


class Keystone:
    """Keystone for its admin."""

    def __init__(self) -> None:
        admin = magnum_api.keystone_session("admin")
        self._api = adapter.Adapter(admin, service_type="identity")

    def get(self, path: str) -> Any:
        """Return the answer for a path."""
        return self._api.get(path).json()

    def post(self, kind: str, **fields: Any) -> str:
        """Make something in the default domain; its id."""
        body = {kind: {"domain_id": "default", **fields}}
        made = self._api.post(f"/{kind}s", json=body).json()[kind]
        return str(made["id"])

    def put(self, path: str) -> None:
        """Make a relation."""
        self._api.put(path)

    def delete(self, path: str) -> None:
        """Take something away, if it is still there."""
        with contextlib.suppress(ka_exceptions.NotFound):
            self._api.delete(path)

    def disable(self, user: str) -> None:
        """Let a user in no more."""
        self._api.patch(f"/users/{user}", json={"user": {"enabled": False}})

    def role(self, name: str) -> str:
        """The id of a role."""
        return str(self.get(f"/roles?name={name}")["roles"][0]["id"])

    def credentials(self, cluster: str) -> list[str]:
        """Ids of a cluster's application credentials, whoever has them."""
        found = []
        for user in self.get("/users")["users"]:
            path = f"/users/{user['id']}/application_credentials"
            found += [
                str(each["id"])
                for each in self.get(path)["application_credentials"]
                if cluster in each["name"]
            ]
        return found


class PeopleCase(base.LabCase):
    """Users and a project of the test's own."""

    def setUp(self) -> None:
        super().setUp()
        self.keystone = Keystone()
        self.project = self.keystone.post(
            "project", name=self.unique("project")
        )
        self.addCleanup(self.keystone.delete, f"/projects/{self.project}")
        self.namespace = f"magnum-{self.project}"
        self.member = self.keystone.role("member")

    def user(self, by_group: bool = False) -> str:
        """A new member of the project, directly or by a group's role."""
        made = self.keystone.post(
            "user", name=self.unique("user"), password=PASSWORD
        )
        self.addCleanup(self.keystone.delete, f"/users/{made}")
        who = f"users/{made}"
        if by_group:
            group = self.keystone.post("group", name=self.unique("group"))
            self.addCleanup(self.keystone.delete, f"/groups/{group}")
            self.keystone.put(f"/groups/{group}/users/{made}")
            who = f"groups/{group}"
        self.keystone.put(
            f"/projects/{self.project}/{who}/roles/{self.member}"
        )
        return made

    def as_user(self, user: str) -> magnum_api.Magnum:
        """Magnum for who has logged in with a password."""
        return magnum(
            v3.Password(
                auth_url=magnum_api.KEYSTONE,
                user_id=user,
                password=PASSWORD,
                project_id=self.project,
            )
        )

    def as_credential(
        self, user: str, unrestricted: bool
    ) -> magnum_api.Magnum:
        """Magnum for who has logged in with an application credential."""
        keystone = self.as_user(user).session
        api = adapter.Adapter(keystone, service_type="identity")
        body = {
            "name": self.unique("own"),
            "unrestricted": unrestricted,
            "roles": [{"name": "member"}],
        }
        made = api.post(
            f"/users/{user}/application_credentials",
            json={"application_credential": body},
        ).json()["application_credential"]
        return magnum(
            v3.ApplicationCredential(
                auth_url=magnum_api.KEYSTONE,
                application_credential_id=made["id"],
                application_credential_secret=made["secret"],
            )
        )

    def shared_template(self, **fields: Any) -> str:
        """A template that users of any project may use."""
        self.magnum = magnum(magnum_api.keystone_session("admin").auth)
        return self.template(public=True, keypair_id=None, **fields)

    def keypair(self, magnum: magnum_api.Magnum, name: str) -> None:
        """A keypair of a user, made by Nova."""
        nova(magnum).post("/os-keypairs", json={"keypair": {"name": name}})

    def keypairs(self, magnum: magnum_api.Magnum) -> dict[str, str]:
        """Public keys of a user, by name."""
        found = nova(magnum).get("/os-keypairs").json()["keypairs"]
        return {
            each["keypair"]["name"]: each["keypair"]["public_key"]
            for each in found
        }

    def in_use(self, cluster: dict[str, Any]) -> tuple[str, str]:
        """Id and secret of a cluster's credential."""
        name = f"{cluster['stack_id']}-cloud-credentials"
        found = self.plane.get(kinds.SECRET, self.namespace, name)
        assert found is not None
        return login(found["data"]["clouds.yaml"])

    def admin_view(self, cluster: str) -> dict[str, Any]:
        """The cluster as its release's name is shown to any user."""
        found = self.magnum.find(cluster)
        assert found is not None
        return found

    def reason(self, cluster: str) -> str:
        """The ``status_reason`` of a cluster; empty where it has none."""
        return str(self.admin_view(cluster)["status_reason"] or "")

    def until_reason(self, cluster: str, phrase: str) -> None:
        """Wait until ``status_reason`` of a deletion has a phrase."""
        self.until(lambda: phrase in self.reason(cluster), 300, phrase)

    def leaves_nothing(self, cluster: str, release: str) -> None:
        """Delete a cluster, and see that nothing of it is left."""
        self.delete(cluster)
        self.assertEqual([], self.keystone.credentials(cluster))
        self.assert_all_gone(release)


def magnum(auth: Any) -> magnum_api.Magnum:
    """Magnum for who logs in like this."""
    return magnum_api.Magnum(session.Session(auth))


def nova(magnum: magnum_api.Magnum) -> adapter.Adapter:
    """Nova for the same user."""
    return adapter.Adapter(magnum.session, service_type="compute")


def login(data: str) -> tuple[str, str]:
    """Id and secret in a clouds.yaml of Kubernetes."""
    clouds = yaml.safe_load(base64.b64decode(data))
    auth = clouds["clouds"]["openstack"]["auth"]
    return (
        auth["application_credential_id"],
        auth["application_credential_secret"],
    )


def user_of(login: tuple[str, str]) -> str:
    """Whom Keystone lets in with a cluster's credential."""
    auth = v3.ApplicationCredential(
        auth_url=magnum_api.KEYSTONE,
        application_credential_id=login[0],
        application_credential_secret=login[1],
    )
    return str(session.Session(auth).get_user_id())
