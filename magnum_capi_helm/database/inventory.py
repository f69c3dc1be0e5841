# SPDX-License-Identifier: Apache-2.0

"""All clusters of a cloud: Magnum's rows beside what there is of them.

Of a release it is known what two lists say: the labels of helm's records, and
the metadata of its Cluster. That tells whether there is one for each row and
a row for each one, whether helm got through, and whether the rows still want
what was applied last. Whether machines are as they should be, the polls know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import dataclasses
from typing import TypeAlias

from magnum_capi_helm.model import names
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view

#: Namespace and release.
Scope: TypeAlias = tuple[str, str]

OK = "ok"
ABSENT = "not on its management cluster"
ORPHAN = "orphan"
#: Where nothing says whose the namespace is.
UNMARKED = (
    "orphan, or another Magnum's: its namespace is not marked, set "
    "[capi_helm] region_name in each"
)
#: What such a state begins with.
UNREACHABLE = "unreachable"
STALE = "stale: the cloud's endpoint, region, interface or CA has changed"
#: As the health poll found it. No machine can be made without one.
REFUSED = (
    "warning: credential refused, or gone: magnum-capi-helm credentials "
    "replace gives the cluster another one"
)


@dataclasses.dataclass(frozen=True)
class Row:
    """A cluster of Magnum.

    :param version: of Kubernetes, as last seen
    :param scope: its release is empty where nothing was ever made
    :param fingerprint: of what its rows want (``wanted.Rows``)
    :param identity: of its management cluster; empty: not recorded
    :param home: what its management cluster was called then, of several
    :param leaving: whether it is being deleted
    :param user: whose it is, in Keystone
    :param changed: when Magnum last wrote it, seconds since 1970
    :param refused: whether Keystone refuses its application credential; None:
        nobody tried
    :param warning: what its health warns of; empty: of nothing
    """

    name: str
    uuid: str
    project: str
    status: str
    version: str
    scope: Scope
    fingerprint: str
    identity: str = ""
    home: str = ""
    leaving: bool = False
    user: str = ""
    changed: float = 0.0
    refused: bool | None = None
    warning: str = ""


@dataclasses.dataclass(frozen=True)
class Found:
    """What a management cluster has of one release.

    :param cluster: its Cluster, of which the metadata is enough
    :param newest: its newest revision that was not superseded
    :param chart: the chart's version; empty: not known
    :param stale: whether it has another way to the cloud than new ones get
    :param behind: what its machines get with its next upgrade alone, in a
        line; empty: nothing
    :param unmarked: whether nothing says whose its namespace is
    """

    cluster: view.Object | None = None
    newest: view.Revision | None = None
    chart: str = ""
    stale: bool = False
    behind: str = ""
    unmarked: bool = False


@dataclasses.dataclass(frozen=True)
class Plane:
    """A management cluster.

    :param name: empty: the only one
    :param identity: UID of its kube-system; empty: it did not say
    :param silence: why it could not be read; empty: it was
    """

    name: str
    identity: str
    found: Mapping[Scope, Found] = dataclasses.field(default_factory=dict)
    silence: str = ""


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of the list; what is not known, is empty.

    :param plane: the name of the management cluster, of several
    """

    name: str = ""
    uuid: str = ""
    project: str = ""
    status: str = ""
    plane: str = ""
    release: str = ""
    chart: str = ""
    version: str = ""
    revision: str = ""
    state: str = OK

    @property
    def orphan(self) -> bool:
        """Whether Magnum has no cluster for it, and may have lost it."""
        return self.state in (ORPHAN, UNMARKED)


def compare(
    rows: Sequence[Row], planes: Sequence[Plane], prefix: str
) -> list[Line]:
    """A line for each row, and one for each thing that should not be there.

    :param planes: all management clusters, those that don't answer too
    :param prefix: of this cloud's namespaces
    """
    placed = {
        each.scope: (each, _place(each, planes))
        for each in rows
        if each.scope[1]
    }
    lines = [_line(row, plane) for row, plane in placed.values()]
    lines += [_nothing_made(each) for each in rows if not each.scope[1]]
    lines.sort(key=lambda line: (line.name, line.uuid))
    for plane in planes:
        lines += _strays(plane, placed, prefix)
    return lines


