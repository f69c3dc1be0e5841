# SPDX-License-Identifier: Apache-2.0

"""Whether new clusters may be made on a management cluster that answers.

Another one than Magnum's clusters are on, by a mistake or since it was built
anew, takes a new cluster as well as the right one. When the right one is back,
that cluster is the one that is elsewhere. So where clusters are recorded and
no management cluster that they are on is found, nothing is made before an
operator has said that this one took the place of another. One that is added
beside those that clusters are on, is fine.
"""

from __future__ import annotations

from collections.abc import Sequence

from magnum_capi_helm import runtime
from magnum_capi_helm.model import errors
from magnum_capi_helm.planes import origin
from magnum_capi_helm.planes import survey

#: Identities that a text names at most.
_NAMED = 3


class StrangerError(errors.ManagementError):
    """None of the clusters that Magnum has is on this one."""

    def __init__(self, found: str, known: Sequence[str], option: str) -> None:
        listed = ", ".join(known[:_NAMED])
        more = ", ..." if len(known) > _NAMED else ""
        super().__init__(
            "the management cluster is not the one that the other clusters "
            f"are on (UID of its kube-system: {found}, expected: {listed}"
            f"{more}), and nothing is made there: the operator has to set "
            f"{option} to that one again or, if this one took its place, to "
            "run 'magnum-capi-helm management accept'"
        )


def check(rt: runtime.Runtime, here: origin.Record) -> None:
    """Refuse to make a cluster where none of the others may be.

    Asked once of each management cluster by a process: what was seen once
    does not change while it has the same identity.

    :param here: the management cluster that answers
    :raises StrangerError: it is another one than those that are recorded
    """
    familiar = runtime.places().familiar
    if here.identity in familiar:
        return
    records = origin.every_record()
    there = [each for each in records if not each.gone]
    # An operator may have said on which one the clusters are gone.
    if here.identity in {each.identity for each in records}:
        familiar.add(here.identity)
    elif there and not _beside(here, there):
        known = sorted({each.identity for each in there})
        raise StrangerError(here.identity, known, rt.home.option)


def _beside(here: origin.Record, there: Sequence[origin.Record]) -> bool:
    """Whether another management cluster is one that clusters are on.

    One that is silent is, if it may be.
    """
    others = [name for name in runtime.names() if name != here.name]
    identities = {each.identity for each in there}
    named = {each.name for each in there}
    for name, answer in survey.ask(others, origin.identity).items():
        if isinstance(answer, errors.CapiHelmError):
            if name in named or "" in named:
                return True
        elif answer in identities:
            return True
    return False
