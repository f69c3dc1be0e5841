# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm``: commands for operators.

Help, completion and usage errors load neither Magnum nor its configuration,
whose imports take more than a second: a command reads the configuration, and
imports the modules that it needs, when it runs.
"""

from __future__ import annotations

import argparse
from importlib import metadata
import logging
import sys
from typing import Any
import warnings

from cliff import app
from cliff import command
from cliff import commandmanager
from cliff import help as cliff_help

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors

#: Loggers whose warnings a command's own error, or ``check``, repeats.
_REPEATED = ("keystoneauth", "oslo_service", "magnum_capi_helm.runtime")


class Application(app.App):
    """The commands, and the options that all of them have."""

    #: cliff names both after the program that was started.
    NAME = base.PROGRAM
    LOG = logging.getLogger(__name__)

    def __init__(self) -> None:
        super().__init__(
            description="Operate the Cluster API driver of Magnum.",
            version=metadata.version("magnum-capi-helm"),
            command_manager=commandmanager.CommandManager(
                "magnum_capi_helm.cli"
            ),
            deferred_help=True,
        )

    def build_option_parser(
        self, description: Any, version: Any, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        """Add the configuration files to cliff's own options."""
        parser: argparse.ArgumentParser = super().build_option_parser(
            description, version, argparse_kwargs
        )
        parser.add_argument(
            "--config-file",
            action="append",
            metavar="FILE",
            help="configuration file of the conductor; may be used more than "
            "once (default: /etc/magnum/magnum.conf)",
        )
        parser.add_argument(
            "--config-dir",
            action="append",
            metavar="DIR",
            default=[],
            help="directory with more configuration files; may be used more "
            "than once",
        )
        return parser

    def initialize_app(self, argv: list[str]) -> None:
        """Ask for the help if there is no command; cliff opens a shell."""
        self.options.deferred_help = self.options.deferred_help or not argv

    def print_help_if_requested(self) -> None:
        """Print the options and the commands, for ``--help``.

        Cliff would search all installed packages for names of other programs.
        """
        if not self.options.deferred_help:
            return
        self.parser.print_help(self.stdout)
        self.stdout.write("\nCommands:\n")
        for name, entry_point in sorted(self.command_manager):
            line = str(entry_point.load().__doc__).splitlines()[0].rstrip(".")
            self.stdout.write(f"  {name:<31} {line}\n")
        raise cliff_help.HelpExit

    def get_fuzzy_matches(self, cmd: str) -> list[str]:
        """Suggest the commands that have the unknown word as a word."""
        names = [
            name for name, _ in self.command_manager if cmd in name.split()
        ]
        return sorted(names) or list(super().get_fuzzy_matches(cmd))

    def prepare_to_run_command(self, cmd: command.Command) -> None:
        """Let a command read the configuration, once it has parsed its words.

        A usage error needs no configuration.
        """
        if isinstance(cmd, base.Command):
            cmd.configure = lambda: self._configure(cmd)

    def _configure(self, cmd: base.Command) -> None:
        """Read the configuration of the conductor.

        :raises NotConfigured: there is none, and the command needs one
        """
        for name in _REPEATED:
            logging.getLogger(name).setLevel(logging.ERROR)
        from magnum_capi_helm.config import conf

        # oslo.db would try to connect for 100 seconds, in silence; forever
        # with the -1 that deployers set for services.
        conf.CONF.set_override("max_retries", 0, "database")
        conf.CONF(
            [f"--config-dir={path}" for path in self.options.config_dir],
            project="magnum",
            default_config_files=self.options.config_file,
        )
        if conf.files():
            return
        if cmd.needs_configuration:
            raise errors.NotConfigured(conf.NO_FILES)
        self.stderr.write(f"{conf.NO_FILES}\n")


def main(argv: list[str] | None = None) -> int:
    """Run the console script."""
    arguments = sys.argv[1:] if argv is None else argv
    if not sys.warnoptions:
        # Warnings of Magnum's libraries are for their developers.
        warnings.simplefilter("ignore")
    return int(Application().run(arguments))


if __name__ == "__main__":
    sys.exit(main())
