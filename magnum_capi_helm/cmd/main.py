# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm``: the operator's program.

It reads the configuration of magnum-conductor, so it finds what the conductor
would find. The exit code is 0 only when all is well.

Help, completion and usage errors need neither Magnum nor its configuration,
whose imports take more than a second: a command reads the configuration, and
imports what it needs, when it runs.
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

from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import complete
from magnum_capi_helm.model import errors


class Application(app.App):
    """The commands, and the options that all of them have."""

    #: cliff names its own after the program that was started.
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
        # Cliff's own, which it has added, has no examples, and no zsh.
        self.command_manager.add_command("complete", complete.Complete)

    def build_option_parser(
        self, description: Any, version: Any, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        """Cliff's own options, and the configuration file."""
        parser: argparse.ArgumentParser = super().build_option_parser(
            description, version, argparse_kwargs
        )
        parser.add_argument(
            "--config-file",
            action="append",
            metavar="FILE",
            help="the conductor's configuration, may be given more than "
            "once (default: /etc/magnum/magnum.conf)",
        )
        parser.add_argument(
            "--config-dir",
            action="append",
            metavar="DIR",
            default=[],
            help="a directory of more configuration files",
        )
        return parser

    def prepare_to_run_command(self, cmd: command.Command) -> None:
        """Let a command read the configuration, once its words are right."""
        if isinstance(cmd, base.Exemplary):
            cmd.configure = lambda: self._configure(cmd)

    def _configure(self, cmd: base.Exemplary) -> None:
        """Read the configuration of the conductor.

        :raises NotConfigured: there is none, and the command needs one
        """
        if cmd.configuration is base.Configuration.UNUSED:
            return
        for name in ("keystoneauth", "oslo_service"):
            logging.getLogger(name).setLevel(logging.WARNING)
        from magnum_capi_helm.config import conf

        # oslo.db would try to connect for 100 seconds, in silence.
        conf.CONF.set_default("max_retries", 0, "database")
        conf.CONF(
            [f"--config-dir={path}" for path in self.options.config_dir],
            project="magnum",
            default_config_files=self.options.config_file,
        )
        if conf.files():
            return
        if cmd.configuration is base.Configuration.REQUIRED:
            raise errors.NotConfigured(conf.NO_FILES)
        self.stderr.write(f"{conf.NO_FILES}\n")


def main(argv: list[str] | None = None) -> int:
    """Entry point of the console script."""
    arguments = sys.argv[1:] if argv is None else argv
    if not sys.warnoptions:
        # Those of Magnum's libraries are for who works on them.
        warnings.simplefilter("ignore")
    return int(Application().run(arguments))


if __name__ == "__main__":
    sys.exit(main())
