# SPDX-License-Identifier: Apache-2.0

"""Create and delete the Nova server groups of nodegroups with a policy.

They belong to the user's project, and no controller removes them. Their names
are written into a Secret *before* Nova is asked. So if a conductor dies in
between, the deletion of the cluster finds what it created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


class _Record:
    """The Secret that lists the server groups of a release.

    :ivar project: UUID of the project that the server groups are in
    :ivar groups: the chart's names of node groups whose server group may exist
    :ivar labels: of the Secret
    """

    def __init__(
        self, management: client.Client, scope: location.Scope
    ) -> None:
        """Read the Secret.

        :raises ManagementError: it can't be read, or is damaged
        """
        self.management = management
        self.scope = scope
        self._name = names.server_groups(scope[1])
        self.project = ""
        self.groups: set[str] = set()
        secret = management.get(kinds.SECRET, scope[0], self._name)
        self.labels = view.labels_of(secret)
        self.exists = secret is not None
        if secret is None:
            return
        try:
            content = encoding.read_plain(secret["data"][_KEY])
            self.project = str(content["project"])
            self.groups = set(dict(content["groups"]))
        except encoding.DAMAGED as error:
            raise errors.ManagementError(
                f"the Secret {self._name} does not say which server groups to "
                f"delete ({type(error).__name__}): delete those named "
                f"{scope[1]}-* in Nova, then delete the Secret"
            ) from error

    def write(self, groups: Iterable[str]) -> None:
        """Write other groups; delete the Secret if there are none."""
        # Conductors of older commits read the values as ids; "" is unknown.
        content = {
            "project": self.project,
            "groups": dict.fromkeys(groups, ""),
        }
        if content["groups"]:
            data = {_KEY: encoding.plain(content)}
            self.management.apply(
                kinds.SECRET,
                encoding.secret(self.scope[0], self._name, self.labels, data),
            )
        elif self.exists:
            self.management.delete(kinds.SECRET, self.scope[0], self._name)


def ensure(
    management: client.Client,
    scope: location.Scope,
    labels: dict[str, str],
    session: Any,
    groups: Mapping[str, str],
) -> dict[str, str]:
    """Create the server groups that are not there; under the Lease.

    :param labels: of the driver's objects for the cluster
    :param session: in the project of the server groups that are recorded
    :param groups: the chart's name of a node group -> policy
    :returns: the chart's name of a node group -> id
    :raises NotSupported: it is in another project than those of before
    :raises CloudError: Nova refused
    :raises LeaseLost: another conductor works on the cluster; no server group
        is left that is not in the Secret
    """
    if not groups:
        return {}
    record = _Record(management, scope)
    project = str(session.get_project_id())
    if record.project not in ("", project):
        raise errors.NotSupported(
            "the cluster has server groups in another project: delete those "
            f"named {scope[1]}-* there, then the Secret "
            f"{names.server_groups(scope[1])}. The project is {record.project}"
        )
    record.project = project
    record.labels = labels
    record.write(record.groups | groups.keys())
    api = sessions.proxy(session, "compute")
    try:
        ids = _create(api, scope[1], groups)
        call.check_lease()
    except errors.LeaseLost:
        _delete_unlisted(record, api, groups)
        raise
    return ids


def _create(
    api: Any, release: str, groups: Mapping[str, str]
) -> dict[str, str]:
    with sessions.asking("server groups"):
        ids = {str(each.name): str(each.id) for each in api.server_groups()}
    for group, policy in groups.items():
        name = names.server_group(release, group)
        if name in ids:
            continue
        with sessions.asking(f"server group {name}"):
            call.check_lease()
            # The client takes the newest microversion that both know: soft
            # policies are Nova's since 2.15.
            made = api.create_server_group(name=name, policies=[policy])
        ids[name] = str(made.id)
    return {each: ids[names.server_group(release, each)] for each in groups}


def _delete_unlisted(record: _Record, api: Any, groups: Iterable[str]) -> None:
    """Delete server groups that the Secret does not list any more.

    One that it lists may be in use: the new holder of the Lease takes it.
    """
    release = record.scope[1]
    try:
        lost = set(groups) - _Record(record.management, record.scope).groups
        if lost:
            _delete_in_nova(record, api, lost)
    except errors.CapiHelmError as error:
        LOG.warning(
            "server groups of %s may be left in Nova, delete those named "
            "%s-*: %s",
            release,
            release,
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
    gone = record.groups & set(record.groups if groups is None else groups)
    if gone:
        own = sessions.cluster_session(management, scope)
        api = sessions.proxy(own or sessions.service_session(), "compute")
        # As its own user the cluster sees no project but its own.
        _delete_in_nova(record, api, gone, everywhere=own is None)
    if gone or not record.groups:
        record.write(record.groups - gone)


def _delete_in_nova(
    record: _Record,
    api: Any,
    groups: Iterable[str],
    *,
    everywhere: bool = False,
) -> None:
    """Delete server groups by name.

    :param everywhere: look in all projects, as an administrator
    """
    release = record.scope[1]
    unwanted = {names.server_group(release, group) for group in groups}
    # Before microversion 2.13, Nova shows no project.
    projects = (record.project, None)
    with sessions.asking("deleting the cluster's server groups"):
        listed = _of_all_projects(api) if everywhere else api.server_groups()
        for each in list(listed):
            if each["name"] in unwanted and each["project_id"] in projects:
                api.delete_server_group(each["id"])


def _of_all_projects(api: Any) -> Iterator[dict[str, Any]]:
    """Yield the server groups of all projects.

    Nova returns 1,000 of them at a time, and openstacksdk reads no second
    page.
    """
    offset = 0
    while True:
        answer = api.get(
            "/os-server-groups",
            params={"all_projects": "True", "offset": offset},
            microversion="2.13",
            raise_exc=True,
        )
        page = answer.json()["server_groups"]
        if not page:
            return
        yield from page
        offset += len(page)
