# SPDX-License-Identifier: Apache-2.0

"""Upgrade a cluster to the newest template of its channel.

1. Read the public templates of the channels, and the versions of their images.
2. Find the cluster's channel and version in its desired state.
3. Refuse a cluster that is behind, and not complete and healthy.
4. Plan the upgrade as ``diff`` does: what the conductor would refuse is
   refused here, and the machines that it replaces are counted.
5. Ask Magnum's API, as a user does, with Magnum's service user.
6. Wait until the polls have ended the upgrade.

Nothing is written here. The API checks the policy, the conductor sends its
notifications, takes the Lease, and sees the project with the cluster's own
credential. So an operator's upgrade can do no more than a user's, and a
command that is killed leaves nothing half done. Messages to the conductor by
RPC would depend on Magnum's internals; an upgrade in this process would need
the conductor's charts and files, and would notify nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magnum import objects

from magnum_capi_helm.chart import diff
from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import nodes
from magnum_capi_helm.features import template as template_labels
from magnum_capi_helm.lifecycle import preview
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.model import channels
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import health

#: Upgrades came with this version (``rest_api_version_history.rst``).
_VERSION = {"OpenStack-API-Version": "container-infra 1.8"}
#: Seconds for an answer. Magnum's API waits 60 for the conductor, by default.
_WAIT = 90
#: Seconds to wait for a helm process: an operator can wait.
_PATIENCE = 600.0


def templates(of_driver: Callable[[Any], bool]) -> list[channels.Template]:
    """Return the public templates of all channels; hidden ones are withdrawn.

    :param of_driver: chooses rows of templates of this driver
    :raises InvalidInput: the image of one is not there
    :raises CloudError: Glance can't be asked
    """
    cloud = catalogue.Cloud(sessions.service_session())
    chosen = []
    for row in objects.ClusterTemplate.list(rows.everywhere()):
        labels = row.labels or {}
        channel = labels.get(template_labels.CHANNEL.name)
        offered = row.public and not row.hidden and of_driver(row)
        if channel and offered:
            with errors.in_field(f"template {row.name}"):
                image = cloud.image(row.image_id)
            version = image.kube_version or labels.get(nodes.KUBE_TAG.name)
            chosen.append(channels.Template(row, channel, version or ""))
    return chosen


def present(release: cluster_release.Release) -> channels.Template | None:
    """Return a cluster's template, with its own channel and version.

    :returns: None: it is in no channel, or nothing was made for it
    """
    row = release.cluster
    desired = release.read_stored().desired if row.stack_id else None
    if desired is None:
        return None
    settings = requested_labels.living_labels(row, desired.labels)
    if not (channel := settings[template_labels.CHANNEL]):
        return None
    version = upgrade_rules.control_plane_version(desired.values)
    return channels.Template(row.cluster_template, channel, version)


def check(
    release: cluster_release.Release, template: str
) -> tuple[diff.Change, ...]:
    """Return the changes of objects that an upgrade makes; write nothing.

    :param template: UUID of the new template
    :raises CapiHelmError: the cluster can't be upgraded now
    """
    row = release.cluster
    state = f"{row.status}, {row.health_status or health.UNKNOWN}"
    if not state.endswith(f"_COMPLETE, {health.HEALTHY}"):
        raise errors.NotSupported(
            f"the cluster is {state}: only complete and healthy clusters are "
            "upgraded"
        )
    with release.runtime.turns.turn(_PATIENCE):
        if values.is_hibernated(preview.of_cluster(release).values):
            raise errors.NotSupported("the cluster is hibernated: wake it")
        new = preview.upgraded(release, template, None, {})
        return release_change.compare(release, new).changes


def begin(operation: cluster_operation.Operation, template: str) -> None:
    """Ask Magnum to upgrade a cluster; return when it has accepted.

    The policy ``cluster:upgrade_all_projects`` has to allow Magnum's service
    user. If the answer is lost, the row tells whether the upgrade has begun.

    :param template: UUID of the new template
    :raises CloudError: Magnum has not accepted the upgrade
    """
    session = sessions.service_session()
    url = sessions.endpoint(session, "container-infrastructure-management")
    url = url.rstrip("/").removesuffix("/v1")
    url = f"{url}/v1/clusters/{operation.cluster.uuid}/actions/upgrade"
    body = {"cluster_template": template, "max_batch_size": 1}
    try:
        with sessions.asking("upgrade by Magnum's API"):
            session.post(url, json=body, headers=_VERSION, timeout=_WAIT)
    except errors.CloudError:
        row = rows.fresh(operation.context, operation.cluster)
        if row is None or not rows.in_progress(row.status):
            raise


def pending(operation: cluster_operation.Operation, template: str) -> str:
    """Return why an upgrade has not ended; empty: it has.

    :raises CapiHelmError: it failed, or the cluster has another template
    """
    left = operation.wait_reason()
    row = rows.fresh(operation.context, operation.cluster)
    if left or (row and row.cluster_template_id == template):
        return left
    raise errors.CapiHelmError("the cluster does not have the new template")
