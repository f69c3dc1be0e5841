# SPDX-License-Identifier: Apache-2.0
"""The receiver of kubeconfigs that the documentation shows, as a program."""

from __future__ import annotations

import base64
import dataclasses
import os
import pathlib
import socket
import sqlite3
import subprocess
import sys
from typing import Any

import yaml

from magnum_capi_helm.tests.functional import programs

_SAMPLE = programs.CHECKOUT / "samples" / "delivery_receiver.py"


@dataclasses.dataclass(frozen=True)
class Delivery:
    """What the receiver remembers of one.

    :param created: as its body said
    """

    id: str
    created: str


class Receiver:
    """It runs when it is told to.

    :param home: directory of its own
    """

    def __init__(self, home: pathlib.Path) -> None:
        self._home = home
        self._inbox = home / "inbox"
        self._inbox.mkdir()
        self._log = home / "receiver.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.key = home / "key"
        self._keep(self.key, base64.b64encode(os.urandom(32)).decode())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])

    @property
    def url(self) -> str:
        """Where it takes deliveries."""
        return f"https://127.0.0.1:{self.port}/kubeconfigs"

    def start(self, certificate: str) -> None:
        """Run, until :meth:`stop`.

        :param certificate: with its key, in PEM
        """
        path = self._home / "server.pem"
        self._keep(path, certificate)
        with self._log.open("ab") as sink:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    str(_SAMPLE),
                    str(self._inbox),
                    str(self.key),
                    str(path),
                    str(self.port),
                ],
                stdout=sink,
                stderr=sink,
            )

    def stop(self) -> None:
        """Nobody listens any more."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def deliveries(self, cluster: str) -> list[Delivery]:
        """What it has had of a cluster, the oldest first."""
        path = self._inbox / "deliveries.sqlite"
        if not path.exists():
            return []
        query = (
            "SELECT id, created FROM deliveries WHERE cluster = ? "
            "ORDER BY created"
        )
        database = sqlite3.connect(path)
        try:
            return [
                Delivery(*row) for row in database.execute(query, (cluster,))
            ]
        finally:
            database.close()

    def kubeconfig(self, cluster: str) -> pathlib.Path:
        """The latest of a cluster."""
        return self._inbox / f"{cluster}.yaml"

    def user(self, cluster: str) -> dict[str, Any]:
        """Certificate and key in it."""
        document = yaml.safe_load(self.kubeconfig(cluster).read_text())
        found: dict[str, Any] = document["users"][0]["user"]
        return found

    def answers(self) -> str:
        """Its log: a line for each request."""
        return self._log.read_text() if self._log.exists() else ""

    def _keep(self, path: pathlib.Path, text: str) -> None:
        path.touch(mode=0o600)
        path.write_text(text)
