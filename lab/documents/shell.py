# SPDX-License-Identifier: Apache-2.0

"""One bash for a whole page: directories, variables and masks stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import contextlib
import os
import pathlib
import select
import signal
import subprocess


@contextlib.contextmanager
def opened(
    env: Mapping[str, str], longest: float = 300
) -> Iterator[Callable[[str], tuple[int, str]]]:
    """Start a bash in ``$HOME``, and kill it in the end.

    What is yielded runs a command, and returns its exit code and what it
    printed. It raises TimeoutError after ``longest`` seconds.
    """
    home = pathlib.Path(env["HOME"])
    step, printed = home / ".step", home / ".printed"
    with subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-o", "pipefail"],
        cwd=home,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as child:
        lines, codes = child.stdin, child.stdout
        assert lines and codes

        def run(command: str) -> tuple[int, str]:
            step.write_text(f"{command}\n")
            printed.write_text("")
            lines.write(f". '{step}' </dev/null >>'{printed}' 2>&1; echo $?\n")
            lines.flush()
            ended, _, _ = select.select([codes], [], [], longest)
            text = printed.read_text(errors="replace")
            if not ended:
                raise TimeoutError(f"{command}: {text[-2000:]}")
            code = codes.readline()
            if not code:
                raise RuntimeError(f"{command} ended the shell")
            return int(code), text

        try:
            yield run
        finally:
            os.killpg(child.pid, signal.SIGKILL)
