# SPDX-License-Identifier: Apache-2.0

"""From the user's Python into the lab's own virtual environment.

Only the standard library may be imported here and by the modules imported
here: choices, cluster_api, definitions, errors, environment, golang, layout,
lock, programs, stamps, steps, tools, virtualenv, nodes.mode, nodes.system.
"""

import os
import pathlib
import sys

from lab import environment
from lab import errors
from lab import layout
from lab import lock
from lab import programs
from lab import steps
from lab import virtualenv
from lab.nodes import system

_DRIVER = "driver"


def inside() -> bool:
    """Whether the lab's own Python runs us already."""
    return pathlib.Path(sys.prefix) == layout.VENV


def prepare(
    other: programs.Other, *, with_driver: bool = True, nodes: bool = False
) -> None:
    """Install packages and the driver while the programs are built.

    :param other: the Cluster API that is to run in place of the lab's own
    :param nodes: build the systems of machines as well
    """
    todo = [
        each for each in _todo(other) if with_driver or each.name != _DRIVER
    ]
    if nodes and not system.ready():
        needs = frozenset({"programs"})
        todo.append(steps.Step("systems of machines", system.build, needs))
    if todo:
        steps.run(todo)


def _todo(other: programs.Other) -> list[steps.Step]:
    found = []
    if not virtualenv.packages_ready():
        install = virtualenv.install_packages
        found.append(steps.step("Python packages", install))
    if not virtualenv.driver_ready():
        install = virtualenv.install_driver
        found.append(steps.step(_DRIVER, install, "Python packages"))
    if not programs.ready(other):
        found.append(
            steps.Step("programs", lambda say: programs.build(say, other))
        )
    return found


def enter(held: int | None) -> None:
    """Become the same command, run by the lab's own Python."""
    if not virtualenv.usable():
        raise errors.LabError(
            "there is no lab yet", hint="Run 'python3 -m lab up' first."
        )
    env = environment.outside()
    if held is not None:
        env.update(lock.handed_on(held))
    sys.stdout.flush()
    os.chdir(layout.CHECKOUT)
    argv = [str(layout.PYTHON), "-m", "lab", *sys.argv[1:]]
    os.execve(layout.PYTHON, argv, env)  # noqa: S606  it replaces us
