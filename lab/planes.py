# SPDX-License-Identifier: Apache-2.0

"""The lab's management clusters: the first, and a second for who asks.

Both are made of the same services; names, ports and folders tell them apart.
"""

import dataclasses
import pathlib

from lab import layout


@dataclasses.dataclass(frozen=True)
class Plane:
    """Where one management cluster lives.

    ``suffix`` ends the names of its services, files and folders; ``shift`` is
    added to the first one's ports.
    """

    name: str
    suffix: str
    shift: int

    def called(self, name: str) -> str:
        """A service's or a step's name on this plane."""
        return f"{name}{self.suffix}"

    def port(self, first: int) -> int:
        """The port here of what has the port ``first`` on the first plane."""
        return first + self.shift

    @property
    def pki(self) -> pathlib.Path:
        """The folder of its certificates and keys."""
        return self._own(layout.PKI)

    @property
    def authority(self) -> pathlib.Path:
        """The certificate that signed all others."""
        return self.pki / "ca.crt"

    @property
    def etcd(self) -> pathlib.Path:
        """The folder of its data."""
        return self._own(layout.ETCD)

    @property
    def manifests(self) -> pathlib.Path:
        """The folder of what is applied to its API server."""
        return self._own(layout.MANIFESTS)

    @property
    def kubeconfig(self) -> pathlib.Path:
        """Its administrator's kubeconfig."""
        return self._own(layout.KUBECONFIG)

    @property
    def driver_kubeconfig(self) -> pathlib.Path:
        """The driver's kubeconfig, whose user may do no more than it must."""
        return self._own(layout.DRIVER_KUBECONFIG)

    @property
    def api_port(self) -> int:
        """The port of its API server."""
        return self.port(16443)

    @property
    def api(self) -> str:
        """The URL of its API server."""
        return f"https://127.0.0.1:{self.api_port}"

    def _own(self, path: pathlib.Path) -> pathlib.Path:
        return path.with_name(self.called(path.name))


FIRST = Plane("a", suffix="", shift=0)
SECOND = Plane("b", suffix="-b", shift=1000)
ALL = (FIRST, SECOND)


def named(name: str) -> Plane:
    """The management cluster that the command line calls so."""
    return next(plane for plane in ALL if plane.name == name)
