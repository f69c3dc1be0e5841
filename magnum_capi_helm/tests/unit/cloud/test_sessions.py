# SPDX-License-Identifier: Apache-2.0

"""Magnum's own login, and requests of an administrator of another project."""

from __future__ import annotations

from collections.abc import Sequence
import pathlib
from typing import Any, ClassVar

from keystoneauth1 import loading
from magnum.common import context as magnum_context
from magnum.common import exception
from oslotest import base

import magnum_capi_helm
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base as flows
from magnum_capi_helm.tests.unit.lifecycle import upgrading

_GONE = "/gone.pem: No such file or directory"


class LoginTest(base.BaseTestCase):
    def said(self, **options: object) -> str:
        for name, value in options.items():
            conf.CONF.set_override(name, value, "keystone_auth")
        try:
            sessions.service_session()
        except errors.NotConfigured as error:
            return str(error)
        finally:
            for name in options:
                conf.CONF.clear_override(name, "keystone_auth")
        return ""

    def forget_logins(self, sections: Sequence[str]) -> None:
        """Unregister the options of logins, of which auth_url is required."""
        conf.CONF.reset()
        options = loading.get_auth_plugin_conf_options("password")
        for each in sections:
            conf.CONF.unregister_opts(options, each)

    def test_a_wrong_option_is_named(self) -> None:
        flows.configure(self)
        [there] = self.create_tempfiles([("there", "x")])
        rows: list[tuple[dict[str, object], str]] = [
            ({"cafile": "/gone.pem"}, f"[keystone_auth] cafile {_GONE}"),
            ({"cafile": "/gone.pem", "insecure": True}, ""),
            ({"cafile": there}, ""),
            ({"cafile": "/etc"}, ""),
            ({"certfile": "/gone.pem"}, f"[keystone_auth] certfile {_GONE}"),
            (
                {"certfile": there, "keyfile": "/gone.pem"},
                f"[keystone_auth] keyfile {_GONE}",
            ),
            (
                {"auth_url": None},
                "[keystone_auth]: Auth plugin requires parameters which were "
                "not given: auth_url",
            ),
            (
                {"auth_type": "none such"},
                "[keystone_auth]: The plugin none such could not be found",
            ),
        ]
        for options, expected in rows:
            with self.subTest(str(options)):
                self.assertEqual(expected, self.said(**options))

    def test_login_may_be_in_a_section_of_another_name(self) -> None:
        flows.configure(self)
        login = (
            "auth_type = password\nauth_url = http://{}.test/v3\n"
            "username = magnum\npassword = p\n"
        )
        names = ("keystone_authtoken", "login_of_magnum")
        text = "".join(f"[{name}]\n{login.format(name)}" for name in names)
        [path] = self.create_tempfiles([("magnum", f"{text}[empty]\n")])
        conf.CONF([], default_config_files=[path])
        conf.CONF.clear_override("auth_type", "keystone_auth")
        self.addCleanup(self.forget_logins, names)
        for name in names:
            conf.CONF.set_override("auth_section", name, "keystone_auth")
            self.assertEqual(f"http://{name}.test/v3", sessions.identity_url())
        self.assertEqual(
            "[keystone_auth]: the auth_type or auth_url of its login is not "
            "set",
            self.said(auth_section="empty"),
        )


_TOKEN, _PROJECT = "admin-token", "admin_project"
_PRIVATE = "ubuntu-private"
_POLICIES: dict[str, str] = {"server_group_policies": "anti-affinity"}
#: These make a cluster's credential, of the user who asks.
_OF_USERS = {"create.py", "rotation.py", "sessions.py"}


class OtherProjectTestCase(flows.FlowTestCase):
    """Nova knows projects by their tokens."""

    def setUp(self) -> None:
        super().setUp()
        self.nova = self.openstack.server_groups
        self.nova.projects = {_TOKEN: _PROJECT}

    def log_in_elsewhere(self) -> None:
        self.context = magnum_context.RequestContext(
            auth_token=_TOKEN,
            auth_token_info=openstack.token_info(
                ("admin",), user="admin", project=_PROJECT
            ),
            project_id=_PROJECT,
            user_id="admin",
            is_admin=True,
            all_tenants=True,
        )

    def projects(self) -> dict[str, str]:
        groups = self.nova.groups.values()
        prefix = f"{flows.RELEASE}-"
        return {
            each["name"].removeprefix(prefix): each["project_id"]
            for each in groups
        }

    def delete_all(self) -> None:
        """The cluster is deleted; Cluster API has done its part."""
        self.settle()
        self.login()
        self.delete()
        self.capi.finish()
        self.poll()
        self.assertRaises(exception.ClusterNotFound, self.row)


