# SPDX-License-Identifier: Apache-2.0

"""The requests to Magnum's API that operations begin with."""

from __future__ import annotations

from typing import Any

GROUP = "extra"
#: What operations make of a nodegroup's size.
COUNTS = {
    "create": ("default-worker", 1),
    "resize": ("default-worker", 2),
    "add group": (GROUP, 1),
}
_ROTATIONS = {"OpenStack-API-Version": "container-infra 1.12"}

#: Method, path, body, headers.
Order = tuple[str, str, Any, dict[str, str]]


def order(
    operation: str, name: str, uuid: str, templates: tuple[str, str]
) -> Order:
    """A request.

    :param uuid: of the cluster, unless it is to be made
    :param templates: of the cluster, and of its upgrade
    """
    old, new = templates
    cluster = f"/clusters/{uuid}"
    created = {"name": name, "cluster_template_id": old, "node_count": 1}
    grouped = {
        "name": GROUP,
        "flavor_id": "m1.worker",
        "node_count": 1,
        "min_node_count": 0,
    }
    upgraded = {"cluster_template": new, "max_batch_size": 1}
    orders: dict[str, Order] = {
        "create": ("POST", "/clusters", created, {}),
        "resize": ("POST", f"{cluster}/actions/resize", {"node_count": 2}, {}),
        "add group": ("POST", f"{cluster}/nodegroups", grouped, {}),
        "delete group": ("DELETE", f"{cluster}/nodegroups/{GROUP}", None, {}),
        "upgrade": ("POST", f"{cluster}/actions/upgrade", upgraded, {}),
        "rotate": ("PATCH", f"/credentials/{uuid}", None, _ROTATIONS),
        "delete": ("DELETE", cluster, None, {}),
    }
    return orders[operation]
