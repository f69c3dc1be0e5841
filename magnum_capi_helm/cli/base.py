# SPDX-License-Identifier: Apache-2.0

"""Shared parts of all commands: help, arguments, exit codes and errors.

The help imports this module, so it imports neither Magnum nor its libraries.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
import contextlib
import functools
import getpass
import os
import re
import shutil
import socket
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from cliff import _argparse
from cliff import command
from cliff import lister

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names

if TYPE_CHECKING:
    from magnum_capi_helm.model import call
    from magnum_capi_helm.operations import cluster_operation
    from magnum_capi_helm.operations import cluster_release

#: Header and lines, as cliff takes them.
Table: TypeAlias = tuple[tuple[str, ...], Sequence[tuple[object, ...]]]

PROGRAM = "magnum-capi-helm"
_Answer = TypeVar("_Answer")


class Command(command.Command):
    """A command with examples in its help."""

    #: Command lines without the program's name; at least one.
    examples: Sequence[str] = ()

    #: False: the command is of use with the defaults of all options.
    needs_configuration = True

    #: Reads the configuration; the application sets it.
    configure: Callable[[], None] = staticmethod(lambda: None)

    #: ``take_action`` sets it when something is wrong.
    exit_code = 0

    def get_epilog(self) -> str:
        """Return the examples, for the end of the help and of the manual."""
        lines = [f"    {PROGRAM} {each}" for each in self.examples]
        return "\n".join(["Examples::", "", *lines])

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
        run = functools.partial(super().run, parsed_args)
        try:
            code = int(
                read_database(run) if self.needs_configuration else run()
            )
        except errors.CapiHelmError as error:
            error.args = (errors.explained(error),)
            raise
        return code or self.exit_code

    def say(self, text: str) -> None:
        """Print a line that is not part of the command's result."""
        self.app.stderr.write(f"{text}\n")


class Lister(Command, lister.Lister):
    """A command that prints a table, or the same data for programs."""

    #: The message if the table has no line.
    empty = ""

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Any, data: Any
    ) -> int:
        """Print the table; a negative ``--max-width`` sets no limit."""
        if self.empty and not data:
            self.say(self.empty)
        if parsed_args.formatter == "table" and not data:
            return 0
        parsed_args.max_width = parsed_args.max_width or width()
        return int(super().produce_output(parsed_args, column_names, data))


class _Formatter(_argparse.SmartHelpFormatter):
    """Keep the lines of paragraphs and examples, which argparse joins."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text.replace("::", ":")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add CLUSTER, one cluster by name or UUID."""
    parser.add_argument(
        "cluster", metavar="CLUSTER", help="name or UUID of a cluster"
    )


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
            f"{text!r} is not allowed: give a whole number of at least 1"
        )
    return count


def time_of_day(text: str) -> str:
    """Return a time, from 00:00 to 24:00, as it is written.

    :raises argparse.ArgumentTypeError: the text is none
    """
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d|24:00", text, re.ASCII):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time of the day: give one such as 22:00"
        )
    return text


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add --label, which may be repeated."""
    parser.add_argument(
        "--label",
        metavar="NAME[=VALUE]",
        type=label,
        action="append",
        default=[],
        help="set this label of the cluster; without a value, the label of "
        "the template applies again; may be repeated",
    )


def label(text: str) -> tuple[str, str | None]:
    """Return name and value of a label; without ``=``, no value.

    An option's type: argparse shows the error.
    """
    name, sign, value = text.partition("=")
    if not name.strip():
        raise argparse.ArgumentTypeError(
            f"give NAME=VALUE, or NAME alone. It is {text!r}"
        )
    return name.strip(), value if sign else None


def chart_version(text: str) -> str:
    """Return a version of the chart, or an empty string.

    :raises argparse.ArgumentTypeError: the text is neither
    """
    from magnum_capi_helm.model import label_types

    try:
        return label_types.VERSION(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def width() -> int:
    """Return the columns of COLUMNS, of the terminal, or of piped output."""
    return shutil.get_terminal_size((120, 24)).columns


def duration(seconds: float) -> str:
    """Return a time in seconds, or in minutes if it is longer."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def operator(action: str) -> call.Actor:
    """Return the user of this shell, for logs and for helm's history."""
    from magnum_capi_helm.model import call

    name = os.environ.get("SUDO_USER") or _login()
    return call.Actor(action, user=f"{name}@{socket.gethostname()}")


