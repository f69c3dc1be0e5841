# SPDX-License-Identifier: Apache-2.0

"""Does a larger group fit into the quota of its project?

Asked only where ``[capi_helm] quota_check`` says so, and answered only where
all that has to be known is: a resize never fails because something about the
quota could not be read.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from oslo_log import log

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import quota
from magnum_capi_helm.resolve import requested

LOG = log.getLogger(__name__)


def check(context: Any, cluster: Any, nodegroup: Any, now: int) -> None:
    """Check the machines that a resize adds.

    :param nodegroup: with the new count
    :param now: machines that the group is told to have so far
    :raises InvalidInput: they don't fit, and that is to be refused
    """
    by = nodegroup.node_count - now
    if quota.off() or by <= 0:
        return
    problem = ""
    try:
        cloud = catalogue.Cloud(sessions.user_session(context))
        outline, group = _resolved(cluster, nodegroup, cloud)
        flavor = cloud.flavor(group.flavor)
    except errors.CapiHelmError as error:
        problem = str(error)
    if problem:
        LOG.debug("Quota of cluster %s not checked: %s", cluster.uuid, problem)
        return
    quota.check_growth(cloud, outline, group, flavor, by)


def _resolved(
    cluster: Any, nodegroup: Any, cloud: catalogue.Cloud
) -> tuple[cluster_spec.Cluster, cluster_spec.NodeGroup]:
    release = str(cluster.stack_id)
    asked = requested.living_labels(cluster)
    group = groups.resolve(cluster, nodegroup, cloud, release, asked)
    outline = resolve_cluster.outline(
        cluster, asked, requested.configured_chart(), release
    )
    if group.role == "master":
        outline = dataclasses.replace(outline, control_plane=group)
    return outline, group
