# SPDX-License-Identifier: Apache-2.0

"""Nova server groups: one for each nodegroup with a policy.

They belong to the user's project, and no controller removes them. Which ones
a release has is written into a Secret *before* Nova is asked, so a conductor
that dies in between leaves none behind: whoever deletes the cluster finds
their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import lease_guard
from magnum_capi_helm.model import names
from magnum_capi_helm.model import timing
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

_KEY = "server-groups.json"


@dataclasses.dataclass(frozen=True)
class _Record:
    """What the Secret says.

    :param project: UUID of the project that the server groups are in
    :param groups: the chart's names of node groups -> id of the server
        group; empty: it may not have been made
    :param labels: of the Secret
    """

    project: str
    groups: dict[str, str]
    labels: dict[str, str]


def ensure(
    management: client.Client,
    scope: location.Scope,
    labels: dict[str, str],
    session: Any,
    groups: Mapping[str, str],
) -> dict[str, str]:
    """Make the server groups that are not there; under the Lease.

    :param labels: of the driver's objects for the cluster
    :param session: of a user in the cluster's project
    :param groups: the chart's name of a node group -> policy
    :returns: the chart's name of a node group -> id
    :raises CloudError: Nova refused
    :raises LeaseLost: somebody else works on the cluster; none is left that
        nobody knows of
    """
    if not groups:
        return {}
    known = _read(management, scope)
    record = _Record(
        project=str(session.get_project_id()),
        groups={
            **dict.fromkeys(groups, ""),
            **(known.groups if known else {}),
        },
        labels=labels,
    )
    _write(management, scope, record)
    try:
        ids = _make(session, scope[1], groups)
        made = dataclasses.replace(record, groups={**record.groups, **ids})
        _write(management, scope, made)
    except errors.LeaseLost:
        _take_back(management, scope, session, groups)
        raise
    return ids


def _make(
    session: Any, release: str, groups: Mapping[str, str]
) -> dict[str, str]:
    api = _nova(session)
    with sessions.asking("server groups"):
        there = {str(each.name): str(each.id) for each in api.server_groups()}

    def one(group: str) -> str:
        name = names.server_group(release, group)
        if name in there:
            return there[name]
        with sessions.asking(f"server group {name}"):
            lease_guard.check()
            # The client takes the newest microversion that both know: soft
            # policies are Nova's since 2.15.
            made = api.create_server_group(name=name, policies=[groups[group]])
        return str(made.id)

    with timing.Threads(4) as pool:
        return dict(zip(groups, pool.map(one, groups), strict=True))


def _take_back(
    management: client.Client,
    scope: location.Scope,
    session: Any,
    groups: Iterable[str],
) -> None:
    """Delete those that no deletion of the cluster finds any more.

    What the Secret still names may be in use: whoever has the Lease by now
    takes what is there.
    """
    try:
        record = _read(management, scope)
        known = record.groups if record else {}
        lost = {
            names.server_group(scope[1], group)
            for group in groups
            if group not in known
        }
        api = _nova(session)
        with sessions.asking("deleting the cluster's server groups"):
            for each in list(api.server_groups()) if lost else ():
                if each.name in lost:
                    api.delete_server_group(each.id, ignore_missing=True)
    except errors.CapiHelmError as error:
        LOG.warning(
            "server groups of %s may be left in Nova, delete those named "
            "%s-*: %s",
            scope[1],
            scope[1],
            error,
        )


def delete(
    management: client.Client,
    scope: location.Scope,
    groups: Iterable[str] | None = None,
) -> None:
    """Delete server groups once no machine is in them; under the Lease.

    Nova is not asked where none was made.

    :param groups: the chart's names of node groups; None: all of the release
    :raises CloudError: Nova refused; they are still there
    """
    record = _read(management, scope)
    if record is None:
        return
    chosen = set(record.groups if groups is None else groups)
    gone = {key: id_ for key, id_ in record.groups.items() if key in chosen}
    if gone:
        _remove(management, scope, record.project, gone)
    left = {k: v for k, v in record.groups.items() if k not in chosen}
    if left:
        if gone:
            _write(management, scope, dataclasses.replace(record, groups=left))
        return
    management.delete(kinds.SECRET, scope[0], names.server_groups(scope[1]))


def _remove(
    management: client.Client,
    scope: location.Scope,
    project: str,
    gone: Mapping[str, str],
) -> None:
    own = sessions.cluster_session(management, scope)
    api = _nova(own or sessions.service_session())
    ids = {id_ for id_ in gone.values() if id_}
    unsure = {
        names.server_group(scope[1], group)
        for group, id_ in gone.items()
        if not id_
    }
    with sessions.asking("deleting the cluster's server groups"):
        if unsure:
            # As its own user the cluster sees no project but its own.
            found = api.server_groups(
                **({} if own else {"all_projects": True})
            )
            ids |= {
                str(each.id)
                for each in found
                if each.name in unsure and each.project_id in (project, None)
            }
        for each in sorted(ids):
            api.delete_server_group(each, ignore_missing=True)


def _nova(session: Any) -> Any:
    return sessions.proxy(session, "compute")


def _read(management: client.Client, scope: location.Scope) -> _Record | None:
    name = names.server_groups(scope[1])
    secret = management.get(kinds.SECRET, scope[0], name)
    if secret is None:
        return None
    try:
        content = encoding.read_plain(secret["data"][_KEY])
        return _Record(
            project=str(content["project"]),
            groups={str(k): str(v) for k, v in content["groups"].items()},
            labels=view.labels_of(secret),
        )
    except encoding.DAMAGED as error:
        raise errors.ManagementError(
            f"the Secret {name} does not say which server groups to delete "
            f"({type(error).__name__}): delete those named {scope[1]}-* in "
            "Nova, then delete the Secret"
        ) from error


def _write(
    management: client.Client, scope: location.Scope, record: _Record
) -> None:
    content = {"project": record.project, "groups": record.groups}
    management.apply(
        kinds.SECRET,
        {
            "metadata": {
                "name": names.server_groups(scope[1]),
                "namespace": scope[0],
                "labels": record.labels,
            },
            "type": "Opaque",
            "data": {_KEY: encoding.plain(content)},
        },
    )
