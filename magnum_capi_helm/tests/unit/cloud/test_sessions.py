# SPDX-License-Identifier: Apache-2.0

"""Magnum's own login: what is wrong with its options."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base as flows

_GONE = "/gone.pem: No such file or directory"


class LoginTest(base.BaseTestCase):
    def said(self, **options: object) -> str:
        """What is said of the options; empty: nothing."""
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

    def test_what_is_wrong_with_the_options_is_named(self) -> None:
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
