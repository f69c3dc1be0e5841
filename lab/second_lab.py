# SPDX-License-Identifier: Apache-2.0

"""A second lab in a network namespace of its own.

Tests that restart services or change Magnum's configuration need a lab for
themselves. They run on this one while all other tests run on the first. Both
labs use the same ports, so the second one gets its own loopback interface
with ``unshare``, which needs root.
"""

import os
import pathlib
import shutil

from lab import built
from lab import layout

STATE = layout.STATE / "second"
_TOOLS = ("unshare", "ip")
_ENTER = 'ip link set lo up && exec "$@"'


def available() -> bool:
    """Return whether this machine can run a second lab."""
    return os.geteuid() == 0 and all(map(shutil.which, _TOOLS))


def prepare() -> None:
    """Give the second lab what the first one has built.

    Files are hard links, so this takes no space and about a second.
    """
    for folder in built.FOLDERS:
        target = STATE / folder.name
        shutil.rmtree(target, ignore_errors=True)
        if folder.exists():
            shutil.copytree(folder, target, symlinks=True, copy_function=_link)
    stamps = STATE / layout.STAMPS.name
    stamps.mkdir(parents=True, exist_ok=True)
    for path in built.stamps():
        shutil.copyfile(path, stamps / path.name)


def _link(source: str, target: str) -> str:
    pathlib.Path(target).hardlink_to(source)
    return target


def command(*words: str) -> list[str]:
    """Return a command that runs another one in a new network namespace.

    The namespace lasts as long as its processes: services that the command
    starts and leaves behind can be reached by none that comes later.
    """
    return ["unshare", "--net", "sh", "-c", _ENTER, "sh", *words]
