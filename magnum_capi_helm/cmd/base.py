# SPDX-License-Identifier: Apache-2.0

"""What all commands have in common: help that ends with examples."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import enum

from cliff import _argparse
from cliff import command
from cliff import lister

from magnum_capi_helm.cmd import database

PROGRAM = "magnum-capi-helm"
_HEAD = "Examples::"
_INDENT = " " * 4


class Configuration(enum.Enum):
    """Say whether a command needs the conductor's configuration files."""

    REQUIRED = enum.auto()
    #: The command is of use with the defaults of all options.
    OPTIONAL = enum.auto()
    UNUSED = enum.auto()


class Exemplary(command.Command):
    """A command that knows how it is used."""

    #: As one types them, without the program's name; at least one.
    examples: Sequence[str] = ()

    configuration = Configuration.REQUIRED

    #: Reads the configuration; the application sets it.
    configure: Callable[[], None] = staticmethod(lambda: None)

    def get_epilog(self) -> str:
        """The end of the help; the manual has it as well."""
        lines = [f"{_INDENT}{PROGRAM} {each}" for each in self.examples]
        return "\n".join([_HEAD, "", *lines])

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """With paragraphs, and examples in lines of their own."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.formatter_class = _Formatter
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code.

        :raises NotConfigured: there are no configuration files, or Magnum's
            database can't be read
        """
        self.configure()
        run = super().run
        return database.read(lambda: int(run(parsed_args)))


class Command(Exemplary):
    """A command that prints what it likes."""


class Lister(Exemplary, lister.Lister):
    """A command that prints a table, or the same for programs."""


class _Formatter(_argparse.SmartHelpFormatter):
    """Argparse's own would put all of a text into one paragraph."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            each
            if each.startswith(_INDENT)
            else super(_Formatter, self)
            ._fill_text(each, width, indent)
            .replace("::", ":")
            for each in text.split("\n\n")
        )
