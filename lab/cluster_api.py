# SPDX-License-Identifier: Apache-2.0

"""Which Cluster API the lab runs: its own, or another one for who asks.

The other one's managers and definitions are built, beside its own, when it is
first asked for. All else of a management cluster stays as it is.
"""

import dataclasses
import pathlib

from lab import choices
from lab import layout

OWN = "1.13"
MODULE = "sigs.k8s.io/cluster-api"
CHOICE = choices.Choice("cluster-api", OWN)
MODULES = layout.SOURCE / "plane"


@dataclasses.dataclass(frozen=True)
class Release:
    """Another one, which has a go.mod below ``lab/plane``.

    :param core: the folder of the core manager in its sources
    :param unserved: a version that its definitions (CRDs) do not serve
    """

    name: str
    core: str
    unserved: str = ""

    @property
    def module(self) -> pathlib.Path:
        """The folder of the go.mod that requires it."""
        return MODULES / self.name

    @property
    def crds(self) -> pathlib.Path:
        """Where its CRDs and webhooks are kept."""
        return layout.CRDS.with_name(self.called(layout.CRDS.name))

    def called(self, name: str) -> str:
        """A program's or a step's name, of this one."""
        return f"{name}-{self.name}"

    def folders(self) -> dict[str, str]:
        """Manager, and its folder in the sources."""
        return {
            "core": self.core,
            "bootstrap": "bootstrap/kubeadm",
            "kcp": "controlplane/kubeadm",
        }


#: Cluster API 1.16 serves v1beta2 alone, as the second one does.
OTHERS = {
    "1.14": Release("1.14", core="core"),
    "v1beta2-only": Release("1.14", core="core", unserved="v1beta1"),
}
NAMES = (OWN, *OTHERS)


def other() -> Release | None:
    """What runs in the place of the lab's own."""
    return OTHERS.get(CHOICE.read())