class UpgradeTest(OtherProjectTestCase, upgrading.UpgradeTestCase):
    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """An image is private to the administrator's project."""
        cloud = super().catalogue(session)
        if session.get_project_id() == _PROJECT:
            cloud.images[_PRIVATE] = cloud.images["ubuntu-1.35"]
        return cloud

    def newer(self, **fields: Any) -> Any:
        fields = {"image_id": "ubuntu-1.35", "labels": _POLICIES, **fields}
        return self.template(**fields)

    def test_server_groups_are_the_tenants_and_go_with_the_cluster(
        self,
    ) -> None:
        self.log_in_elsewhere()
        self.upgrade(self.newer())
        expected = {
            "default-master": openstack.PROJECT,
            "default-worker": openstack.PROJECT,
        }
        self.assertEqual(expected, self.projects())
        self.delete_all()
        self.assertEqual({}, self.projects())

    def test_the_record_of_the_tenants_group_stays(self) -> None:
        self.add("gpu", labels=_POLICIES)
        self.settle()
        self.assertEqual({"gpu": openstack.PROJECT}, self.projects())
        self.log_in_elsewhere()
        self.upgrade(self.newer())
        self.assertEqual({openstack.PROJECT}, set(self.projects().values()))
        self.assertEqual(3, len(self.projects()))
        self.delete_all()
        self.assertEqual({}, self.projects())

    def test_names_are_looked_up_with_the_tenants_eyes(self) -> None:
        self.log_in_elsewhere()
        template = self.newer(image_id=_PRIVATE)
        self.assertIn("there is no such image", self.refused(template))

    def test_a_dead_credential_refuses_it(self) -> None:
        self.openstack.credentials.clear()
        self.log_in_elsewhere()
        self.assertEqual(
            "a request from another project needs the cluster's credential, "
            "and Keystone refuses it: a member of the cluster's project has "
            f"to rotate it. The project is {openstack.PROJECT}",
            self.refused(self.newer()),
        )
        self.login()
        self.upgrade(self.newer())


class NodegroupTest(OtherProjectTestCase, flows.NodegroupTestCase):
    def test_a_recorded_project_is_never_replaced(self) -> None:
        self.add("gpu", labels=_POLICIES)
        name = names.server_groups(flows.RELEASE)
        place = (kinds.SECRET, flows.NAMESPACE, name)
        secret = self.server.get(*place)
        assert secret is not None
        [key] = secret["data"]
        content = {**encoding.read_plain(secret["data"][key]), "project": "x"}
        change = {"data": {key: encoding.plain(content)}}
        self.server.patch(*place, change)
        error = self.assertRaises(
            exception.NotSupported, self.add, "cpu", labels=_POLICIES
        )
        self.assertIn("server groups in another project", str(error))
        secret = self.server.get(*place)
        assert secret is not None
        self.assertEqual(change["data"], secret["data"])


class QuotaTest(OtherProjectTestCase):
    by_http = True
    SERVICES: ClassVar[tuple[str, ...]] = ("/limits", "/quotas/")

    def asked(self) -> set[tuple[str, bool]]:
        return {
            (
                request.path.split("/quotas/")[-1],
                request.headers.get("X-Auth-Token") == _TOKEN,
            )
            for request in self.openstack.mocker.request_history
            if any(each in request.path for each in self.SERVICES)
        }

    def test_the_quota_is_the_tenants(self) -> None:
        self.created()
        conf.CONF.set_override("quota_check", "refuse", "capi_helm")
        self.openstack.mocker.reset_mock()
        self.log_in_elsewhere()
        self.resize(3)
        self.assertEqual(3, self.replicas())
        neutron = f"{openstack.PROJECT}/details"
        self.assertEqual(
            {("/v2.1/limits", False), (neutron, False)}, self.asked()
        )


class RuleTest(flows.FlowTestCase):
    """One place decides which session a request about a cluster uses."""

    def test_only_credentials_are_made_with_the_users_token(self) -> None:
        root = pathlib.Path(magnum_capi_helm.__file__).parent
        callers = {
            path.name
            for path in root.rglob("*.py")
            if "tests" not in path.parts
            and "user_session(" in path.read_text()
        }
        self.assertEqual(_OF_USERS, callers)
