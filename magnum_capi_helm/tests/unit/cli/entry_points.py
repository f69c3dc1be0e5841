# SPDX-License-Identifier: Apache-2.0

"""The commands as they are declared, whatever is installed."""

from __future__ import annotations

import configparser
import importlib
import io
import pathlib
from typing import Any

import magnum_capi_helm
from magnum_capi_helm.cli import base
from magnum_capi_helm.cli import main

ROOT = pathlib.Path(magnum_capi_helm.__file__).parents[1]
#: Commands of each program that uses cliff.
CLIFF = frozenset({"complete", "help"})


def declared() -> dict[str, type[base.Command]]:
    """Each command as one types it, and its class."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    lines = parser["entry_points"]["magnum_capi_helm.cli"].split("\n")
    found = {}
    for line in filter(None, lines):
        name, _, where = line.partition(" = ")
        module, _, kind = where.partition(":")
        command = getattr(importlib.import_module(module), kind)
        found[name.replace("_", " ")] = command
    return found


def application() -> Any:
    """The program with these commands, and with output that is kept."""
    app = main.Application()
    app.stdout, app.stderr = io.StringIO(), io.StringIO()
    commands = app.command_manager.commands
    for name in set(commands) - CLIFF:
        del commands[name]
    for name, command in declared().items():
        app.command_manager.add_command(name, command)
    return app