def silent(planes: Iterable[Plane], lines: Iterable[Line]) -> list[Line]:
    """A line for each management cluster that no other line complains of.

    What is on it without a row, nobody knows.
    """
    found = [
        Line(plane=each.name, state=_unreachable(each))
        for each in planes
        if each.silence
    ]
    told = {(each.plane, each.state) for each in lines}
    return [each for each in found if (each.plane, each.state) not in told]


def _place(row: Row, planes: Sequence[Plane]) -> Plane | None:
    """Where a row's release is, or may be; None: on none of them."""
    if row.identity:
        fitting = [each for each in planes if each.identity == row.identity]
    else:
        fitting = [each for each in planes if row.scope in each.found]
        if len(planes) == 1:
            return planes[0]
    silences = [each for each in planes if each.silence]
    return min(
        fitting or silences,
        key=lambda plane: plane.name != row.home,
        default=None,
    )


def _nothing_made(row: Row) -> Line:
    return Line(row.name, row.uuid, row.project, row.status)


def _line(row: Row, plane: Plane | None) -> Line:
    found = plane and plane.found.get(row.scope)
    return dataclasses.replace(
        _released(row.scope, found or Found()),
        name=row.name,
        uuid=row.uuid,
        project=row.project,
        status=row.status,
        plane=plane.name if plane else row.home,
        version=row.version,
        state=_state(row, plane),
    )


def _released(scope: Scope, found: Found) -> Line:
    """What is known of a release without a row."""
    return Line(
        release=scope[1],
        chart=found.chart,
        revision=found.newest.status if found.newest else "",
    )


def _state(row: Row, plane: Plane | None) -> str:
    if plane is None:
        return ABSENT
    if plane.silence:
        return _unreachable(plane)
    if row.leaving:
        # Its release goes first, and its row last.
        return OK
    found = plane.found.get(row.scope)
    if found is None:
        if row.status == "CREATE_IN_PROGRESS":
            return "drift: still to be installed"
        return ABSENT
    if why := _difference(row, found):
        return f"drift: {why}"
    if row.refused:
        return REFUSED
    if found.stale:
        return STALE
    if found.behind:
        return f"stale: {found.behind}"
    return f"warning: {row.warning}" if row.warning else OK


def _unreachable(plane: Plane) -> str:
    return f"{UNREACHABLE}: {plane.silence}"


def _difference(row: Row, found: Found) -> str:
    """Why a release is not what its row wants; empty: it is."""
    newest = found.newest
    if newest is None:
        return "there is a Cluster, but no helm release"
    if newest.status != "deployed":
        return f"revision {newest.version} is {newest.status}"
    if found.cluster is None:
        return "the Cluster object does not exist"
    if view.deleting(found.cluster):
        return "the Cluster object is being deleted"
    live = cluster_status.fingerprint(found.cluster)
    # 1.4.0 leaves none.
    if live is not None and live != row.fingerprint:
        return "the rows want something else than was last applied"
    return ""


def _strays(
    plane: Plane,
    placed: Mapping[Scope, tuple[Row, Plane | None]],
    prefix: str,
) -> Iterator[Line]:
    """What is on a management cluster, and should not be."""
    for scope, found in sorted(plane.found.items(), key=lambda each: each[0]):
        row, home = placed.get(scope, (None, None))
        if row is not None:
            if home is None or home.identity != plane.identity:
                # Not an orphan: whoever removes it may remove the servers.
                where = (home and home.name) or "another management cluster"
                yield dataclasses.replace(
                    _line(row, plane),
                    state=f"drift: the cluster is on {where}",
                )
        elif (project := names.project_of(scope[0], prefix)) and (
            found.cluster is not None or names.made_like(scope[1])
        ):
            yield dataclasses.replace(
                _released(scope, found),
                project=project,
                plane=plane.name,
                state=UNMARKED if found.unmarked else ORPHAN,
            )
