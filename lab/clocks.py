# SPDX-License-Identifier: Apache-2.0

"""A clock of its own for one service: Debian's faketime."""

import pathlib

from lab import errors

#: Below the folder of the machine's architecture. The one that ``faketime``
#: itself loads; programs with threads take it as well.
_LIBRARY = "*/faketime/libfaketime.so.1"
_LIBRARIES = pathlib.Path("/usr/lib")


def ahead(seconds: int) -> dict[str, str]:
    """The environment of a program whose clock is ahead.

    :param seconds: behind, if negative
    :raises LabError: faketime is not installed
    """
    found = next(_LIBRARIES.glob(_LIBRARY), None)
    if found is None:
        raise errors.LabError(
            "--clock: faketime is not installed",
            hint="As root: apt-get install -y faketime",
        )
    return {"LD_PRELOAD": str(found), "FAKETIME": f"{seconds:+d}s"}