def _login() -> str:
    """Return the user's name; a user in a container may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


@contextlib.contextmanager
def audited(action: str, subject: str) -> Iterator[call.Actor]:
    """Log that the operator acts, and whether it was accepted."""
    from magnum_capi_helm.model import call

    actor = operator(action)
    with call.acting(actor), call.logged(subject):
        yield actor


def find_cluster(ref: str) -> Any:
    """Return the row of a cluster of this driver, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name, or it
        is of another driver
    """
    from magnum.common import exception

    from magnum_capi_helm.database import rows

    row = rows.find_cluster(ref)
    try:
        template = row.cluster_template
    except exception.ClusterTemplateNotFound:
        # This driver can do without the template.
        return row
    if not of_this_driver(template):
        kind = (template.server_type, template.cluster_distro, template.coe)
        name = template.driver or f"for {'/'.join(map(str, kind))}"
        raise errors.InvalidInput(
            f"cluster {row.name} ({row.uuid}) belongs to the driver {name}: "
            f"give a cluster of {names.DRIVER}"
        )
    return row


def release(row: Any) -> cluster_release.Release:
    """Return a cluster's release, to look at; nothing is written."""
    from magnum_capi_helm.management_clusters import registry
    from magnum_capi_helm.operations import cluster_release

    return cluster_release.Release(None, row, registry.find_runtime(row))


def operation(row: Any) -> cluster_operation.Operation:
    """Return an operation of the operator on a cluster.

    Its management cluster has to be the recorded one.
    """
    from magnum_capi_helm.database import rows
    from magnum_capi_helm.management_clusters import registry
    from magnum_capi_helm.operations import cluster_operation

    rt = registry.verified_runtime(row)
    return cluster_operation.Operation(rows.everywhere(), row, rt)


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


# Errors of Magnum's database

_LIBRARIES = frozenset({"oslo_db", "sqlalchemy"})


def _is_database_error(error: Exception) -> bool:
    """Return whether oslo.db or SQLAlchemy defines the error's class.

    Both libraries are large, so this module does not import them: their
    modules are known by name.
    """
    return any(
        each.__module__.partition(".")[0] in _LIBRARIES
        for each in type(error).__mro__
    )


def read_database(ask: Callable[[], _Answer]) -> _Answer:
    """Call a function that reads Magnum's database.

    :raises NotConfigured: the database can't be read. The error is not
        chained, as it would be from a context manager: the database's own
        error quotes SQL, its parameters and the URL
    """
    scheme, _, path = database_url().partition("?")[0].partition(":///")
    # SQLite would create the file.
    if scheme == "sqlite" and not os.path.isfile(path):
        raise errors.NotConfigured(
            f"there is no file {path}: set [database] connection"
        )
    try:
        return ask()
    except Exception as error:
        if not _is_database_error(error):
            raise
        message = _describe_database_error(error)
    raise errors.NotConfigured(message)


def database_url() -> str:
    """Return ``[database] connection``."""
    # A command that needs it has loaded Magnum's configuration already.
    import magnum.conf

    return str(magnum.conf.CONF.database.connection or "")


def _describe_database_error(error: Exception) -> str:
    """Return the class and code of an error, and the database's place.

    The error's own text is left out: it quotes SQL and the URL.
    """
    shown = f"{type(error).__name__} {_database_code(error)}".rstrip()
    place = f"[database] connection {database_location(database_url())}"
    return (
        f"Magnum's database can't be read ({shown}): see whether it answers "
        f"at {place.rstrip()}, and whether it has the tables of this Magnum"
    )


def _database_code(error: Exception) -> str:
    """Return the database's own error code; empty: there is none."""
    inner = getattr(error, "inner_exception", None) or error
    original = getattr(inner, "orig", None)
    state = getattr(original, "pgcode", None)
    number = next(iter(getattr(original, "args", ())), None)
    return str(state or (number if isinstance(number, int) else ""))


def database_location(url: str) -> str:
    """Return a database's URL without user, password and parameters.

    Empty, where it is not certain which part is the password.
    """
    scheme, separator, rest = url.partition("://")
    _, sign, host = rest.rpartition("@")
    if not separator or not (sign or scheme.startswith("sqlite")):
        return ""
    return f"{scheme}://{host.partition('?')[0]}"
