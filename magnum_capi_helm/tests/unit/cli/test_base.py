# SPDX-License-Identifier: Apache-2.0

"""Commands: the cluster that is named to one, and an unreadable database."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import traceback
from typing import Any

from oslo_db import exception as db_exception  # type: ignore[import-untyped]
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]
import sqlalchemy
import sqlalchemy.exc

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import cluster
from magnum_capi_helm.cli import describe
from magnum_capi_helm.cli import kubeconfig
from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.cli import preview
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

OTHER = "11111111-2222-4333-8444-555555555555"
COMMANDS: tuple[tuple[Any, str], ...] = (
    (management_cluster.Accept, "--lost --apply"),
    (cluster.Credentials, "--apply"),
    (describe.Describe, ""),
    (preview.Diff, ""),
    (kubeconfig.Kubeconfig, ""),
    (cluster.Rollback, "--apply"),
    (preview.Values, ""),
)


class ChoiceTest(base.FlowTestCase):
    def of_driver(self, name: str | None, distro: str = "ubuntu") -> None:
        """A cluster of that driver, which has a stack."""
        template = self.template(driver=name, cluster_distro=distro)
        self.of_template(template.uuid)

    def of_template(self, template: str) -> None:
        self.cluster(
            name="heat",
            uuid=OTHER,
            cluster_template_id=template,
            stack_id="99999999-2222-4333-8444-555555555555",
            status="CREATE_COMPLETE",
        ).create()

    def test_every_command_refuses_a_cluster_of_another_driver(self) -> None:
        self.of_driver("k8s_fedora_coreos_v1")
        for ref in ("heat", OTHER):
            for kind, options in COMMANDS:
                error = self.assertRaises(
                    errors.InvalidInput,
                    command_case.run,
                    kind,
                    ref,
                    *options.split(),
                )
                self.assertEqual(
                    f"cluster heat ({OTHER}) belongs to the driver "
                    "k8s_fedora_coreos_v1: give a cluster of k8s_capi_helm_v1",
                    str(error),
                    kind,
                )
        self.assertEqual([], self.management.requests)

    def test_a_driver_without_a_name_is_told_by_what_it_is_for(self) -> None:
        self.of_driver(None, "fedora-coreos")
        error = self.assertRaises(
            errors.InvalidInput, commands.find_cluster, "heat"
        )
        self.assertEqual(
            f"cluster heat ({OTHER}) belongs to the driver for "
            "vm/fedora-coreos/kubernetes: give a cluster of k8s_capi_helm_v1",
            str(error),
        )

    def test_a_cluster_without_a_driver_in_its_template_is_taken(self) -> None:
        self.of_driver(None)
        self.assertEqual(OTHER, commands.find_cluster("heat").uuid)

    def test_a_cluster_without_a_template_is_taken(self) -> None:
        self.of_template("22222222-2222-4333-8444-555555555555")
        self.assertEqual(OTHER, commands.find_cluster("heat").uuid)


def _oslo(url: str) -> Callable[[], object]:
    def ask() -> None:
        facade = enginefacade.transaction_context()
        facade.configure(connection=url, max_retries=0)
        with facade.reader.using(argparse.Namespace()) as session:
            session.execute(sqlalchemy.text("SELECT canary FROM secret"))

    return ask


def _bare(url: str) -> Callable[[], object]:
    return lambda: sqlalchemy.create_engine(url).connect()


def _raises(error: Exception) -> Callable[[], object]:
    def ask() -> None:
        raise error

    return ask


def _command(ask: Callable[[], object]) -> type:
    class Asking(commands.Command):
        examples = ("ask",)

        def take_action(self, parsed_args: argparse.Namespace) -> None:
            ask()

    return Asking


class DatabaseTest(command_case.CommandCase):
    def test_an_error_names_class_and_place_and_quotes_nothing(self) -> None:
        conf.CONF.set_override(
            "connection", "mysql://u:canary@db.test/magnum?x=1", "database"
        )
        gone = db_exception.DBConnectionError(
            sqlalchemy.exc.OperationalError(
                "SELECT canary", {}, Exception("mysql://canary@host")
            )
        )
        # What SQLAlchemy makes of an error of PyMySQL.
        pymysql = sqlalchemy.exc.OperationalError(
            "canary", {}, Exception(1045, "canary")
        )
        # What oslo.db makes of an error of psycopg2.
        original = Exception("canary")
        original.pgcode = "28P01"  # type: ignore[attr-defined]
        inner = sqlalchemy.exc.ProgrammingError("canary", {}, original)
        psycopg2 = db_exception.DBError(inner)
        unset = db_exception.CantStartEngineError("canary")
        rows: list[tuple[Callable[[], object], str]] = [
            (_oslo("sqlite://"), "DBNonExistentTable"),
            (_oslo("sqlite:////gone/c.db"), "DBNonExistentDatabase"),
            (_raises(unset), "CantStartEngineError"),
            (_raises(gone), "DBConnectionError"),
            (_bare("canary"), "ArgumentError"),
            (_bare("mysql+nosuch://canary@db.test/m"), "NoSuchModuleError"),
            (_raises(pymysql), "OperationalError 1045"),
            (_raises(psycopg2), "DBError 28P01"),
        ]
        for ask, name in rows:
            with self.subTest(name):
                error = self.assertRaises(
                    errors.NotConfigured, self.run_command, _command(ask)
                )
                self.assertEqual(
                    f"Magnum's database can't be read ({name}): see whether "
                    "it answers at [database] connection "
                    "mysql://db.test/magnum, and whether it has the tables "
                    "of this Magnum",
                    str(error),
                )
                told = "".join(traceback.format_exception(error))
                self.assertNotIn("canary", told)

    def test_only_what_is_certainly_not_the_password_is_shown(self) -> None:
        rows = {
            "mysql+pymysql://u:canary@db.test:3306/magnum?a=canary": (
                "mysql+pymysql://db.test:3306/magnum"
            ),
            "mysql://u:can@canary/x@db.test/magnum": "mysql://db.test/magnum",
            "mysql://u:canary": "",
            "u:canary@db.test/magnum": "",
            "sqlite:////var/lib/magnum.sqlite": (
                "sqlite:////var/lib/magnum.sqlite"
            ),
        }
        self.assertEqual(
            rows, {url: commands.database_location(url) for url in rows}
        )

    def test_other_errors_stay_as_they_are(self) -> None:
        for error in (ValueError("x"), errors.CloudError("y")):
            raised = self.assertRaises(
                type(error), self.run_command, _command(_raises(error))
            )
            self.assertIs(error, raised)
