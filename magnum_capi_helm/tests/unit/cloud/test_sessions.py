# SPDX-License-Identifier: Apache-2.0

"""Magnum's own login: what is wrong with its options."""

from __future__ import annotations

from collections.abc import Sequence

from keystoneauth1 import loading
from oslotest import base

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base as flows

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
