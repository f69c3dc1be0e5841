# SPDX-License-Identifier: Apache-2.0

"""Create and delete the Nova server groups of nodegroups with a policy.

They belong to the user's project, and no controller removes them. Their names
are written into a Secret *before* Nova is asked. So if a conductor dies in
between, the deletion of the cluster finds what it created.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oslo_log import log

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import call
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

_KEY = "server-groups.json"
_DELETING = "deleting the cluster's server groups"


class _Record:
    """The Secret that lists the server groups of a release.

    :ivar project: UUID of the project that the server groups are in
    :ivar groups: the chart's names of node groups -> id of the server group;
        empty: it may not have been made
    :ivar labels: of the Secret
    """

    def __init__(
        self, management: client.Client, scope: location.Scope
    ) -> None:
        """Read the Secret.

        :raises ManagementError: it can't be read, or is damaged
        """
        self._management = management
        self._scope = scope
        self._name = names.server_groups(scope[1])
        self.project = ""
        self.groups: dict[str, str] = {}
        secret = management.get(kinds.SECRET, scope[0], self._name)
        self.labels = view.labels_of(secret)
        self.exists = secret is not None
        if secret is None:
            return
        try:
            content = encoding.read_plain(secret["data"][_KEY])
            self.project = str(content["project"])
            self.groups = {
                str(k): str(v) for k, v in content["groups"].items()
            }
        except encoding.DAMAGED as error:
            raise errors.ManagementError(
                f"the Secret {self._name} does not say which server groups to "
                f"delete ({type(error).__name__}): delete those named "
                f"{scope[1]}-* in Nova, then delete the Secret"
            ) from error

    def write(self, groups: dict[str, str]) -> None:
        """Write other groups, before or after Nova has them."""
        self.groups = groups
        content = {"project": self.project, "groups": groups}
        data = {_KEY: encoding.plain(content)}
        self._management.apply(
            kinds.SECRET,
            encoding.secret(self._scope[0], self._name, self.labels, data),
        )

    def delete(self) -> None:
        """Delete the Secret."""
        self._management.delete(kinds.SECRET, self._scope[0], self._name)


def ensure(
    management: client.Client,
    scope: location.Scope,
    labels: dict[str, str],
    session: Any,
    groups: Mapping[str, str],
) -> dict[str, str]:
    """Create the server groups that are not there; under the Lease.

    :param labels: of the driver's objects for the cluster
    :param session: of a user in the cluster's project
    :param groups: the chart's name of a node group -> policy
    :returns: the chart's name of a node group -> id
    :raises CloudError: Nova refused
    :raises LeaseLost: another conductor works on the cluster; no server group
        is left that is not in the Secret
    """
    if not groups:
        return {}
    record = _Record(management, scope)
    record.project = str(session.get_project_id())
    record.labels = labels
    record.write({**dict.fromkeys(groups, ""), **record.groups})
    try:
        ids = _create(session, scope[1], groups)
        record.write({**record.groups, **ids})
    except errors.LeaseLost:
        _delete_unlisted(management, scope, session, groups)
        raise
    return ids


def _create(
    session: Any, release: str, groups: Mapping[str, str]
) -> dict[str, str]:
    api = sessions.proxy(session, "compute")
    with sessions.asking("server groups"):
        there = {str(each.name): str(each.id) for each in api.server_groups()}

    def create_one(group: str) -> str:
        name = names.server_group(release, group)
        if name in there:
            return there[name]
        with sessions.asking(f"server group {name}"):
            call.check_lease()
            # The client takes the newest microversion that both know: soft
            # policies are Nova's since 2.15.
            made = api.create_server_group(name=name, policies=[groups[group]])
        return str(made.id)

    with call.Threads(4) as pool:
        return dict(zip(groups, pool.map(create_one, groups), strict=True))


def _delete_unlisted(
    management: client.Client,
    scope: location.Scope,
    session: Any,
    groups: Iterable[str],
) -> None:
    """Delete server groups that the Secret does not list any more.

    One that it lists may be in use: the new holder of the Lease takes it.
    """
    try:
        listed = _Record(management, scope).groups
        lost = {
            names.server_group(scope[1], group)
            for group in groups
            if group not in listed
        }
        api = sessions.proxy(session, "compute")
        with sessions.asking(_DELETING):
            for each in list(api.server_groups()) if lost else ():
                if each.name in lost:
                    api.delete_server_group(each.id)
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
    record = _Record(management, scope)
    chosen = set(record.groups if groups is None else groups)
    gone = {key: id_ for key, id_ in record.groups.items() if key in chosen}
    if gone:
        session = sessions.cluster_session(management, scope)
        _delete_in_nova(session, scope[1], record.project, gone)
    left = {k: v for k, v in record.groups.items() if k not in chosen}
    if not left and record.exists:
        record.delete()
    elif gone:
        record.write(left)


def _delete_in_nova(
    own: Any, release: str, project: str, gone: Mapping[str, str]
) -> None:
    """Delete server groups by id; find those without an id by name.

    :param own: session with the cluster's own credential, if it works
    """
    api = sessions.proxy(own or sessions.service_session(), "compute")
    ids = {id_ for id_ in gone.values() if id_}
    unsure = {
        names.server_group(release, group)
        for group, id_ in gone.items()
        if not id_
    }
    with sessions.asking(_DELETING):
        if unsure:
            # As its own user the cluster sees no project but its own.
            listed = api.server_groups(
                **({} if own else {"all_projects": True})
            )
            ids |= {
                str(each.id)
                for each in listed
                if each.name in unsure and each.project_id in (project, None)
            }
        for each in sorted(ids):
            api.delete_server_group(each)
