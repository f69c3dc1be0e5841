# SPDX-License-Identifier: Apache-2.0

"""This host in the network of floating IPs.

The services listen on 127.0.0.1 alone. Machines and their pods reach them at
this host's address in that network, as far as the firewall's rules say.
"""

import os
import pathlib

from lab.nodes import fabric
from lab.nodes import mode

BRIDGE = f"{mode.PREFIX}ext"
#: Keystone, Nova, Cinder, Placement, Glance, Barbican, Magnum, Neutron,
#: Octavia.
_PORTS = (5000, 8774, 8776, 8778, 9292, 9311, 9511, 9696, 9876)
_MAC = "fe:16:3e:00:00:01"
_LIMIT = pathlib.Path("/proc/sys/fs/inotify/max_user_instances")
_WATCHERS = 8192
_RULES = """
table ip {table}
delete table ip {table}
table ip {table} {{
    chain from_machines {{
        type nat hook prerouting priority dstnat;
        iifname "{bridge}" ip daddr {address} tcp dport {{ {ports} }} \
dnat to 127.0.0.1
    }}
    chain from_host {{
        type nat hook output priority -100;
        ip daddr {address} tcp dport {{ {ports} }} dnat to 127.0.0.1
    }}
    # The other services of 127.0.0.1 are not for machines.
    chain other_services {{
        type filter hook input priority filter;
        iifname "{bridge}" ip daddr 127.0.0.0/8 ct status dnat accept
        iifname "{bridge}" ip daddr 127.0.0.0/8 drop
    }}
    # Machines see nothing beyond the lab, as without a route.
    chain beyond {{
        type filter hook forward priority filter;
        iifname "{bridge}" oifname != "{bridge}" reject
    }}
}}
"""


def rules() -> str:
    """Return the rules of this host for nft."""
    return _RULES.format(
        table=mode.PREFIX,
        bridge=BRIDGE,
        address=mode.ADDRESS,
        ports=", ".join(map(str, _PORTS)),
    )


def _connections() -> int:
    """Return the number of connections that kube-proxy wants to be possible.

    The kernel has one for all namespaces, and only this host may change it.
    kube-proxy ends when it is another one than it computes
    (``getConntrackMax`` in Kubernetes' ``cmd/kube-proxy/app``).
    """
    return max(131072, 32768 * (os.cpu_count() or 1))


def _watchers() -> int:
    """Return the number of inotify instances that one user may have.

    The kernel's default is 128, and all machines share it: the third cluster
    gets no more, and systemd in its machines waits for ever.
    """
    return max(_WATCHERS, int(_LIMIT.read_text()))


def ready() -> bool:
    """Whether the network is there."""
    return (pathlib.Path("/sys/class/net") / BRIDGE).exists()


def make() -> None:
    """Make the bridge and the rules.

    :raises CommandError: a command failed
    """
    if not ready():
        prefix = mode.NETWORK.rpartition("/")[2]
        # Else it takes an address of its links, another one with each.
        own = ("address", _MAC, "type", "bridge")
        fabric.run("ip", "link", "add", BRIDGE, *own)
        fabric.run(
            "ip", "address", "add", f"{mode.ADDRESS}/{prefix}", "dev", BRIDGE
        )
        fabric.run("ip", "link", "set", BRIDGE, "up")
    fabric.run("nft", "-f", "-", text=rules())
    for name, value in {
        "net.ipv4.ip_forward": 1,
        f"net.ipv4.conf.{BRIDGE}.route_localnet": 1,
        "net.netfilter.nf_conntrack_max": _connections(),
        "fs.inotify.max_user_instances": _watchers(),
    }.items():
        fabric.run("sysctl", "-qw", f"{name}={value}")


def remove() -> None:
    """Remove the bridge and the rules, if there are any."""
    if ready():
        table = f"table ip {mode.PREFIX}"
        fabric.run("nft", "-f", "-", text=f"{table}\ndelete {table}")
        fabric.run("ip", "link", "del", BRIDGE)
