# SPDX-License-Identifier: Apache-2.0

"""What every command has: examples, formats, exit codes, completion."""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from typing import Any
from unittest import mock

from cliff import lister
from oslotest import base

from magnum_capi_helm import cli
from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case

CODES = command_case.ROOT / "doc/source/cli/exit-codes.inc"
#: Stands in for the package bash-completion.
_BASH = """
_get_comp_words_by_ref() {
  words=("${COMP_WORDS[@]}"); cur="${words[COMP_CWORD]}"
}
eval "$SCRIPT"
COMP_WORDS=($WORDS "$LAST"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_magnum_capi_helm
printf '%s\\n' "${COMPREPLY[@]}"
"""
_IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sys.modules)
"""
#: Libraries that take long to import, and a module of this package that does.
_SLOW = {
    "magnum",
    "magnum_capi_helm.status.tree",
    "msgspec",
    "oslo_config",
    "prometheus_client",
    "pyhelm3",
    "pykube",
    "requests",
    "rich",
}


def parser_of(name: str) -> argparse.ArgumentParser:
    app = command_case.application()
    command = command_case.declared()[name](app, None)
    return command.get_parser(f"{commands.PROGRAM} {name}")


def examples(name: str) -> list[str]:
    """The lines at the end of a command's help, without the program."""
    _, _, end = parser_of(name).format_help().rpartition("Examples:\n")
    lines = textwrap.dedent(end.strip("\n")).splitlines()
    prefix = f"{commands.PROGRAM} "
    if not all(each.startswith(prefix) for each in lines):
        return []
    return [each.removeprefix(prefix) for each in lines]


class HelpTest(base.BaseTestCase):
    def test_every_command_has_examples_and_each_is_understood(self) -> None:
        app = command_case.application()
        for name, command in command_case.declared().items():
            self.assertTrue(any(e.startswith(name) for e in examples(name)))
            for line in examples(name):
                words = itertools.takewhile(
                    lambda each: each not in ("|", ">"), shlex.split(line)
                )
                factory, found, rest = app.command_manager.find_command(
                    list(words)
                )
                self.assertEqual((command, name), (factory, found), line)
                parser_of(name).parse_args(rest)

    def test_paragraphs_stay_paragraphs(self) -> None:
        text = parser_of("management-cluster thaw").format_help()
        self.assertIn("of a management cluster.\n\nOperations", text)
        self.assertTrue(
            text.endswith(
                "Examples:\n\n"
                "    magnum-capi-helm management-cluster thaw --apply\n"
            ),
            text,
        )

    def test_each_command_is_an_entry_point(self) -> None:
        modules = [
            importlib.import_module(f"{cli.__name__}.{each.name}")
            for each in pkgutil.iter_modules(cli.__path__)
        ]
        written = {
            each
            for module in modules
            for each in vars(module).values()
            if inspect.isclass(each) and issubclass(each, commands.Command)
        }
        lacking = written - set(command_case.declared().values())
        self.assertEqual([], [each for each in lacking if each.examples])

    def test_all_but_these_commands_print_tables_json_and_yaml(self) -> None:
        lists = {
            name
            for name, command in command_case.declared().items()
            if issubclass(command, lister.Lister)
        }
        self.assertEqual(
            {"chart fetch", "describe", "kubeconfig", "metrics", "render"}
            | {"management-cluster permissions", "values"},
            command_case.declared().keys() - lists,
        )
        for name in lists:
            options = parser_of(name)._option_string_actions
            found = set(options["-f"].choices or ())
            self.assertLessEqual({"json", "yaml", "table"}, found, name)

    def test_commands_import_slow_modules_only_when_they_run(self) -> None:
        names = {each.__module__ for each in command_case.declared().values()}
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _IMPORT, *sorted(names)],
            cwd=command_case.ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        modules = set(ended.stdout.split())
        self.assertLessEqual(names, modules)
        self.assertEqual(set(), _SLOW & modules)

    def test_the_program_s_help_has_every_command(self) -> None:
        app = command_case.application()
        self.assertRaises(SystemExit, app.run, ["--help"])
        _, _, text = app.stdout.getvalue().partition("\nCommands:\n")
        listed = [line[2:33].rstrip() for line in text.splitlines()]
        names = {*command_case.declared(), *command_case.CLIFF}
        self.assertEqual(sorted(names), listed)


