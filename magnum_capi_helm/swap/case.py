# SPDX-License-Identifier: Apache-2.0

"""A cluster, and the values that 1.4.0 would give it."""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.swap import changes
from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import finding
from magnum_capi_helm.swap import predecessor

#: Where 1.4.0 can't be made to keep something.
LEAVE_ALONE = "no option of 1.4.0 prevents it: don't change the cluster"


@dataclasses.dataclass(frozen=True)
class Case:
    """A cluster that is there, and what would become of it.

    :param image: of the template; None: it makes no nodes any more
    :param known: whether Glance said anything of it
    :param chart: the version that most of the clusters have which the
        option decides about; empty: there are none
    """

    subject: evidence.Subject
    live: evidence.Live
    options: evidence.Options
    image: cluster_spec.Image | None = None
    known: bool = True
    chart: str = ""

    def after(self) -> dict[str, Any] | None:
        """The values that 1.4.0 would send; None: none, or not known."""
        if self.image is None:
            return None
        try:
            return predecessor.values(self.subject, self.image, self.options)
        except predecessor.Refusal:
            return None

    def changes(self) -> changes.Changes:
        """What they change."""
        after = self.after()
        if after is None:
            return changes.Changes()
        return changes.between(self.live.values, after)


def act(about: str, what: str, remedy: str) -> finding.Finding:
    return finding.Finding(finding.ACT, about, what, remedy)
