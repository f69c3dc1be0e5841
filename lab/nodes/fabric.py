# SPDX-License-Identifier: Apache-2.0

"""Namespaces, bridges and links of this host, as they have to be.

What was made is kept in memory, and the kernel's state is read only before a
change. A network is a bridge in the switch's namespace; a router or a load
balancer is a namespace with a leg in each of its networks.
"""

from collections.abc import Iterable, Iterator, Mapping
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

from lab import errors
from lab.nodes import balancers
from lab.nodes import names
from lab.nodes import wishes

_NETNS = pathlib.Path("/run/netns")
_LINKS = pathlib.Path("/sys/class/net")
_PATIENCE = 10.0
_FORWARD = "net.ipv4.ip_forward=1"
#: A bridge is in no loop: without the protocol, a new link works at once.
_QUIET = ("stp_state", "0", "mcast_snooping", "0")


class CommandError(errors.LabError):
    """A command failed; the text has the command and what it said."""


def run(*argv: str, text: str = "") -> str:
    """Run a command and return what it prints.

    :raises CommandError: it failed
    """
    done = subprocess.run(
        argv, input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CommandError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def _batch(namespace: str, lines: Iterable[str]) -> None:
    """Run commands of ``ip`` in a namespace, as one process."""
    text = "\n".join(lines)
    if text:
        run("ip", "-n", namespace, "-batch", "-", text=text)


def add_namespace(name: str) -> None:
    """Make a namespace unless it is there."""
    if (_NETNS / name).exists():
        return
    run("ip", "netns", "add", name)
    _batch(name, ["link set lo up"])


def _addresses(namespace: str) -> dict[str, set[str]]:
    """Return the links of a namespace with their addresses."""
    found: list[dict[str, Any]] = json.loads(
        run("ip", "-n", namespace, "-j", "address") or "[]"
    )
    return {
        link["ifname"]: {
            f"{each['local']}/{each['prefixlen']}"
            for each in link.get("addr_info", ())
            if each.get("family") == "inet"
        }
        for link in found
        if link
    }


class Fabric:
    """The network of one lab's machines.

    :param prefix: of names
    :param folder: for configurations of haproxy
    """

    def __init__(self, prefix: str, folder: pathlib.Path) -> None:
        self._prefix = prefix
        self._folder = folder
        self._switch = names.switch_namespace(prefix)
        self._bridges: set[str] = set()
        self._attached: dict[str, str] = {}
        self._made: dict[str, wishes.Namespace] = {}

    def start(self) -> None:
        """Make the switch; learn what an earlier process has made."""
        self._folder.mkdir(parents=True, exist_ok=True)
        add_namespace(self._switch)
        bridge = names.network_bridge(self._prefix, "")
        links = _addresses(self._switch)
        self._bridges = {each for each in links if each.startswith(bridge)}
        for each in _NETNS.iterdir():
            if self._is_ours(each.name):
                self._made[each.name] = wishes.Namespace(each.name, (), None)

    def _is_ours(self, name: str) -> bool:
        kinds = (
            names.router_namespace(self._prefix, ""),
            names.balancer_namespace(self._prefix, ""),
        )
        return name.startswith(kinds)

    @property
    def attached(self) -> Mapping[str, str]:
        """Outer ends of servers' ports that have their bridge."""
        return self._attached

    @property
    def made(self) -> Mapping[str, wishes.Namespace]:
        """Routers and load balancers that are as they have to be."""
        return self._made

    def apply(self, wanted: wishes.Wishes) -> None:
        """Make what is wanted, and remove what is not.

        An error is printed, and the next call tries again.
        """
        for bridge in sorted(wanted.bridges - self._bridges):
            with _told():
                self._add_bridge(bridge)
        for each in wanted.namespaces:
            if self._made.get(each.name) != each:
                with _told():
                    self._make(each)
                    self._made[each.name] = each
        with _told():
            self._attach(wanted.attached)
        names_wanted = {each.name for each in wanted.namespaces}
        for name in sorted(self._made.keys() - names_wanted):
            with _told():
                self._remove(name)
                del self._made[name]
        for bridge in sorted(self._bridges - wanted.bridges):
            with _told():
                _batch(self._switch, [f"link del {bridge}"])
                self._bridges.remove(bridge)

    def _add_bridge(self, bridge: str) -> None:
        quiet = " ".join(_QUIET)
        _batch(
            self._switch,
            [
                f"link add {bridge} type bridge {quiet}",
                f"link set {bridge} up",
            ],
        )
        self._bridges.add(bridge)

    def _attach(self, wanted: Mapping[str, str]) -> None:
        """Put servers' ports at their bridges once they are there."""
        for link in self._attached.keys() - wanted.keys():
            del self._attached[link]
        missing = {
            link: bridge
            for link, bridge in wanted.items()
            if self._attached.get(link) != bridge
        }
        if not missing:
            return
        there = _addresses(self._switch).keys() & missing.keys()
        _batch(
            self._switch,
            [f"link set {each} master {missing[each]} up" for each in there],
        )
        self._attached |= {each: missing[each] for each in there}

    def _make(self, wanted: wishes.Namespace) -> None:
        """Make a router or a load balancer, or change it."""
        name = wanted.name
        add_namespace(name)
        run("ip", "netns", "exec", name, "sysctl", "-qw", _FORWARD)
        there = _addresses(name)
        for link in there.keys() - {leg.name for leg in wanted.legs} - {"lo"}:
            _batch(name, [f"link del {link}"])
        lines = []
        for leg in wanted.legs:
            if leg.name not in there:
                self._add_leg(name, leg)
            has = there.get(leg.name, set())
            lines += [
                f"address del {each} dev {leg.name}"
                for each in sorted(has - leg.addresses)
            ]
            # The network's own address first: it is the one that is used.
            new = sorted(leg.addresses - has, key=lambda a: a.endswith("/32"))
            lines += [f"address add {each} dev {leg.name}" for each in new]
            lines.append(f"link set {leg.name} up")
        if wanted.gateway:
            lines.append(f"route replace default via {wanted.gateway}")
        _batch(name, lines)
        if wanted.rules:
            run(
                *("ip", "netns", "exec", name, "nft", "-f", "-"),
                text=wanted.rules,
            )
        if wanted.haproxy:
            self._serve(wanted)

    def _add_leg(self, namespace: str, leg: wishes.Leg) -> None:
        outside = [] if leg.external else ["-n", self._switch]
        run(
            *("ip", *outside, "link", "add", leg.outer, "up"),
            *("master", leg.bridge, "type", "veth", "peer", "name", leg.name),
            *("address", leg.mac, "netns", namespace),
        )

    def _serve(self, wanted: wishes.Namespace) -> None:
        """Start haproxy, or let it read a new configuration."""
        folder = self._folder / wanted.name
        folder.mkdir(exist_ok=True)
        config, record = folder / "haproxy.cfg", folder / "pid"
        config.write_text(wanted.haproxy)
        process = _process(record)
        if process is not None:
            with contextlib.suppress(OSError):
                state = balancers.ask(folder / "socket", "show servers state")
                balancers.state_file(folder).write_text(state)
            os.kill(process, signal.SIGUSR2)
            return
        with (folder / "log").open("ab") as log:
            subprocess.Popen(
                [
                    *("ip", "netns", "exec", wanted.name),
                    *("haproxy", "-W", "-f", str(config), "-p", str(record)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _remove(self, name: str) -> None:
        if (process := _process(self._folder / name / "pid")) is not None:
            os.kill(process, signal.SIGTERM)
        # Links go with it, with both ends.
        run("ip", "netns", "del", name)

    def remove_all(self) -> None:
        """Remove everything of the lab, servers' namespaces as well."""
        for each in sorted(_NETNS.glob(f"{self._prefix}*")):
            with _told():
                self._remove(each.name)
        # The kernel removes links a moment after their namespace.
        deadline = time.monotonic() + _PATIENCE
        link = names.machine_link(self._prefix, "")
        while any(each.name.startswith(link) for each in _LINKS.iterdir()):
            if time.monotonic() > deadline:
                raise CommandError(f"links {link}... are not removed")
            time.sleep(0.05)


def _process(record: pathlib.Path) -> int | None:
    """Return the number of a haproxy that runs."""
    try:
        number = int(record.read_text())
        command = pathlib.Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return number if b"haproxy" in command else None


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Print an error of the kernel or a program, and go on."""
    try:
        yield
    except (CommandError, OSError) as error:
        print(error, file=sys.stderr, flush=True)
