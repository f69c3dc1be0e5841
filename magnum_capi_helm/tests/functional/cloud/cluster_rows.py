# SPDX-License-Identifier: Apache-2.0

"""OpenStack's objects of one cluster, read for a table of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
import json
from typing import Any

from lab.cloud import rows
from magnum_capi_helm.tests.functional import programs

#: Results of the tests, for the table in the documentation.
DIRECTORY = programs.LAB / "openstack-rows"
#: A field that stands for the number of objects.
COUNT = "number"

#: Volumes of a server by the end of their name.
_VOLUMES = {
    "boot volume": "root",
    "container volume": "containers",
    "etcd volume": "etcd",
    "extra volume": "data",
}
_NAMED = {
    "network": "networks",
    "subnet": "subnets",
    "router": "routers",
    "load balancer": "load balancers",
    "listener": "listeners",
    "pool": "pools",
    "health monitor": "health monitors",
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One setting and the field of an OpenStack object that it ends in.

    :param setting: the place where it is set and its name
    :param value: as the user or operator writes it
    :param kind: the kind of object
    :param which: a nodegroup of servers, or a security group, or empty
    :param field: the dotted path in the object
    :param expected: the value there, or a list if the objects differ
    """

    setting: str
    value: str
    kind: str
    which: str
    field: str
    expected: Any


