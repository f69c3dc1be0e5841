# SPDX-License-Identifier: Apache-2.0

"""Look into machines, and ask the API of a cluster without kubectl."""

from __future__ import annotations

import pathlib
import shlex
from typing import Any

import requests

from lab.nodes import machine
from lab.nodes import mode

#: A program of a machine that asks a server for TLS, and says how it went.
_TLS = """
import socket, ssl, sys
context = ssl._create_unverified_context()
connected = False
try:
    plain = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
    connected = True
    context.wrap_socket(plain)
except OSError as error:
    # A server may reset a connection before the client knows that it is one.
    closed = connected or isinstance(error, ConnectionResetError)
    print("closed" if closed else "no connection")
else:
    print("answers")
"""


def machine_of(name: str) -> machine.Machine:
    """Return the machine of a server, which runs.

    :param name: the server's, which the node has as well
    """
    [found] = [
        each
        for each in machine.all_of(mode.PREFIX, mode.MACHINES)
        if each.running and each.hostname == name
    ]
    return found


def files_with(host: machine.Machine, words: str, folder: str) -> list[str]:
    """Return the files of a machine that have some words as they are.

    :param folder: the files are below it
    """
    search = f"grep -rlaF -- {shlex.quote(words)} {folder}"
    # Its exit code is 1 if there is no such file.
    found = host.run("sh", "-c", f"{search} || [ $? = 1 ]")
    return found.split()


def connects(host: machine.Machine, address: str, port: int) -> str:
    """Return how a server answers a machine that asks for TLS.

    :returns: ``answers``; ``closed``: it takes no such client; ``no
        connection``: nothing is there
    """
    return host.run("python3", "-c", _TLS, address, str(port)).strip()


class Api:
    """The Kubernetes API for a client with a token, or with a certificate.

    :param authority: PEM of its CA
    :param folder: for the CA
    """

    def __init__(
        self, url: str, authority: bytes, folder: pathlib.Path
    ) -> None:
        self._url = url
        self._authority = folder / "api-ca.pem"
        self._authority.write_bytes(authority)

    def call(
        self,
        path: str,
        *,
        token: str = "",
        certificate: pathlib.Path | None = None,
        body: dict[str, Any] | None = None,
    ) -> requests.Response:
        """Return the answer to GET, or to POST if there is a body."""
        return requests.request(
            "POST" if body else "GET",
            f"{self._url}{path}",
            json=body,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            cert=str(certificate) if certificate else None,
            verify=str(self._authority),
            timeout=30,
        )

    def who(self, token: str) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status, and the user that the API takes it for.

        The user is empty if the status is not 201.
        """
        answer = self.call(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            token=token,
            body={
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "SelfSubjectReview",
            },
        )
        if answer.status_code != requests.codes.created:
            return answer.status_code, {}
        user: dict[str, Any] = answer.json()["status"]["userInfo"]
        return answer.status_code, user
