# SPDX-License-Identifier: Apache-2.0

"""``check``: Magnum's database, its drivers and its service user."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
from importlib import metadata
import sqlite3
from typing import Any

import fixtures
from magnum import objects
from magnum.drivers.common import driver as drivers
from sqlalchemy import exc

from magnum_capi_helm import driver
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case

OURS = "k8s_capi_helm_v1"
_DEFAULT = "[drivers] default_driver"
_UBUNTU = "k8s_cluster_api_ubuntu"


class DatabaseTest(command_case.CommandCase):
    def test_a_table_or_a_column_that_is_missing(self) -> None:
        url = f"sqlite:///{self.database}"
        self.assertEqual(("ok", url), self.checked()["database"])
        whole = self.database.read_bytes()
        for statement in (
            "DROP TABLE nodegroup",
            "ALTER TABLE cluster_template DROP COLUMN driver",
        ):
            self.database.write_bytes(whole)
            with contextlib.closing(sqlite3.connect(self.database)) as file:
                file.execute(statement)
                file.commit()
            self.assert_failed(
                "database",
                f"{url}, and whether it has the tables of this Magnum",
            )


class Rival(driver.Driver):
    """Another driver for some of the same images."""

    @property
    def provides(self) -> list[dict[str, str]]:
        return super().provides[:1]


class Elsewhere(driver.Driver):
    """A driver for other images."""

    @property
    def provides(self) -> list[dict[str, str]]:
        return [
            {"server_type": "vm", "os": "fedora-coreos", "coe": "kubernetes"}
        ]


class DriverTest(command_case.CommandCase):
    def setUp(self) -> None:
        super().setUp()
        #: The cluster templates in Magnum's database.
        self.templates: list[Any] = []
        self.useFixture(
            fixtures.MockPatchObject(
                objects.ClusterTemplate, "list", lambda _: self.templates
            )
        )
        self.useFixture(
            fixtures.MockPatchObject(
                drivers.Driver, "load_entry_points", self._load
            )
        )
        self.loaded: dict[str, Callable[[], Any]] = {OURS: driver.Driver}

    def _load(self) -> list[tuple[metadata.EntryPoint, Callable[[], Any]]]:
        return [
            (metadata.EntryPoint(name, "x:Y", "magnum.drivers"), kind)
            for name, kind in self.loaded.items()
        ]

    def choose(self, default: str | None) -> None:
        """Set the option that Magnum has since 23."""
        if not hasattr(drivers.Driver, "get_default_driver"):
            self.skipTest("this Magnum has no [drivers] default_driver")
        conf.CONF.set_override("default_driver", default, "drivers")

    def without_default_driver(self) -> None:
        """Let Magnum choose as before 23."""
        self.useFixture(
            fixtures.MonkeyPatch(
                "magnum.drivers.common.driver.Driver.get_default_driver",
                fixtures.MonkeyPatch.delete,
            )
        )

    def test_before_magnum_23_disabled_drivers_decides(self) -> None:
        self.without_default_driver()
        self.loaded["k8s_fedora_coreos_v1"] = Elsewhere
        self.assertEqual(("ok", OURS), self.checked()["driver"])
        self.loaded[_UBUNTU] = Rival
        for before, disabled in (
            ([], _UBUNTU),
            (["z_driver", "a_driver"], f"a_driver,{_UBUNTU},z_driver"),
        ):
            conf.CONF.set_override("disabled_drivers", before, "drivers")
            self.assertEqual(
                (
                    "failed",
                    "k8s_cluster_api_ubuntu provides vm/ubuntu/kubernetes, "
                    "too, and Magnum takes the driver that it loads last for "
                    "templates that name no driver: set [drivers] "
                    f"disabled_drivers = {disabled}. Do not disable a driver "
                    "that has clusters: give the images of this driver the "
                    "property magnum_driver = k8s_capi_helm_v1 instead, and "
                    "create their templates again",
                ),
                self.checked()["driver"],
            )

    def test_since_magnum_23_default_driver_decides(self) -> None:
        """A driver for the same images has no part in it."""
        self.loaded[_UBUNTU] = Rival
        rows: list[tuple[str | None, str, tuple[str, str]]] = [
            (None, _UBUNTU, ("ok", OURS)),
            (OURS, "a_driver", ("ok", f"{OURS}, by {_DEFAULT}")),
            (_UBUNTU, "a_driver", ("ok", f"{_UBUNTU}, by {_DEFAULT}")),
            (
                None,
                "a_driver",
                (
                    "failed",
                    "new templates that name no driver get a_driver, the "
                    f"first one by name: set {_DEFAULT} = {OURS}",
                ),
            ),
            (
                "k8s_heat",
                "a_driver",
                (
                    "failed",
                    f"{_DEFAULT} = k8s_heat is not installed, or it is in "
                    f"[drivers] disabled_drivers: set it to {OURS}",
                ),
            ),
        ]
        for default, other, told in rows:
            with self.subTest(f"{default} beside {other}"):
                self.loaded[other] = Elsewhere
                self.choose(default)
                self.loaded[_UBUNTU] = Rival
                self.assertEqual(told, self.checked()["driver"])

    def test_since_magnum_23_old_templates_are_decided_otherwise(self) -> None:
        """Magnum 22 and older made templates without a driver."""
        self.choose(OURS)
        good = ("ok", f"{OURS}, by {_DEFAULT}")
        other = {"cluster_distro": "fedora-coreos"}
        rows: list[tuple[bool, dict[str, Any], bool]] = [
            # Another driver for vm/ubuntu/kubernetes, a template, refused.
            (True, {}, True),
            (True, {"driver": ""}, True),
            (True, {"driver": OURS}, False),
            (True, {"driver": _UBUNTU}, False),
            (True, {"cluster_distro": "flatcar"}, False),
            (True, other, False),
            (False, {}, False),
        ]
        for rival, fields, refused in rows:
            with self.subTest(f"rival: {rival}, {fields}"):
                self.loaded[_UBUNTU] = Rival if rival else Elsewhere
                named = {"driver": None, **fields}
                self.templates[:] = [command_case.template("old", **named)]
                if not refused:
                    self.assertEqual(good, self.checked()["driver"])
                    continue
                self.assert_failed(
                    "driver",
                    "k8s_cluster_api_ubuntu provides vm/ubuntu/kubernetes",
                    "the driver that it loads last for templates that name "
                    "no driver ('old'): set [drivers] disabled_drivers = "
                    "k8s_cluster_api_ubuntu. Do not disable a driver that "
                    "has clusters",
                )

    def test_old_templates_need_the_database(self) -> None:
        self.choose(OURS)
        self.loaded[_UBUNTU] = Rival
        self.useFixture(
            fixtures.MockPatchObject(
                objects.ClusterTemplate,
                "list",
                side_effect=exc.OperationalError("SELECT", {}, OSError()),
            )
        )
        state, detail = self.checked()["driver"]
        self.assertEqual("unknown", state)
        self.assertIn("Magnum's database can't be read", detail)

    def test_a_driver_that_magnum_does_not_load(self) -> None:
        del self.loaded[OURS]
        self.assert_failed(
            "driver",
            f"Magnum does not load {OURS}",
            "[drivers] disabled_drivers",
        )


class ServiceUserTest(command_case.CommandCase):
    def test_only_an_administrator_is_accepted(self) -> None:
        self.assertEqual(
            ("ok", f"{openstack.USER} has the role admin"),
            self.checked()["service user"],
        )
        self.openstack.service_roles = ("member", "reader")
        self.assertEqual(
            (
                "failed",
                "fake_user has member, reader, but not admin, which is needed "
                "to delete what clusters of other users leave in Keystone and "
                "Nova: set [keystone_auth] project_name, and run 'openstack "
                "role add --user fake_user --project fake_project admin'",
            ),
            self.checked()["service user"],
        )
        self.openstack.stop(openstack.IDENTITY)
        self.assert_failed(
            "service user", "Keystone, as Magnum's service user"
        )