class ExitTest(base.BaseTestCase):
    """The table of exit codes on the page, row by row."""

    def exit_code(self, *options: str, fault: Any = None) -> int:
        with mock.patch.object(
            management_cluster.Permissions,
            "take_action",
            side_effect=fault,
            return_value=0,
        ):
            return self.run_program(
                "management-cluster", "permissions", *options
            )

    def run_program(self, *words: str) -> int:
        try:
            return int(command_case.application().run(list(words)))
        except SystemExit as ended:
            return int(str(ended.code))

    def test_each_exit_code_is_in_the_table(self) -> None:
        found = {
            "0": self.exit_code(),
            "1": self.exit_code(fault=errors.InvalidInput("no")),
            "2": self.exit_code("--no-such-option"),
            "130": self.exit_code(fault=KeyboardInterrupt()),
            "141": self.exit_code(fault=BrokenPipeError()),
        }
        self.assertEqual(dict(zip(found, map(int, found), strict=True)), found)
        self.assertEqual(list(found), self.codes())
        self.assertEqual(2, self.run_program("no-such-command"))
        self.assertEqual(1, self.exit_code(fault=KeyError()))

    def test_the_page_says_of_each_command_when_it_is_1(self) -> None:
        listed = re.findall(
            r"^   \* - ``([a-z -]+)``$", CODES.read_text(), re.M
        )
        self.assertEqual(sorted(command_case.declared()), listed, str(CODES))

    def test_commands_with_an_own_exit_code_have_an_own_row(self) -> None:
        only = re.findall(
            r"^   \* - ``([a-z -]+)``\n     - only when it fails$",
            CODES.read_text(),
            re.M,
        )
        own = {
            name
            for name, command in command_case.declared().items()
            if any(
                "exit_code = " in inspect.getsource(each)
                for each in command.__mro__
                if each.__module__.startswith("magnum_capi_helm.")
                and each is not commands.Command
            )
            or command.take_action.__annotations__["return"] == "int"
        }
        self.assertEqual(set(), own.intersection(only))

    def codes(self) -> list[str]:
        return re.findall(r"^   \* - ``(\d+)``$", CODES.read_text(), re.M)


class CompletionTest(base.BaseTestCase):
    def script(self) -> str:
        app = command_case.application()
        words = ["complete", "--name", commands.PROGRAM]
        self.assertEqual(0, app.run(words))
        return str(app.stdout.getvalue())

    def completed(self, *words: str) -> set[str]:
        """What bash would offer for the last of some words."""
        if not shutil.which("bash"):
            self.skipTest("there is no bash")
        ended = subprocess.run(
            ["bash", "-c", _BASH],
            env={
                "SCRIPT": self.script(),
                "WORDS": " ".join([commands.PROGRAM, *words[:-1]]),
                "LAST": words[-1],
            },
            check=True,
            capture_output=True,
            text=True,
        )
        return set(ended.stdout.split())

    def test_bash_offers_every_command_and_its_options(self) -> None:
        first = {name.split()[0] for name in command_case.declared()}
        for words, offered in (
            (("",), first | command_case.CLIFF),
            (("desc",), {"describe"}),
            (("chart", ""), {"fetch", "list", "mirror"}),
            (
                ("management-cluster", ""),
                {"accept", "freeze", "permissions", "thaw"},
            ),
            (("describe", "--f"), {"--format"}),
            (("list", "--o"), {"--orphans"}),
            (("chart", "fetch", "--f"), {"--from"}),
            (("management-cluster", "accept", "--l"), {"--lost"}),
        ):
            self.assertEqual(offered, self.completed(*words))
