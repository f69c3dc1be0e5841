# SPDX-License-Identifier: Apache-2.0

"""Remove machines and their network from this host.

Disks of machines stay until the lab is wiped or Nova removes them: machines
start again with the lab.
"""

import pathlib

from lab.nodes import cgroups
from lab.nodes import fabric
from lab.nodes import host
from lab.nodes import machine
from lab.nodes import mode

_NETWORK = mode.MACHINES.with_name("network")


def stop() -> int:
    """Stop all machines, and remove what this host has of them.

    :returns: machines that ran
    """
    count = 0
    for each in machine.all_of(mode.PREFIX, mode.MACHINES):
        count += each.running
        each.stop()
    group = machine.group(mode.PREFIX)
    if pathlib.Path("/sys/fs/cgroup/pids", group).exists():
        cgroups.kill(group)
        cgroups.remove(group)
    network = fabric.Fabric(mode.PREFIX, _NETWORK)
    network.remove_all()
    host.remove()
    return count
