# SPDX-License-Identifier: Apache-2.0

"""A workload in the cluster, and requests to it all the time."""

import os
import pathlib
import threading
import time
import urllib.error
import urllib.request

from lab import errors
from lab import layout
from lab import tools
from lab.demo import terminal
from lab.nodes import cgroups
from lab.nodes import machine
from lab.nodes import mode

_MANIFEST = pathlib.Path(__file__).with_name("workload.yaml")
_ADDRESS = "jsonpath={.status.loadBalancer.ingress[0].ip}"
_PATIENCE = 120.0
#: Seconds between two requests, and for an answer.
_PAUSE, _TIMEOUT = 0.1, 2.0


def start(kubeconfig: str) -> "Requests":
    """Start the workload; return requests to it.

    :raises LabError: it does not answer
    """
    manifest = os.path.relpath(_MANIFEST, layout.CHECKOUT)
    terminal.run("kubectl", "apply", "-f", manifest, kubeconfig=kubeconfig)
    requests = Requests(f"http://{_address(kubeconfig)}/hostname")
    requests.start()
    return requests


def _address(kubeconfig: str) -> str:
    """Wait until the Service has the address of its load balancer."""
    kubectl = [str(layout.BIN / "kubectl"), f"--kubeconfig={kubeconfig}"]
    words = ["get", "service", "web", "--output", _ADDRESS]
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if found := tools.output([*kubectl, *words]):
            print(f"The Service web has the address {found}.")
            return found
        time.sleep(1)
    raise errors.LabError("the Service web gets no address")


class Requests:
    """Requests to a URL, ten a second, until they are stopped."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._answered = 0
        self._lost = 0
        self._told = (0, 0)

    def start(self) -> None:
        """Wait for the first answer, and go on in the background.

        :raises LabError: there is none
        """
        deadline = time.monotonic() + _PATIENCE
        while not self._ask():
            if time.monotonic() > deadline:
                raise errors.LabError(f"{self._url} does not answer")
            time.sleep(1)
        print(f"$ curl {self._url}\n{self._last}")
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(_PAUSE):
            if self._ask():
                self._answered += 1
            else:
                self._lost += 1

    def _ask(self) -> bool:
        try:
            with urllib.request.urlopen(  # noqa: S310  it is http
                self._url, timeout=_TIMEOUT
            ) as answer:
                self._last = answer.read().decode()
        except (OSError, urllib.error.URLError):
            return False
        return True

    def tell(self) -> None:
        """Print how many were answered since the last time."""
        now = self._answered, self._lost
        answered, lost = (a - b for a, b in zip(now, self._told, strict=True))
        self._told = now
        print(f"  requests meanwhile: {answered} answered, {lost} lost")

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()
        self._thread.join()


def tell_memory() -> None:
    """Print the memory of all machines."""
    used = [
        cgroups.memory_used(f"{machine.group(mode.PREFIX)}/{each.disk.name}")
        for each in machine.all_of(mode.PREFIX, mode.MACHINES)
        if each.running
    ]
    megabytes = sum(used) / 1024**2
    print(f"  memory of {len(used)} machines: {megabytes:.0f} MB")
