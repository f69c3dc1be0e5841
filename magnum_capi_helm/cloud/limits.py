# SPDX-License-Identifier: Apache-2.0

"""Quotas of the user's project, as each service knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.cloud import sessions

#: Resource -> names of limit and use in Nova's and Cinder's answers.
_NOVA = {
    "instances": ("instances", "instances_used"),
    "cores": ("total_cores", "total_cores_used"),
    "ram": ("total_ram", "total_ram_used"),
    "server_groups": ("server_groups", "server_groups_used"),
    # Of one server group, whatever the others have.
    "server_group_members": ("server_group_members", ""),
}
_CINDER = {
    "volumes": ("max_total_volumes", "total_volumes_used"),
    "gigabytes": ("max_total_volume_gigabytes", "total_gigabytes_used"),
}
_NEUTRON = {
    "network": "networks",
    "subnet": "subnets",
    "router": "routers",
    "port": "ports",
    "floatingip": "floating_ips",
    "security_group": "security_groups",
}


class Limits:
    """Limits and use, by resource.

    :param session: whose project it is about
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def compute_quotas(self) -> dict[str, quota_demand.Quota]:
        """Nova's."""
        api = self._api("compute", "nova", "compute")
        with sessions.asking("limits of Nova"):
            return _absolute(api.get_limits().absolute, _NOVA)

    def volume_quotas(self) -> dict[str, quota_demand.Quota]:
        """Cinder's."""
        api = self._api("block-storage", "cinder", "block_storage")
        with sessions.asking("limits of Cinder"):
            return _absolute(api.get_limits().absolute, _CINDER)

    def network_quotas(self) -> dict[str, quota_demand.Quota]:
        """Neutron's; needs its extension ``quota_details``."""
        api = self._api("network", "neutron", "network")
        with sessions.asking("quota of Neutron"):
            found = api.get_quota(self._project(), details=True)
        details = {each: getattr(found, key) for each, key in _NEUTRON.items()}
        return {
            resource: quota_demand.Quota(
                limit=int(each["limit"]),
                used=int(each["used"]) + int(each.get("reserved", 0)),
            )
            for resource, each in details.items()
            if isinstance(each, Mapping)
        }

    def balancer_quotas(self) -> dict[str, quota_demand.Quota]:
        """Octavia's, which doesn't say what is used: that is counted."""
        api = self._api("load-balancer", "octavia", "load_balancer")
        with sessions.asking("quota of Octavia"):
            limit = api.get_quota(self._project()).load_balancers
            used = sum(
                1 for _ in api.load_balancers(project_id=self._project())
            )
        return (
            {}
            if limit is None
            else {"load_balancer": quota_demand.Quota(limit, used)}
        )

    def _project(self) -> str:
        return str(self._session.get_project_id())

    def _api(self, service: str, section: str, prefix: str) -> Any:
        return sessions.proxy(self._session, service, section, prefix)


def _absolute(
    answer: Any, wanted: Mapping[str, tuple[str, str]]
) -> dict[str, quota_demand.Quota]:
    """What is asked of the limits; one that is not told is left out."""
    found = {}
    for resource, (limit, used) in wanted.items():
        told = getattr(answer, limit)
        if told is not None:
            known = getattr(answer, used) if used else 0
            found[resource] = quota_demand.Quota(int(told), int(known or 0))
    return found
