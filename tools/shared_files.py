# SPDX-License-Identifier: Apache-2.0

"""Build the files of a wheel that come from the code: manual and completion.

``python3 -m tools.shared_files`` writes them where ``setup.cfg`` expects
them. It needs the package, with its entry points, and doc/requirements.txt.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

CHECKOUT = pathlib.Path(__file__).parents[1]
#: Becomes ``share`` of the environment into which the wheel is installed.
SHARE = CHECKOUT / "doc" / "build" / "share"
_NAME = "magnum-capi-helm"
MANUAL = f"man/man1/{_NAME}.1"
COMPLETION = f"bash-completion/completions/{_NAME}"


def build(share: pathlib.Path = SHARE) -> None:
    """Write all files anew.

    :raises subprocess.CalledProcessError: a program failed; standard error
        has the reason
    """
    shutil.rmtree(share, ignore_errors=True)
    manual = share / MANUAL
    manual.parent.mkdir(parents=True)
    trees = CHECKOUT / "doc" / "build" / "man-doctrees"
    kept = ("-q", "-W", "-b", "man", "-d", str(trees))
    _run("sphinx", *kept, "doc/source", str(manual.parent))
    completion = share / COMPLETION
    completion.parent.mkdir(parents=True)
    words = ("magnum_capi_helm.cli.main", "complete", "--name", _NAME)
    completion.write_text(_run(*words))


def _run(*words: str) -> str:
    """Return the output of a Python module."""
    command = [sys.executable, "-W", "ignore", "-m", *words]
    done = subprocess.run(
        command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


if __name__ == "__main__":
    build()
