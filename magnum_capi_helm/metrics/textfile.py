# SPDX-License-Identifier: Apache-2.0

"""Files for node_exporter's textfile collector.

It may read at any moment, and as another user: a file is complete when it
appears, and everybody may read it.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
import time

_MODE = 0o644
#: Seconds without a write after which a process that is not there is dead.
_DEAD = 60.0


def write(path: pathlib.Path, text: str) -> None:
    """Write a file, or leave the one that is there.

    :raises OSError: it could not be written
    """
    # The collector takes what ends with .prom, and this does not.
    handle, temporary = tempfile.mkstemp(
        prefix=f".{path.name}.", dir=path.parent
    )
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), _MODE)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def of_process(directory: pathlib.Path, host: str, pid: int) -> pathlib.Path:
    """The file of one process of a conductor."""
    return directory / f"{_beginning(host)}{pid}.prom"


def remove_dead(directory: pathlib.Path, host: str) -> None:
    """Remove what processes of this host left that are there no more.

    :raises OSError: the directory can't be read
    """
    beginning = _beginning(host)
    for path in directory.iterdir():
        name = path.name.removeprefix(".")
        pid = name.removeprefix(beginning).partition(".")[0]
        if name.startswith(beginning) and pid.isdecimal():
            with contextlib.suppress(OSError):
                age = time.time() - path.stat().st_mtime
                # Of another namespace of processes, it may be alive.
                if age > _DEAD and not _alive(int(pid)):
                    path.unlink()


def _beginning(host: str) -> str:
    return f"magnum_capi_helm_{host.replace('/', '_')}_"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is another user's.
        pass
    return True
