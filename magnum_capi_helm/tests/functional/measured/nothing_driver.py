# SPDX-License-Identifier: Apache-2.0

"""A driver that does nothing, for what Magnum itself takes.

The lab's Magnum imports it, which has nothing of the tests.
"""

from __future__ import annotations

import datetime
from typing import Any

from magnum.drivers.common import driver

#: Seconds that a cluster of a crowd is in progress.
SECONDS = 240
#: What the names of those begin with.
CROWD = "crowd"


class Driver(driver.Driver):
    """Clusters are complete some minutes after they were asked for."""

    provides = ({"server_type": "vm", "os": "ubuntu", "coe": "kubernetes"},)

    def create_cluster(self, context: Any, cluster: Any, _: Any) -> None:
        """Nothing."""
        cluster.stack_id = cluster.uuid

    def delete_cluster(self, context: Any, cluster: Any) -> None:
        """Nothing."""

    def update_cluster_status(self, context: Any, cluster: Any) -> None:
        """What is in progress ends, after a while or at once."""
        if cluster.status == "DELETE_IN_PROGRESS":
            status = "DELETE_COMPLETE"
        elif _due(cluster):
            status = "CREATE_COMPLETE"
        else:
            return
        for group in cluster.nodegroups:
            group.status = status
            group.save()
        cluster.status = status
        cluster.save()

    def _refuse(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError

    update_cluster = resize_cluster = upgrade_cluster = _refuse
    create_nodegroup = update_nodegroup = delete_nodegroup = _refuse
    create_federation = update_federation = delete_federation = _refuse


def _due(cluster: Any) -> bool:
    if not cluster.name.startswith(CROWD):
        return True
    now = datetime.datetime.now(cluster.created_at.tzinfo)
    return bool((now - cluster.created_at).total_seconds() > SECONDS)
