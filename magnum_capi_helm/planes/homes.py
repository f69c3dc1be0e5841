# SPDX-License-Identifier: Apache-2.0

"""On which of several management clusters a new cluster is made.

Pure, and without state: the same cluster is offered to the same management
clusters in the same order by every conductor. The order is that of weighted
rendezvous hashing (Schindelhauer and Schomaker, "Weighted distributed hash
tables", 2005): each gets its share, and one that is added or taken away
changes no choice between the others.

Where a cluster is once it was made is nothing that is computed: it is
recorded (:mod:`magnum_capi_helm.planes.origin`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import dataclasses
import hashlib
import math
import re

from magnum_capi_helm.features import management_cluster
from magnum_capi_helm.model import errors

_NAMELESS = "none: this cloud has one management cluster, without a name"
_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")


@dataclasses.dataclass(frozen=True)
class Home:
    """A management cluster, and what may be made on it.

    :param name: empty: the only one, which needs no name
    :param kubeconfig: path of its kubeconfig
    :param option: where that path is configured, for error messages
    :param weight: its share of the clusters that several may take; 0: no
        new ones
    :param projects: IDs of the projects whose clusters it takes; empty: any
    :param zones: Nova availability zones that its clusters may name, and
        have to name then; empty: any, or none
    :param only_labelled: whether it takes nothing but clusters of templates
        that ask for it
    """

    name: str
    kubeconfig: str
    option: str
    weight: int = 100
    projects: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    only_labelled: bool = False


#: A single one of which nothing is configured.
UNNAMED = Home("", "", "[capi_helm] kubeconfig_file")


@dataclasses.dataclass(frozen=True)
class Asked:
    """What of a new cluster decides where it is made.

    :param zones: every availability zone that it names
    :param label: the management cluster that its template names
    """

    uuid: str
    project: str
    zones: tuple[str, ...] = ()
    label: str = ""


def is_name(text: str) -> bool:
    """Whether a management cluster may be called so."""
    return _NAME.fullmatch(text) is not None


def ranked(homes: Sequence[Home], asked: Asked) -> tuple[Home, ...]:
    """The management clusters that take a new cluster, the best one first.

    :raises LabelError: its template names one that there is not
    :raises InvalidInput: none takes it
    """
    names = [each.name for each in homes if each.name]
    if asked.label and asked.label not in names:
        raise errors.LabelError(
            management_cluster.NAME.name,
            asked.label,
            " or ".join(names) or _NAMELESS,
        )
    why = {each.name: _refusal(each, asked) for each in homes}
    if not all(why.values()):
        fitting = (each for each in homes if not why[each.name])
        return tuple(sorted(fitting, key=lambda home: _score(home, asked)))
    raise errors.InvalidInput(
        f"no management cluster takes a cluster of project {asked.project} "
        f"{_in_zones(asked.zones)}: "
        + "; ".join(f"{name or 'it'} {text}" for name, text in why.items())
    )


def _refusal(home: Home, asked: Asked) -> str:
    """Why a cluster can't be made there; empty: it can."""
    return next(_refusals(home, asked), "")


def _refusals(home: Home, asked: Asked) -> Iterator[str]:
    # What a tenant reads names no other tenant.
    if asked.label not in ("", home.name):
        yield f"is not {asked.label}, which the template asks for"
    if not home.weight:
        yield "takes no new clusters"
    if home.only_labelled and not asked.label:
        yield (
            "takes clusters of templates with the label "
            f"{management_cluster.NAME.name}={home.name} alone"
        )
    if home.projects and asked.project not in home.projects:
        yield "takes those of other projects"
    if home.zones and not (asked.zones and {*asked.zones} <= {*home.zones}):
        yield (
            "takes those whose label availability_zone is "
            f"{' or '.join(home.zones)}"
        )


def _in_zones(zones: Sequence[str]) -> str:
    if not zones:
        return "without an availability zone"
    noun = "zone" if len(zones) == 1 else "zones"
    return f"in the availability {noun} {', '.join(zones)}"


def _score(home: Home, asked: Asked) -> float:
    """Less is better: exponentially distributed, with the weight as rate."""
    digest = hashlib.sha256(f"{home.name}/{asked.uuid}".encode()).digest()
    # Between 0 and 1, and neither of them.
    drawn = (int.from_bytes(digest[:6], "big") + 0.5) / 2**48
    return -math.log(drawn) / home.weight
