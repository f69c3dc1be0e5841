# SPDX-License-Identifier: Apache-2.0

"""Quotas of Nova, Cinder, Neutron and Octavia, behind requests-mock."""

from __future__ import annotations

import re
from typing import Any


class FakeQuotas:
    """Limits and use; whatever is not set is plenty.

    :param mocker: a requests-mock mocker that is started already
    :param compute: URL of Nova; the others likewise
    """

    PLENTY = (1_000_000, 0)

    def __init__(
        self,
        mocker: Any,
        compute: str,
        volume: str,
        network: str,
        balancer: str,
    ) -> None:
        #: Resource -> (limit, used).
        self.known: dict[str, tuple[int, int]] = {}
        for url, answer in (
            (f"{compute}/limits", self._nova),
            (f"{volume}/limits", self._cinder),
            (f"{network}/v2.0/quotas/[^/]+/details", self._neutron),
            (f"{balancer}/v2(.0)?/lbaas/quotas/", self._octavia),
        ):
            mocker.register_uri("GET", re.compile(url), json=answer)

    def _of(self, resource: str) -> tuple[int, int]:
        return self.known.get(resource, self.PLENTY)

    def _absolute(self, names: dict[str, tuple[str, str]]) -> Any:
        found = {}
        for resource, (limit, used) in names.items():
            found[limit], found[used] = self._of(resource)
        return {"limits": {"absolute": found, "rate": []}}

    def _nova(self, request: Any, context: Any) -> Any:
        return self._absolute(
            {
                "instances": ("maxTotalInstances", "totalInstancesUsed"),
                "cores": ("maxTotalCores", "totalCoresUsed"),
                "ram": ("maxTotalRAMSize", "totalRAMUsed"),
                "server_groups": ("maxServerGroups", "totalServerGroupsUsed"),
                "server_group_members": ("maxServerGroupMembers", "unused"),
            }
        )

    def _cinder(self, request: Any, context: Any) -> Any:
        return self._absolute(
            {
                "volumes": ("maxTotalVolumes", "totalVolumesUsed"),
                "gigabytes": (
                    "maxTotalVolumeGigabytes",
                    "totalGigabytesUsed",
                ),
            }
        )

    def _octavia(self, request: Any, context: Any) -> Any:
        # It does not tell the use.
        return {"quota": {"load_balancer": self._of("load_balancer")[0]}}

    def _neutron(self, request: Any, context: Any) -> Any:
        names = (
            "network",
            "subnet",
            "router",
            "port",
            "floatingip",
            "security_group",
        )
        return {
            "quota": {
                name: {
                    "limit": self._of(name)[0],
                    "used": self._of(name)[1],
                    "reserved": 0,
                }
                for name in names
            }
        }
