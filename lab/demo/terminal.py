# SPDX-License-Identifier: Apache-2.0

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
