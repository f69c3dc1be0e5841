# SPDX-License-Identifier: Apache-2.0

"""Compare all of Magnum's clusters with the releases that exist. Pure.

Two lists describe each release: the labels of helm's records, and the
metadata of its Cluster. They show whether each row has a release and each
release a row, whether helm got through, and whether the rows still want what
was applied last. The polls check machines.
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
#: A namespace without a region may be another Magnum's.
ORPHAN = "orphan, or a cluster of another Magnum"
#: A state that begins with this names the error.
UNREACHABLE = "unreachable"


@dataclasses.dataclass(frozen=True)
class Row:
    """A cluster of Magnum.

    :param version: of Kubernetes, as last seen
    :param scope: its release is empty if nothing was ever made
    :param fingerprint: of its rows (``requested_groups.Rows``)
    :param identity: of its management cluster; empty: not recorded
    :param recorded_name: of its management cluster, of several
    :param leaving: whether it is being deleted
    :param changed: when Magnum last wrote it, seconds since 1970
    :param refused: whether Keystone refuses its application credential; None:
        not tried
    """

    name: str
    uuid: str
    project: str
    status: str
    version: str
    scope: Scope
    fingerprint: str
    identity: str = ""
    recorded_name: str = ""
    leaving: bool = False
    changed: float = 0.0
    refused: bool | None = None


@dataclasses.dataclass(frozen=True)
class ReleaseObjects:
    """The objects of one release on a management cluster.

    :param cluster: its Cluster, of which the metadata is enough
    :param newest: its newest revision that was not superseded
    """

    cluster: view.Object | None = None
    newest: view.Revision | None = None

    @property
    def chart(self) -> str:
        """Return the chart's version; empty: no Cluster tells."""
        return view.chart_version(self.cluster)

    @property
    def revision(self) -> str:
        """Return helm's word for the newest revision; empty: none."""
        return self.newest.status if self.newest else ""


@dataclasses.dataclass(frozen=True)
class ManagementCluster:
    """A management cluster.

    :param name: empty: the only one
    :param identity: UID of its kube-system; empty: it did not say
    :param error: why it could not be read; empty: it was read
    """

    name: str
    identity: str
    releases: Mapping[Scope, ReleaseObjects] = dataclasses.field(
        default_factory=dict
    )
    error: str = ""

    @property
    def state(self) -> str:
        """Return the state of its clusters if it does not answer."""
        return f"{UNREACHABLE}: {self.error}" if self.error else ""


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of the list; unknown fields are empty.

    :param management_cluster: its name, of several
    """

    name: str = ""
    uuid: str = ""
    project: str = ""
    status: str = ""
    management_cluster: str = ""
    release: str = ""
    chart: str = ""
    version: str = ""
    revision: str = ""
    state: str = OK

    @property
    def orphan(self) -> bool:
        """Return whether Magnum has no cluster for it."""
        return self.state == ORPHAN


def compare(
    rows: Sequence[Row], locations: Sequence[ManagementCluster], prefix: str
) -> list[Line]:
    """Return a line for each row, and one for each release without a row.

    :param locations: all management clusters, also those that don't answer
    :param prefix: of this cloud's namespaces
    """
    located = {
        each.scope: (each, _location_of(each, locations))
        for each in rows
        if each.scope[1]
    }
    lines = [_line(row, location) for row, location in located.values()]
    lines += [
        Line(each.name, each.uuid, each.project, each.status)
        for each in rows
        if not each.scope[1]
    ]
    lines.sort(key=lambda line: (line.name, line.uuid))
    for location in locations:
        lines += _unexpected(location, located, prefix)
    return lines


def unreachable(
    locations: Iterable[ManagementCluster], lines: Iterable[Line]
) -> list[Line]:
    """Return a line for each unreachable management cluster without a line.

    Releases without a row that it may have are unknown.
    """
    listed = {(each.management_cluster, each.state) for each in lines}
    return [
        Line(management_cluster=each.name, state=each.state)
        for each in locations
        if each.error and (each.name, each.state) not in listed
    ]


def _location_of(
    row: Row, locations: Sequence[ManagementCluster]
) -> ManagementCluster | None:
    """Return the management cluster of a row's release; None: there is none.

    One that does not answer may have it.
    """
    if row.identity:
        fitting = [each for each in locations if each.identity == row.identity]
    else:
        fitting = [each for each in locations if row.scope in each.releases]
        if len(locations) == 1:
            return locations[0]
    return min(
        fitting or [each for each in locations if each.error],
        key=lambda location: location.name != row.recorded_name,
        default=None,
    )


def _line(row: Row, location: ManagementCluster | None) -> Line:
    releases = location.releases if location else {}
    release = releases.get(row.scope, ReleaseObjects())
    return Line(
        row.name,
        row.uuid,
        row.project,
        row.status,
        location.name if location else row.recorded_name,
        row.scope[1],
        release.chart,
        row.version,
        release.revision,
        _state(row, location),
    )


def _state(row: Row, location: ManagementCluster | None) -> str:
    if location is None:
        return ABSENT
    if location.error or row.leaving:
        # The release of a leaving row goes first, and the row last.
        return location.state or OK
    release = location.releases.get(row.scope)
    if release is None:
        if row.status == "CREATE_IN_PROGRESS":
            return "drift: still to be installed"
        return ABSENT
    why = _difference(row, release)
    return f"drift: {why}" if why else OK


def _difference(row: Row, release: ReleaseObjects) -> str:
    """Return why a release is not what its row wants, or ""."""
    if release.newest is None:
        return "there is a Cluster, but no helm release"
    if release.revision != "deployed":
        return f"revision {release.newest.version} is {release.revision}"
    if release.cluster is None:
        return "the Cluster object does not exist"
    if view.deleting(release.cluster):
        return "the Cluster object is being deleted"
    live = cluster_status.fingerprint(release.cluster)
    # 1.4.0 leaves none.
    if live is not None and live != row.fingerprint:
        return "the rows want something else than was last applied"
    return ""


def _unexpected(
    location: ManagementCluster,
    located: Mapping[Scope, tuple[Row, ManagementCluster | None]],
    prefix: str,
) -> Iterator[Line]:
    """Yield a line for each release that should not be there."""
    for scope, release in sorted(
        location.releases.items(), key=lambda each: each[0]
    ):
        row, recorded = located.get(scope, (None, None))
        if row is not None:
            if recorded is None or recorded.identity != location.identity:
                # Not an orphan: its removal may remove the servers.
                where = (
                    recorded and recorded.name
                ) or "another management cluster"
                yield dataclasses.replace(
                    _line(row, location),
                    state=f"drift: the cluster is on {where}",
                )
        elif (project := names.project_of(scope[0], prefix)) and (
            release.cluster is not None or names.made_like(scope[1])
        ):
            yield Line(
                project=project,
                management_cluster=location.name,
                release=scope[1],
                chart=release.chart,
                revision=release.revision,
                state=ORPHAN,
            )
