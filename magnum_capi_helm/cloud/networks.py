# SPDX-License-Identifier: Apache-2.0

"""Networks and subnets, as Neutron knows them."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import functools
from typing import Any
import uuid

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import errors


@dataclasses.dataclass(frozen=True)
class Subnet:
    """A subnet: its UUID, that of its network, and its range."""

    id: str
    network_id: str
    cidr: str


class Networks:
    """Lookups in Neutron; each network asked once.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def network(self, ref: str) -> str:
        """The UUID of a network given by UUID or name.

        :raises InvalidInput: not there, or several have that name
        """
        return str(_only("network", ref, self._networks(ref)).id)

    def external_network(self, ref: str) -> str:
        """The UUID of an external network given by UUID or name.

        :raises InvalidInput: not there, not external, or several have that
            name
        """
        found = self._networks(ref)
        external = tuple(each for each in found if each.is_router_external)
        if found and not external:
            raise errors.InvalidInput(
                "the network is not external; choose one of `openstack "
                f"network list --external`. It is {errors.shown(ref)}"
            )
        return str(_only("network", ref, external).id)

    def subnet(self, ref: str) -> Subnet:
        """The subnet given by UUID or name.

        :raises InvalidInput: not there, or several have that name
        """
        api = self._network_api
        found = _search("subnet", ref, api.subnets, api.find_subnet)
        return _subnet(_only("subnet", ref, found))

    def subnets_of(self, network_id: str) -> tuple[Subnet, ...]:
        """The subnets of a network, in the order of their UUIDs."""
        with sessions.asking(f"subnets of network {network_id}"):
            found = list(self._network_api.subnets(network_id=network_id))
        return tuple(sorted(map(_subnet, found), key=lambda each: each.id))

    def _networks(self, ref: str) -> tuple[Any, ...]:
        known = self._known_networks
        if ref not in known:
            api = self._network_api
            known[ref] = _search(
                "network", ref, api.networks, api.find_network
            )
        return known[ref]

    @functools.cached_property
    def _known_networks(self) -> dict[str, tuple[Any, ...]]:
        return {}

    @functools.cached_property
    def _network_api(self) -> Any:
        return sessions.proxy(self._session, "network", "neutron", "network")


def _search(
    kind: str, ref: str, listed: Callable[..., Any], find: Callable[..., Any]
) -> tuple[Any, ...]:
    """All that have that UUID or name, with one request if there is one.

    The SDK's own search asks for a UUID even if it was given a name.
    """
    with sessions.asking(kind, errors.shown(ref)):
        if not _is_uuid(ref) and (found := tuple(listed(name=ref))):
            return found
        one = find(ref, ignore_missing=True)
    return () if one is None else (one,)


def _is_uuid(ref: str) -> bool:
    try:
        return str(uuid.UUID(ref)) == ref.lower()
    except ValueError:
        return False


def _only(kind: str, ref: str, found: tuple[Any, ...]) -> Any:
    if len(found) > 1:
        raise errors.InvalidInput(
            f"{len(found)} {kind}s have that name; give a UUID of "
            f"`openstack {kind} list`. It is {errors.shown(ref)}"
        )
    if not found:
        raise errors.InvalidInput(
            f"there is no such {kind}; choose one of `openstack {kind} "
            f"list`. It is {errors.shown(ref)}"
        )
    return found[0]


def _subnet(found: Any) -> Subnet:
    return Subnet(str(found.id), str(found.network_id), str(found.cidr))
