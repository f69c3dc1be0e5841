# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm complete``: print a shell's completion script."""

from __future__ import annotations

import argparse

from cliff import complete

from magnum_capi_helm.cli import base

_ZSH = """\
#compdef {name}
_{name}() {{
  local -A known
  known=(
{known}  )
  local command=cmds word proposed
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    [[ $word == -* ]] && break
    proposed="${{command}}_${{word//-/_}}"
    (( ${{+known[$proposed]}} )) || break
    command=$proposed
  done
  if [[ ${{known[$command]}} == -* && $PREFIX != -* ]]; then
    _files
  else
    compadd -- ${{=known[$command]}}
  fi
}}
if [[ $funcstack[1] == _{name} ]]; then
  _{name} "$@"
else
  compdef _{name} {name}
fi
"""


class Zsh(complete.CompleteNoCode):
    """Write a script for zsh, to be sourced or put into ``fpath``."""

    def write(self, cmdo: str, data: list[tuple[str, str]]) -> None:
        """Write the script; a key is the first words of a command."""
        known = f"    cmds '{cmdo}'\n"
        for name, words in data:
            known += f"    cmds_{name.replace('-', '_')} '{words}'\n"
        self.output.write(_ZSH.format(name=self.name, known=known))


class Fish(complete.CompleteNoCode):
    """Write a script for fish: a line for each word that others follow."""

    def write(self, cmdo: str, data: list[tuple[str, str]]) -> None:
        """Write the script; options follow anywhere, words of a group once."""
        for name, words in [("", cmdo), *data]:
            typed = f"{self.name} {name.replace('_', ' ')}".strip()
            if words.startswith("-"):
                typed += "*"
            self.output.write(
                f'complete -c {self.name} -n \'string match -q "{typed}" '
                f"(string join \" \" (commandline -opc))' -a '{words}'\n"
            )


#: All programs of cliff share the entry points by which cliff finds shells: a
#: shell that is added there would appear in the other programs, too.
_SHELLS: dict[str, type[complete.CompleteShellBase]] = {
    "bash": complete.CompleteBash,
    "fish": Fish,
    "none": complete.CompleteNoCode,
    "zsh": Zsh,
}


class Complete(base.Command):
    """Print a script that makes a shell complete commands and options.

    bash needs its package bash-completion, and zsh its compinit. Print the
    script again after an update of the driver.
    """

    configuration = base.Configuration.UNUSED

    examples = (
        "complete > /etc/bash_completion.d/magnum-capi-helm",
        "complete --shell zsh > "
        "/usr/local/share/zsh/site-functions/_magnum-capi-helm",
        "complete --shell fish > /etc/fish/completions/magnum-capi-helm.fish",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the shell, and the program's name in it."""
        parser.add_argument(
            "--name",
            default=base.PROGRAM,
            help="name of the command that the shell completes (default: "
            "%(default)s)",
        )
        parser.add_argument(
            "--shell",
            choices=_SHELLS,
            default="bash",
            help="shell of the script; none: only the words (default: "
            "%(default)s)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print the script with the options of every command."""
        commands = complete.CompleteDictionary()
        for name, _ in self.app.command_manager:
            commands.add_command(name.split(), self._options(name))
        shell = _SHELLS[parsed_args.shell](parsed_args.name, self.app.stdout)
        shell.write(commands.get_commands(), commands.get_data())

    def _options(self, name: str) -> list[argparse.Action]:
        factory, *_ = self.app.command_manager.find_command(name.split())
        parser = factory(self.app, None).get_parser(name)
        # Cliff's complete reads the same: argparse has no public way.
        actions = parser._get_optional_actions()
        return [each for each in actions if each.help != argparse.SUPPRESS]
