# SPDX-License-Identifier: Apache-2.0

"""Images, networks, volume types, zones and quotas, behind requests-mock."""

from __future__ import annotations

import re
from typing import Any
import uuid


def version(name: str, url: str, newest: str = "") -> dict[str, Any]:
    """One that is current.

    :param newest: microversion
    """
    return {
        "id": name,
        "status": "CURRENT",
        "version": newest,
        "min_version": "2.1" if newest.startswith("2") else "3.0",
        "links": [{"rel": "self", "href": url}],
    }


def image(name: str, **properties: Any) -> dict[str, Any]:
    """An image; without arguments one that makes nodes."""
    wanted = {"os_distro": "ubuntu", "kube_version": "v1.34.2", **properties}
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "name": name,
        "status": "active",
        "visibility": "public",
        **{key: value for key, value in wanted.items() if value is not None},
    }


class FakeImages:
    """Images that the user sees.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Glance
    """

    def __init__(self, mocker: Any, url: str) -> None:
        self.images = [image("ubuntu-1.34")]
        self._image_url = url
        for path, answer in (
            ("/?$", self._image_versions),
            ("/v2/images", self._images),
        ):
            mocker.register_uri("GET", re.compile(f"{url}{path}"), json=answer)

    def _image_versions(self, request: Any, context: Any) -> Any:
        return {
            "versions": [
                {
                    "id": "v2.16",
                    "status": "CURRENT",
                    "links": [
                        {"rel": "self", "href": f"{self._image_url}/v2/"}
                    ],
                }
            ]
        }

    def _images(self, request: Any, context: Any) -> Any:
        wanted = request.path.removeprefix("/v2/images").strip("/")
        if wanted:
            for each in self.images:
                if each["id"] == wanted:
                    return each
            context.status_code = 404
            return {}
        filters = {"os_hidden": ["false"], **request.qs}
        return {
            "images": [
                each
                for each in self.images
                if all(
                    str(each.get(key, False)).lower() in filters.get(key, [])
                    for key in ("name", "os_hidden", "status", "visibility")
                    if key in filters
                )
            ]
        }


class FakeNetworks:
    """Networks and subnets that the user sees.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Neutron
    """

    def __init__(self, mocker: Any, url: str) -> None:
        self.networks = {"public": "net-1", "private": "net-2"}
        self.subnets = {"private-subnet": "subnet-2"}
        #: What else there is to say of networks and subnets, by id.
        self.details: dict[str, dict[str, Any]] = {
            "net-1": {"router:external": True},
            "subnet-2": {"network_id": "net-2", "cidr": "192.168.0.0/24"},
        }
        self._network_url = url
        for path, answer in (
            ("/?$", self._network_versions),
            ("/v2.0/networks", self._networks),
            ("/v2.0/subnets", self._subnets),
        ):
            mocker.register_uri("GET", re.compile(f"{url}{path}"), json=answer)

    def _network_versions(self, request: Any, context: Any) -> Any:
        return {"versions": [version("v2.0", f"{self._network_url}/v2.0")]}

    def _networks(self, request: Any, context: Any) -> Any:
        return self._named(self.networks, "network", request, context)

    def _subnets(self, request: Any, context: Any) -> Any:
        return self._named(self.subnets, "subnet", request, context)

    def _named(
        self, known: dict[str, str], kind: str, request: Any, context: Any
    ) -> Any:
        wanted = request.path.split(f"/{kind}s")[1].strip("/")
        found = [
            {"id": value, "name": name, **self.details.get(value, {})}
            for name, value in known.items()
        ]
        if wanted:
            for each in found:
                if each["id"] == wanted:
                    return {kind: each}
            context.status_code = 404
            return {}
        for field in ("name", "network_id"):
            if values := request.qs.get(field):
                found = [each for each in found if each[field] in values]
        return {f"{kind}s": found}


class FakeVolumeTypes:
    """Volume types that the user sees, and the default.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Cinder, with the project
    """

    def __init__(self, mocker: Any, url: str) -> None:
        self.volume_types = ["__DEFAULT__", "fast", "slow"]
        self.default_volume_type = "slow"
        self._volume_url, _, _ = url.rpartition("/")
        root, _, _ = self._volume_url.rpartition("/")
        for pattern, answer in (
            (f"{url}/?$", self._volume_version),
            (f"{root}/(v3/?)?$", self._volume_version),
            (f"{url}/types", self._types),
        ):
            mocker.register_uri("GET", re.compile(pattern), json=answer)

    def _volume_version(self, request: Any, context: Any) -> Any:
        return {"versions": [version("v3.0", f"{self._volume_url}/", "3.71")]}

    def _types(self, request: Any, context: Any) -> Any:
        kinds = [
            {"id": name, "name": name, "is_public": True}
            for name in self.volume_types
        ]
        wanted = request.path.split("/types")[1].strip("/")
        if not wanted:
            return {"volume_types": kinds}
        name = self.default_volume_type if wanted == "default" else wanted
        for each in kinds:
            if each["name"] == name:
                return {"volume_type": each}
        context.status_code = 404
        return {}


class FakeZones:
    """Zones of one service that are up, and one that is not.

    :param mocker: a requests-mock mocker that is started already
    :param service: URL of the service
    """

    def __init__(self, mocker: Any, service: str, *names: str) -> None:
        self.names = list(names)
        url = re.compile(f"{service}/os-availability-zone")
        mocker.register_uri("GET", url, json=self._answer)

    def _answer(self, request: Any, context: Any) -> Any:
        known = [*((name, True) for name in self.names), ("broken", False)]
        return {
            "availabilityZoneInfo": [
                {"zoneName": name, "zoneState": {"available": up}}
                for name, up in known
            ]
        }


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
