# SPDX-License-Identifier: Apache-2.0

"""A machine: a system of its own in namespaces of its own.

It shares the kernel with its host. Its processes see only each other, its
network has only its own ports, and its root is a Debian in which systemd
starts cloud-init, containerd and kubelet.

A machine goes on when the process that started it ends. All that is known of
it is in its folder.
"""

from collections.abc import Mapping, Sequence
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import time
from typing import IO

from lab import errors
from lab import processes
from lab.nodes import cgroups
from lab.nodes import fabric
from lab.nodes import names

_BOOT = pathlib.Path(__file__).with_name("files") / "boot.sh"
_NAMESPACES = ("--mount", "--uts", "--ipc", "--cgroup", "--pid")
_OWN = ("root", "work", "system", "kubelet", "etcd", "seed")
_SPEC = "machine.json"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PATIENCE = 10.0


@dataclasses.dataclass(frozen=True)
class Link:
    """A network port.

    :param port: its identifier in Neutron
    """

    port: str
    mac: str


@dataclasses.dataclass(frozen=True)
class Spec:
    """What a machine is made of.

    :param image: folder with ``base``, ``system`` and ``containerd``
    :param memory: limit in bytes
    """

    name: str
    hostname: str
    image: str
    memory: int
    links: tuple[Link, ...]


class Machine:
    """One machine on this host.

    :param prefix: of the lab, for names of namespaces and links
    :param folder: all machines are below it
    """

    def __init__(self, prefix: str, folder: pathlib.Path, name: str) -> None:
        self._prefix = prefix
        self.disk = folder / name
        self._network = names.machine_namespace(prefix, name)
        self._group = f"{group(prefix)}/{name}"
        self._record = self.disk / "process"

    @property
    def exists(self) -> bool:
        """Whether it was made and not removed."""
        return (self.disk / _SPEC).exists()

    @property
    def running(self) -> bool:
        """Whether its first process lives."""
        return processes.alive(processes.read(self._record))

    @property
    def hostname(self) -> str:
        """The name of the node that it becomes."""
        return self._spec().hostname

    def _spec(self) -> Spec:
        fields = json.loads((self.disk / _SPEC).read_text())
        links = tuple(Link(**each) for each in fields.pop("links"))
        return Spec(**fields, links=links)

    def make(self, spec: Spec, seed: Mapping[str, bytes]) -> None:
        """Make the machine's disk, without starting it.

        :param seed: files of its configuration drive
        """
        for name in _OWN:
            (self.disk / name).mkdir(parents=True, exist_ok=True)
        store = self.disk / "containerd"
        if not store.exists():
            _copy_store(pathlib.Path(spec.image) / "containerd", store)
        for path, content in seed.items():
            file = self.disk / "seed" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        text = json.dumps(dataclasses.asdict(spec))
        (self.disk / _SPEC).write_text(text)

    def start(self) -> None:
        """Start the machine unless it runs."""
        if self.running:
            return
        spec = self._spec()
        image = pathlib.Path(spec.image)
        self._plug(spec.links)
        groups = cgroups.make(self._group, spec.memory)
        enter = 'for group in $GROUPS_; do echo $$ >$group; done; exec "$@"'
        argv = [
            "bash",
            "-c",
            enter,
            "bash",
            "nsenter",
            f"--net=/run/netns/{self._network}",
            "unshare",
            *_NAMESPACES,
            "--fork",
            "--kill-child",
            "--propagation=private",
            "bash",
            str(_BOOT),
            str(image / "system"),
            str(image / "base"),
            str(self.disk),
            spec.hostname,
        ]
        variables = {"GROUPS_": " ".join(map(str, groups))}
        processes.spawn(
            argv,
            record=self._record,
            log=self.disk / "boot.log",
            env={**os.environ, **variables},
            cwd=self.disk,
        )
        self._wait()

    def _wait(self) -> None:
        """Wait until the machine has its first process: Nova asks at once.

        :raises LabError: it does not start
        """
        deadline = time.monotonic() + _PATIENCE
        while not self.running:
            if time.monotonic() > deadline:
                raise errors.LabError(
                    f"machine {self.disk.name} does not start",
                    log=self.disk / "boot.log",
                )
            time.sleep(0.02)

    def _plug(self, links: Sequence[Link]) -> None:
        """Give the machine its network ports.

        The network agent connects their outer ends to the switch.
        """
        switch = names.switch_namespace(self._prefix)
        for namespace in (self._network, switch):
            fabric.add_namespace(namespace)
        for number, link in enumerate(links):
            inner = f"eth{number}"
            if _has_link(self._network, inner):
                continue
            outer = names.machine_link(self._prefix, link.port)
            fabric.run(
                *("ip", "-n", switch, "link", "add", outer, "up"),
                *("type", "veth", "peer", "name", inner),
                *("address", link.mac, "netns", self._network),
            )

    def stop(self) -> None:
        """Switch the machine off."""
        cgroups.kill(self._group)
        identity = processes.read(self._record)
        if identity is not None:
            processes.stop(identity)
        self._record.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the machine with its disk, ports and groups."""
        self.stop()
        cgroups.remove(self._group)
        with contextlib.suppress(fabric.CommandError):
            # Both ends of its links go with it.
            fabric.run("ip", "netns", "del", self._network)
        shutil.rmtree(self.disk, ignore_errors=True)

    def run(self, *argv: str, stdin: IO[bytes] | None = None) -> str:
        """Run a program in the machine; return its output.

        :raises CalledProcessError: the program fails
        :raises LabError: the machine does not run
        """
        started = processes.read(self._record)
        if started is None:
            raise errors.LabError(f"machine {self.disk.name} does not run")
        task = f"/proc/{started.pid}/task/{started.pid}/children"
        first = pathlib.Path(task).read_text().split()[0]
        enter = ["nsenter", "--target", first, "--all", "--"]
        done = subprocess.run(
            [*enter, "env", "-i", f"PATH={_PATH}", *argv],
            stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return done.stdout

    def console(self) -> str:
        """Return what cloud-init and the programs that it ran have said."""
        log = self.disk / "root" / "var/log/cloud-init-output.log"
        try:
            return log.read_text(errors="replace")
        except OSError:
            return ""


def group(prefix: str) -> str:
    """Return the control group of all machines of a lab."""
    return f"{prefix}nodes"


def all_of(prefix: str, folder: pathlib.Path) -> list[Machine]:
    """Return the machines whose disks are in a folder."""
    if not folder.exists():
        return []
    return [Machine(prefix, folder, each.name) for each in folder.iterdir()]


def _has_link(namespace: str, link: str) -> bool:
    try:
        fabric.run("ip", "-n", namespace, "link", "show", link)
    except fabric.CommandError:
        return False
    return True


def _copy_store(source: pathlib.Path, target: pathlib.Path) -> None:
    """Give a machine the images of its system.

    Files of images never change and are linked. containerd's databases do.
    """
    subprocess.run(["cp", "-al", source, target], check=True)
    for database in target.rglob("*.db"):
        original = source / database.relative_to(target)
        database.unlink()
        shutil.copy2(original, database)
