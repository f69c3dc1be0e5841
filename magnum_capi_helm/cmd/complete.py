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

"""``magnum-capi-helm complete``: what a shell completes words with."""

from __future__ import annotations

import argparse
from importlib import metadata
from typing import Any

from cliff import complete
from stevedore import extension

from magnum_capi_helm.cmd import base

#: Registered for this program alone, not for all programs of cliff.
_POINT = metadata.EntryPoint(
    "zsh", f"{__name__}:Zsh", "cliff.formatter.completion"
)
_ZSH = """\
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
if [[ $funcstack[1] == _{function} ]]; then
  _{function} "$@"
else
  compdef _{function} {program}
fi
"""


class Zsh(complete.CompleteShellBase):
    """For zsh: to be sourced, or to be put into a directory of ``fpath``."""

    def get_header(self) -> str:
        """How the function begins."""
        return (
            f"#compdef {self.name}\n_{self.escaped_name}() {{\n"
            "  local -A known\n  known=(\n"
        )

    def get_trailer(self) -> str:
        """What it does with the words that it knows."""
        rest = _ZSH.format(function=self.escaped_name, program=self.name)
        return f"  )\n{rest}"

    def write(self, cmdo: str, data: list[tuple[str, str]]) -> None:
        """All of it; each key is the words of a command so far."""
        self.output.write(self.get_header())
        self.output.write(f"    cmds '{cmdo}'\n")
        for name, words in data:
            key = name.replace("-", "_")
            self.output.write(f"    cmds_{key} '{words}'\n")
        self.output.write(self.get_trailer())


class Complete(base.Exemplary, complete.CompleteCommand):
    """Print what makes a shell complete commands and options.

    bash needs its package bash-completion for it, zsh its compinit. Print it
    anew after an update of the driver.
    """

    examples = (
        "complete > /etc/bash_completion.d/magnum-capi-helm",
        "complete --shell zsh > "
        "/usr/local/share/zsh/site-functions/_magnum-capi-helm",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._formatters.extensions.append(
            extension.Extension(_POINT.name, _POINT, Zsh, None)
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print it."""
        return int(super().take_action(parsed_args))
