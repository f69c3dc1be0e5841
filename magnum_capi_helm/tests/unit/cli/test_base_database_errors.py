# SPDX-License-Identifier: Apache-2.0

"""Commands, when Magnum's database can't be read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import traceback

from oslo_db import exception as db_exception  # type: ignore[import-untyped]
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]
import sqlalchemy
import sqlalchemy.exc

from magnum_capi_helm.cli import base
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case


def _oslo(url: str) -> Callable[[], object]:
    """As Magnum asks."""

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
    class Asking(base.Command):
        """Ask the database."""

        examples = ("ask",)

        def take_action(self, parsed_args: argparse.Namespace) -> None:
            ask()

    return Asking


def _mysql(number: int) -> Callable[[], object]:
    """Raise what SQLAlchemy makes of an error of PyMySQL."""
    original = Exception(number, "canary")
    return _raises(sqlalchemy.exc.OperationalError("canary", {}, original))


def _postgresql(state: str) -> Callable[[], object]:
    """Raise what oslo.db makes of an error of psycopg2."""
    original = Exception("canary")
    original.pgcode = state  # type: ignore[attr-defined]
    inner = sqlalchemy.exc.ProgrammingError("canary", {}, original)
    return _raises(db_exception.DBError(inner))


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
        unset = db_exception.CantStartEngineError("canary")
        rows: list[tuple[Callable[[], object], str]] = [
            (_oslo("sqlite://"), "DBNonExistentTable"),
            (_oslo("sqlite:////gone/c.db"), "DBNonExistentDatabase"),
            (_raises(unset), "CantStartEngineError"),
            (_raises(gone), "DBConnectionError"),
            (_bare("canary"), "ArgumentError"),
            (_mysql(1045), "OperationalError 1045"),
            (_postgresql("28P01"), "DBError 28P01"),
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
            rows, {url: base.database_location(url) for url in rows}
        )

    def test_other_errors_stay_as_they_are(self) -> None:
        for error in (ValueError("x"), errors.CloudError("y")):
            raised = self.assertRaises(
                type(error), self.run_command, _command(_raises(error))
            )
            self.assertIs(error, raised)
