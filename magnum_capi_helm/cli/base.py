# SPDX-License-Identifier: Apache-2.0

"""Shared parts of all commands: help, arguments, exit codes and errors.

The help imports this module, so it imports neither Magnum nor its libraries.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
import contextlib
import enum
import functools
import getpass
import os
import socket
from typing import TYPE_CHECKING, Any, TypeAlias

from cliff import _argparse
from cliff import command
from cliff import lister

from magnum_capi_helm.cli import database_errors
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

if TYPE_CHECKING:
    from magnum_capi_helm.model import audit
    from magnum_capi_helm.operations import operation as operations

#: Header and lines, as cliff takes them.
Table: TypeAlias = tuple[tuple[str, ...], Sequence[tuple[object, ...]]]

PROGRAM = "magnum-capi-helm"
_HEAD = "Examples::"
_INDENT = " " * 4


class Configuration(enum.Enum):
    """Say whether a command needs the conductor's configuration files."""

    REQUIRED = enum.auto()
    #: The command is of use with the defaults of all options.
    OPTIONAL = enum.auto()
    UNUSED = enum.auto()


class Command(command.Command):
    """A command with examples in its help."""

    #: Command lines without the program's name; at least one.
    examples: Sequence[str] = ()

    configuration = Configuration.REQUIRED

    #: Reads the configuration; the application sets it.
    configure: Callable[[], None] = staticmethod(lambda: None)

    #: ``take_action`` sets it when something is wrong.
    exit_code = 0

    def get_epilog(self) -> str:
        """Return the examples, for the end of the help and of the manual."""
        lines = [f"{_INDENT}{PROGRAM} {each}" for each in self.examples]
        return "\n".join([_HEAD, "", *lines])

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser whose help keeps paragraphs and examples."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.formatter_class = _Formatter
        self.add_arguments(parser)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code.

        :raises NotConfigured: there are no configuration files, or Magnum's
            database can't be read
        """
        self.configure()
        run = super().run
        code = database_errors.read(lambda: int(run(parsed_args)))
        return code or self.exit_code

    def say(self, text: str) -> None:
        """Print a line that is not part of the command's result."""
        self.app.stderr.write(f"{text}\n")


class Lister(Command, lister.Lister):
    """A command that prints a table, or the same data for programs."""


class _Formatter(_argparse.SmartHelpFormatter):
    """Keep paragraphs apart, which argparse's own formatter joins."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            each
            if each.startswith(_INDENT)
            else super(_Formatter, self)
            ._fill_text(each, width, indent)
            .replace("::", ":")
            for each in text.split("\n\n")
        )


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add CLUSTER, one cluster by name or UUID."""
    parser.add_argument("cluster", metavar="CLUSTER", help="name or UUID")


def add_apply(parser: argparse.ArgumentParser, does: str) -> None:
    """Add --apply, without which the command writes nothing.

    :param does: the effect, and what the command shows without it
    """
    parser.add_argument("--apply", action="store_true", help=does)


def positive(text: str) -> int:
    """Return a whole number above zero.

    :raises argparse.ArgumentTypeError: the text is none
    """
    count = int(text) if text.isascii() and text.isdigit() else 0
    if count < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 1 on"
        )
    return count


def chart_version(text: str) -> str:
    """Return a version of the chart, or an empty string.

    :raises argparse.ArgumentTypeError: the text is neither
    """
    from magnum_capi_helm.model import label_types

    try:
        return label_types.VERSION(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def operator(action: str) -> audit.Actor:
    """Return the user of this shell, for logs and for helm's history."""
    from magnum_capi_helm.model import audit

    name = os.environ.get("SUDO_USER") or _login()
    return audit.Actor(action, user=f"{name}@{socket.gethostname()}")


def _login() -> str:
    """Return the user's name; a user in a container may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


@contextlib.contextmanager
def audited(action: str, subject: str) -> Iterator[audit.Actor]:
    """Log that the operator acts, and whether it was accepted."""
    from magnum_capi_helm.model import audit

    actor = operator(action)
    with audit.acting(actor), audit.logged(subject):
        yield actor


def find_cluster(ref: str) -> Any:
    """Return the row of a cluster of this driver, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name, or it
        is of another driver
    """
    from magnum.common import exception

    from magnum_capi_helm.lifecycle import preview

    row = preview.find_cluster(ref)
    try:
        template = row.cluster_template
    except exception.ClusterTemplateNotFound:
        # This driver can do without the template.
        return row
    if not of_this_driver(template):
        kind = (template.server_type, template.cluster_distro, template.coe)
        name = template.driver or f"of {'/'.join(map(str, kind))}"
        raise errors.InvalidInput(
            f"cluster {row.name} ({row.uuid}) is of the driver {name}: "
            f"choose one of {names.DRIVER}"
        )
    return row


def operation(row: Any) -> operations.Operation:
    """Return an operation of the operator on a cluster.

    Its management cluster has to be the recorded one.
    """
    from magnum_capi_helm.database import rows
    from magnum_capi_helm.operations import operation as operations

    return operations.Operation(rows.everywhere(), row)


def of_this_driver(template: Any) -> bool:
    """Return whether Magnum gives a template's clusters to this driver."""
    return _is_driver_of(
        template.server_type,
        template.cluster_distro,
        template.coe,
        template.driver,
    )


@functools.cache
def _is_driver_of(
    server_type: str, distro: str, coe: str, name: str | None
) -> bool:
    from magnum.common import exception
    from magnum.drivers.common import driver as drivers

    try:
        chosen = drivers.Driver.get_driver(server_type, distro, coe, name)
    except exception.MagnumException:
        # That driver is not installed here.
        return False
    return type(chosen).__module__ == "magnum_capi_helm.driver"
