# SPDX-License-Identifier: Apache-2.0

"""Choose the template that a cluster is upgraded to. Pure.

An operator gives public templates a channel, by the label
``upgrade_channel``. Templates of a channel that make the same cluster but for
its version are a family. A cluster belongs to a channel by its own label, else
by its template's or by the operator's default.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from magnum_capi_helm.model import versions

#: Fields with the same value in all templates of a family.
_FAMILY = ("cluster_distro", "network_driver", "flavor_id", "master_flavor_id")


class Template(NamedTuple):
    """A template of a channel, or that of a cluster.

    :ivar row: Magnum's
    :ivar channel: its channel, or the cluster's
    :ivar version: of Kubernetes, or the cluster's
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
) -> Template:
    """Return the template that a cluster is behind, or its present one.

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
    return max(
        [present, *family], key=lambda each: (each.number, each.row.created_at)
    )