class ClusterRows:
    """The rows of a cluster, all read at once.

    :param cloud: OpenStack's APIs
    :param release: the cluster's release
    :param uuid: the cluster's UUID
    :param words: texts to write in the place of IDs and random names
    """

    def __init__(
        self,
        cloud: rows.Cloud,
        release: str,
        uuid: str,
        words: Mapping[str, str],
    ) -> None:
        self._cloud = cloud
        self._release = release
        self._uuid = uuid
        self._all = cloud.all_rows()
        images = cloud.get("image", "/v2/images")["images"]
        path = "/v2/lbaas/flavors"
        flavors = cloud.get("load-balancer", path)["flavors"]
        self._words = words
        self._names = {
            **{each["id"]: each["name"] for each in (*images, *flavors)},
            **{
                each["id"]: each["name"]
                for kind in ("networks", "subnets", "security groups")
                for each in self._all[kind]
            },
            **{
                each["vip_port_id"]: "the load balancer's port"
                for each in self._all["load balancers"]
            },
            **{
                port["id"]: "a control plane machine's port"
                for port in self._all["ports"]
                if port["name"].startswith(f"{release}-control-plane-")
            },
        }

    def read(self, row: Row) -> Any:
        """Return the value of a row's field; a list if there are several."""
        objects = self._objects(row.kind, row.which)
        if row.field == COUNT:
            return len(objects)
        values: list[Any] = []
        for each in objects:
            value = self._in_words(_at(each, row.field))
            if value not in values:
                values.append(value)
        return values[0] if len(values) == 1 else sorted(values, key=str)

    def _in_words(self, value: Any) -> Any:
        if isinstance(value, list):
            return sorted((self._in_words(each) for each in value), key=str)
        if isinstance(value, dict):
            return {key: self._in_words(each) for key, each in value.items()}
        if isinstance(value, str):
            value = self._names.get(value, value)
            # A text may begin with another one, as addresses do.
            for text in sorted(self._words, key=len, reverse=True):
                value = value.replace(text, self._words[text])
        return value

    def _objects(self, kind: str, which: str) -> Sequence[rows.Row]:
        if kind in _VOLUMES:
            return self._volumes(which, _VOLUMES[kind])
        if kind in _NAMED:
            return self._mentioning(_NAMED[kind])
        match kind:
            case "floating IP":
                return self._floating_ips()
            case "member":
                return self._members()
            case "application credential":
                return self._credentials()
            case "volume of a claim":
                return self._claims()
        return {
            "server": self._servers,
            "server group": self._server_groups,
            "attached volume": self._attachments,
            "port": self._ports,
            "rule": self._rules,
        }[kind](which)

    def _mentioning(self, kind: str) -> list[rows.Row]:
        return [
            each
            for each in self._all[kind]
            if rows.mentions(each, self._release)
        ]

    def _servers(self, group: str) -> list[rows.Row]:
        prefix = f"{self._release}-{group}-"
        return [
            each
            for each in self._all["servers"]
            if each["name"].startswith(prefix)
        ]

    def _server_groups(self, group: str) -> list[rows.Row]:
        """Return the server group with the number of servers in it."""
        name = f"{self._release}-{group}"
        return [
            {**each, "servers": len(each["members"])}
            for each in self._all["server groups"]
            if each["name"] == name
        ]

    def _volumes(self, group: str, device: str) -> list[rows.Row]:
        names = [f"{each['name']}-{device}" for each in self._servers(group)]
        return [each for each in self._all["volumes"] if each["name"] in names]

    def _attachments(self, group: str) -> list[rows.Row]:
        """Return Nova's attachments of volumes, in the order of devices."""
        return [
            attachment
            for each in self._servers(group)
            for attachment in self._cloud.get(
                "compute", f"/servers/{each['id']}/os-volume_attachments"
            )["volumeAttachments"]
        ]

    def _ports(self, which: str) -> list[rows.Row]:
        """Return a port of each server, with the IDs of its subnets.

        :param which: a nodegroup, and the number of the port
        """
        group, number = which.split()
        names = [f"{each['name']}-{number}" for each in self._servers(group)]
        return [
            {**each, "subnets": [ip["subnet_id"] for ip in each["fixed_ips"]]}
            for each in self._all["ports"]
            if each["name"] in names
        ]

    def _rules(self, which: str) -> list[rows.Row]:
        """Return the rules of a security group with a description.

        :param which: the end of the group's name, and the description
        """
        suffix, _, description = which.partition(" ")
        return [
            rule
            for each in self._mentioning("security groups")
            if each["name"].endswith(f"-{suffix}")
            for rule in each["security_group_rules"]
            if rule["description"] == description
        ]

    def _floating_ips(self) -> list[rows.Row]:
        """Return the floating IPs of load balancer and machines."""
        ports = [
            each["vip_port_id"] for each in self._mentioning("load balancers")
        ]
        ports += [each["id"] for each in self._mentioning("ports")]
        return [
            each
            for each in self._all["floating IPs"]
            if each["port_id"] in ports
        ]

    def _members(self) -> list[rows.Row]:
        return [
            member
            for pool in self._mentioning("pools")
            for member in self._cloud.get(
                "load-balancer", f"/v2/lbaas/pools/{pool['id']}/members"
            )["members"]
        ]

    def _credentials(self) -> list[rows.Row]:
        """Return the application credentials with the names of roles."""
        return [
            {**each, "roles": [role["name"] for role in each["roles"]]}
            for each in self._all[rows.CREDENTIALS]
            if self._uuid in each["name"]
        ]

    def _claims(self) -> list[rows.Row]:
        """Return volumes as the Cinder CSI driver marks them."""
        return [
            each
            for each in self._all["volumes"]
            if self._release in each["metadata"].values()
        ]


def _at(row: Any, path: str) -> Any:
    for key in path.split("."):
        row = row.get(key) if isinstance(row, Mapping) else None
    return row


def keep(name: str, seen: Sequence[tuple[Row, Any]]) -> None:
    """Keep what a test saw, in the place of what it saw before."""
    DIRECTORY.mkdir(exist_ok=True)
    lines = [
        json.dumps(
            {
                "setting": row.setting,
                "value": row.value,
                "object": f"{row.kind} {row.which}".strip(),
                "field": row.field,
                "seen": value,
            }
        )
        for row, value in seen
    ]
    (DIRECTORY / f"{name}.jsonl").write_text("\n".join([*lines, ""]))
