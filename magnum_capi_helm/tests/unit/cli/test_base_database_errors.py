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

_TABLES = "it lacks tables or columns of this Magnum: run 'magnum-db-manage"
_GONE = "there is no such database"
_REFUSED = "it refuses the user or the password"
_SILENT = "it does not answer"
_URL = "SQLAlchemy can't use this URL"


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
    def test_one_line_names_the_cause_and_quotes_nothing(self) -> None:
        conf.CONF.set_override(
            "connection", "mysql://u:canary@db.test/magnum?x=1", "database"
        )
        gone = db_exception.DBConnectionError(
            sqlalchemy.exc.OperationalError(
                "SELECT canary", {}, Exception("mysql://canary@host")
            )
        )
        unset = db_exception.CantStartEngineError("canary")
        rows: list[tuple[Callable[[], object], str, str]] = [
            (_oslo("sqlite://"), "DBNonExistentTable", _TABLES),
            (_oslo("sqlite:////gone/c.db"), "DBNonExistentDatabase", _GONE),
            (_raises(unset), "CantStartEngineError", _URL),
            (_raises(gone), "DBConnectionError", _SILENT),
            (_bare("sqlite:////gone/c.db"), "OperationalError", "see whether"),
            (_bare("canary"), "ArgumentError", _URL),
            (_bare("canary://u:canary@host"), "NoSuchModuleError", _URL),
            (_mysql(1045), "OperationalError 1045", _REFUSED),
            (_mysql(1049), "OperationalError 1049", _GONE),
            (_mysql(1054), "OperationalError 1054", _TABLES),
            (_mysql(1146), "OperationalError 1146", _TABLES),
            (_postgresql("28P01"), "DBError 28P01", _REFUSED),
            (_postgresql("3D000"), "DBError 3D000", _GONE),
            (_postgresql("42P01"), "DBError 42P01", _TABLES),
        ]
        for ask, name, cause in rows:
            with self.subTest(name):
                error = self.assertRaises(
                    errors.NotConfigured, self.run_command, _command(ask)
                )
                self.assertIn(
                    f"Magnum's database can't be read ({name}): [database] "
                    f"connection mysql://db.test/magnum: {cause}",
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
