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

"""The commands as they are declared, whatever is installed."""

from __future__ import annotations

import configparser
import importlib
import io
import pathlib
from typing import Any

import magnum_capi_helm
from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import main

ROOT = pathlib.Path(magnum_capi_helm.__file__).parents[1]


def declared() -> dict[str, type[base.Exemplary]]:
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
    app.command_manager.commands.clear()
    for name, command in declared().items():
        app.command_manager.add_command(name, command)
    return app
