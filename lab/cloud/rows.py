# SPDX-License-Identifier: Apache-2.0

"""The rows of all OpenStack services that a cluster can leave behind."""

from collections.abc import Collection, Iterator, Mapping
import dataclasses
from typing import Any, TypeAlias

from keystoneauth1 import adapter
from keystoneauth1 import session

#: A row as its service shows it.
Row: TypeAlias = Mapping[str, Any]

#: Nova shows flavors by name and policies of server groups with it.
_NOVA = "2.79"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of row.

    :param service: the service's type in Keystone's catalogue
    :param path: of the list with the rows of all projects
    :param key: of the list in the answer
    """

    name: str
    service: str
    path: str
    key: str


_LBAAS = "/v2/lbaas"
KINDS = (
    Kind("servers", "compute", "/servers/detail?all_tenants=1", "servers"),
    Kind(
        "server groups",
        "compute",
        "/os-server-groups?all_projects=1",
        "server_groups",
    ),
    Kind("networks", "network", "/v2.0/networks", "networks"),
    Kind("subnets", "network", "/v2.0/subnets", "subnets"),
    Kind("routers", "network", "/v2.0/routers", "routers"),
    Kind("ports", "network", "/v2.0/ports", "ports"),
    Kind(
        "security groups",
        "network",
        "/v2.0/security-groups",
        "security_groups",
    ),
    Kind("floating IPs", "network", "/v2.0/floatingips", "floatingips"),
    Kind(
        "load balancers",
        "load-balancer",
        f"{_LBAAS}/loadbalancers",
        "loadbalancers",
    ),
    Kind("listeners", "load-balancer", f"{_LBAAS}/listeners", "listeners"),
    Kind("pools", "load-balancer", f"{_LBAAS}/pools", "pools"),
    Kind(
        "health monitors",
        "load-balancer",
        f"{_LBAAS}/healthmonitors",
        "healthmonitors",
    ),
    Kind(
        "volumes",
        "block-storage",
        "/volumes/detail?all_tenants=1",
        "volumes",
    ),
    Kind(
        "snapshots",
        "block-storage",
        "/snapshots/detail?all_tenants=1",
        "snapshots",
    ),
)
CREDENTIALS = "application credentials"
ALLOCATIONS = "allocations"
#: Kinds of Keystone and Placement, whose rows do not name the release.
_UNNAMED = (
    Kind("users", "identity", "/users", "users"),
    Kind("trusts", "identity", "/OS-TRUST/trusts", "trusts"),
)

#: Kind and name of rows that stay -> why.
EXCUSED = {
    # Neutron allows no other group of this name.
    ("security groups", "default"): "Neutron makes one for each project",
}


class Cloud:
    """OpenStack's REST APIs, as the administrator sees them.

    :param admin: the administrator's session
    """

    def __init__(self, admin: session.Session) -> None:
        self._session = admin

    def get(self, service: str, path: str) -> Any:
        """Return the decoded answer to a GET."""
        microversion = _NOVA if service == "compute" else None
        api = adapter.Adapter(
            self._session,
            service_type=service,
            default_microversion=microversion,
        )
        return api.get(path).json()

    def rows(self, kind: Kind) -> list[Row]:
        """Return the rows of a kind."""
        listed: list[Row] = self.get(kind.service, kind.path)[kind.key]
        return listed

    def left_of(self, text: str, but: Collection[str] = ()) -> list[str]:
        """Return the rows whose name, tags or description have the text.

        :param but: IDs of rows that may stay
        """
        return [
            f"{kind.name} {called(row)}"
            for kind in KINDS
            for row in self.rows(kind)
            if row["id"] not in but and mentions(row, text)
        ]

    def all_rows(self) -> dict[str, list[Row]]:
        """Return every row by the name of its kind."""
        everything = {
            kind.name: self.rows(kind) for kind in (*KINDS, *_UNNAMED)
        }
        everything[CREDENTIALS] = [
            row
            for user in everything["users"]
            for row in self.get(
                "identity", f"/users/{user['id']}/application_credentials"
            )["application_credentials"]
        ]
        everything[ALLOCATIONS] = list(self._allocations())
        return everything

    def _allocations(self) -> Iterator[Row]:
        """Yield a row for each consumer of each of Placement's providers."""
        path = "/resource_providers"
        for each in self.get("placement", path)["resource_providers"]:
            used = self.get("placement", f"{path}/{each['uuid']}/allocations")
            for consumer in used["allocations"]:
                yield {"id": consumer, "name": f"{each['name']} {consumer}"}


def called(row: Row) -> str:
    """Return a row's name, or what it has instead."""
    return str(
        row.get("name") or row.get("floating_ip_address") or row.get("id")
    )


def mentions(row: Row, text: str) -> bool:
    """Return whether name, tags or description of a row have the text."""
    words = (row.get("name"), row.get("description"), *(row.get("tags") or ()))
    return any(text in word for word in words if word)
