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

"""Commands as a user would type them, with what they print."""

import os
import shlex
import subprocess
import sys

from lab import environment
from lab import errors
from lab import layout
from lab.cloud import config


def heading(text: str) -> None:
    """What comes next."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}# {text}{plain}", flush=True)


def run(*words: str, kubeconfig: str = "") -> str:
    """Show a command, run it, show and return what it prints."""
    env = environment.inside(**config.credentials("demo"))
    shown = shlex.join(words)
    if kubeconfig:
        env["KUBECONFIG"] = kubeconfig
        shown = f"KUBECONFIG={os.path.relpath(kubeconfig)} {shown}"
    print(f"$ {shown}", flush=True)
    done = subprocess.run(
        words,
        env=env,
        cwd=layout.CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise errors.LabError(
            f"'{shown}' ended with {done.returncode}", log=layout.log("magnum")
        )
    return done.stdout
