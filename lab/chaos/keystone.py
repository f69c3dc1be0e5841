# SPDX-License-Identifier: Apache-2.0

"""A proxy in front of Keystone."""

from __future__ import annotations

import dataclasses
import urllib.parse

from lab.chaos import faults
from lab.chaos import proxy


class Proxy(proxy.Proxy):
    """Whoever logs in here is told to come back here.

    :param url: of Keystone, with the path
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._path = parts.path
        self._real = f"{parts.scheme}://{parts.netloc}".encode()
        super().__init__(self._real.decode())

    @property
    def url(self) -> str:
        """With the path."""
        return f"{super().url}{self._path}"

    def answer(
        self, request: faults.Request, forward: faults.Forward
    ) -> faults.Answer:
        """With the proxy's address in the catalogue, and everywhere else."""
        found = super().answer(request, forward)
        here = super().url.encode()
        return dataclasses.replace(
            found, body=found.body.replace(self._real, here)
        )
