# SPDX-License-Identifier: Apache-2.0

"""Choose the template that a cluster is upgraded to. Pure.

An operator gives public templates a channel, by the label
``upgrade_channel``. Templates of a channel that make the same cluster but for
its version are a family. A cluster belongs to a channel by its own label, else
by its template's or by the operator's default.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
from typing import Any

from magnum_capi_helm.model import versions

#: Fields with the same value in all templates of a family.
_FAMILY = ("cluster_distro", "network_driver", "flavor_id", "master_flavor_id")


@dataclasses.dataclass(frozen=True)
class Template:
    """A template of a channel, or that of a cluster.

    :param row: Magnum's
    :param channel: its channel, or the cluster's
    :param version: of Kubernetes, or the cluster's
    """

    row: Any
    channel: str
    version: str

    @property
    def number(self) -> versions.Number:
        """The version to compare; text that is none fits no other one."""
        return versions.number(self.version) or (0, 0, 0)

    @property
    def place(self) -> tuple[object, ...]:
        """The channel and the family."""
        return self.channel, *(getattr(self.row, each) for each in _FAMILY)


def newest(
    present: Template, templates: Iterable[Template], *, minor: bool
) -> Template | None:
    """Return the template that a cluster is behind; None: it is not behind.

    Of the same version, the template of a rebuilt image was created later.

    :param minor: the next minor version counts, not only the same one:
        Kubernetes is upgraded one minor version at a time
    """
    major, first = present.number[:2]
    allowed = ((major, first), (major, first + minor))
    family = [
        each
        for each in templates
        if each.place == present.place and each.number[:2] in allowed and major
    ]
    best = max(
        [present, *family], key=lambda each: (each.number, each.row.created_at)
    )
    return None if best is present else best
