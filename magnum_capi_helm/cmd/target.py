# SPDX-License-Identifier: Apache-2.0

"""``check --target``: what an upgrade of a management cluster would strand.

The manifest of each release is read, and the chart that its next operation
would have: two requests for each release, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import dataclasses
from typing import TypeAlias

from magnum_capi_helm import runtime
from magnum_capi_helm.cmd import census
from magnum_capi_helm.database import inventory
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import stranded
from magnum_capi_helm.operations import api_migration
from magnum_capi_helm.operations import state_secret

HEADER = (
    "Name",
    "UUID",
    "Project",
    "Management cluster",
    "Release",
    "Chart",
    "State",
    "First",
)
#: In the place of versions: those that are served at this moment.
NOW = "now"

UNREADABLE = "unreadable"

#: Versions by group.
Target: TypeAlias = Mapping[str, frozenset[str]]


@dataclasses.dataclass(frozen=True)
class Line:
    """One release, and what to do about it before the upgrade."""

    name: str
    uuid: str
    project: str
    plane: str
    release: str
    chart: str
    state: str
    detail: str


def lines(text: str, planes: Sequence[str]) -> tuple[list[Line], int]:
    """Releases that name versions which would not be served any more.

    :param text: as :func:`api_versions.target` reads it, or :data:`NOW`
    :param planes: the management clusters that are looked at
    :returns: those, and how many releases were read
    :raises InvalidInput: no versions are given
    """
    target = None if text == NOW else api_versions.target(text)
    for name in planes:
        runtime.home_of(name)
    _, known, asked = census.take(None)
    chosen = [each for each in known if each.plane in planes]
    silent = inventory.silent([e for e in asked if e.name in planes], chosen)
    found = [_line(each, target) for each in chosen if each.release]
    found += [_unread(each, each.state) for each in silent]
    count = sum(each.state != UNREADABLE for each in found)
    return [each for each in found if each.state != stranded.OK], count


def well(found: Iterable[Line]) -> bool:
    """Whether nothing is to be done first."""
    return all(each.state == stranded.REPAIRED for each in found)


def summary(found: Sequence[Line], count: int) -> str:
    """How many of how many, in a line."""
    return f"releases read: {count}, listed: {len(found)}"


def _line(known: inventory.Line, target: Target | None) -> Line:
    if known.state.startswith(inventory.UNREACHABLE):
        return _unread(known, known.state)
    try:
        found = _outlook(known, target)
    except errors.CapiHelmError as error:
        return _unread(known, str(error))
    return dataclasses.replace(_unread(known, found.detail), state=found.state)


def _unread(known: inventory.Line, why: str) -> Line:
    return Line(
        known.name,
        known.uuid,
        known.project,
        known.plane,
        known.release,
        known.chart,
        UNREADABLE,
        why,
    )


def _outlook(known: inventory.Line, target: Target | None) -> stranded.Outlook:
    rt = runtime.get(known.plane)
    scope = (location.namespace(known.project), known.release)
    revisions = releases.revisions(rt.management, *scope)
    if not revisions:
        # helm has nothing to read.
        return stranded.Outlook(stranded.OK)
    version = api_migration.last_deployed(revisions).version
    found = releases.manifest(rt.management, *scope, version)
    named = manifests.apis(found.text) if found else frozenset()
    served = _served(rt, named, target)
    makes = {each.group: each.version for each in named}
    wanted = state_secret.read(rt, scope).wanted
    if found and wanted and wanted.chart.version != found.chart_version:
        makes = api_versions.made_by(wanted.chart.version)
    if known.status.startswith("DELETE_"):
        return stranded.outlook(named, served, None)
    return stranded.outlook(named, served, makes, known.status)


def _served(
    rt: runtime.Runtime,
    named: Iterable[stranded.Api],
    target: Target | None,
) -> stranded.Served:
    """What would be served of each kind; what is not said, stays."""
    if target is None:
        return api_migration.served(rt, named)
    return {
        (each.group, each.kind): target.get(each.group, {each.version})
        for each in named
    }
