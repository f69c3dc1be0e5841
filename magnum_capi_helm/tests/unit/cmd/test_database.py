# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Commands, when Magnum's database can't be read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import traceback

from oslo_db import exception as db_exception  # type: ignore[import-untyped]
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]
import sqlalchemy
import sqlalchemy.exc

from magnum_capi_helm import exceptions
from magnum_capi_helm.cmd import base
from magnum_capi_helm.tests.unit.cmd import command_case

_TOLD = (
    "Magnum's database can't be read ({}): see whether [database] connection "
    "is right, the database there answers, and it has the tables of this "
    "Magnum"
)


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


class DatabaseTest(command_case.CommandCase):
    def test_one_line_names_the_option_and_quotes_nothing(self) -> None:
        gone = db_exception.DBConnectionError(
            sqlalchemy.exc.OperationalError(
                "SELECT canary", {}, Exception("mysql://canary@host")
            )
        )
        unset = db_exception.CantStartEngineError("canary")
        rows: list[tuple[Callable[[], object], str]] = [
            (_oslo("sqlite://"), "DBNonExistentTable"),
            (_oslo("sqlite:////gone/canary.db"), "DBNonExistentDatabase"),
            (_raises(unset), "CantStartEngineError"),
            (_raises(gone), "DBConnectionError"),
            (_bare("sqlite:////gone/canary.db"), "OperationalError"),
            (_bare("canary"), "ArgumentError"),
            (_bare("canary://u:canary@host"), "NoSuchModuleError"),
        ]
        for ask, name in rows:
            with self.subTest(name):
                error = self.assertRaises(
                    exceptions.NotConfigured, self.run_command, _command(ask)
                )
                self.assertEqual(_TOLD.format(name), str(error))
                told = "".join(traceback.format_exception(error))
                self.assertNotIn("canary", told)

    def test_other_errors_stay_as_they_are(self) -> None:
        for error in (ValueError("x"), exceptions.CloudError("y")):
            raised = self.assertRaises(
                type(error), self.run_command, _command(_raises(error))
            )
            self.assertIs(error, raised)
