# SPDX-License-Identifier: Apache-2.0

"""OpenStack's catalogue, as the driver asks for it, from dictionaries.

The same methods as :class:`magnum_capi_helm.cloud.catalogue.Cloud`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import dataclasses
from typing import TypeVar

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors

T = TypeVar("T")


@dataclasses.dataclass
class FakeCloud:
    """What there is, by name; whatever is not here is not found."""

    images: dict[str, cluster_spec.Image] = dataclasses.field(
        default_factory=dict
    )
    #: Names of those that are public.
    public: tuple[str, ...] = ()
    flavors: dict[str, str | cluster_spec.Flavor] = dataclasses.field(
        default_factory=dict
    )
    networks: dict[str, str] = dataclasses.field(default_factory=dict)
    subnets: dict[str, str | catalogue.Subnet] = dataclasses.field(
        default_factory=dict
    )
    security_groups: dict[str, str] = dataclasses.field(
        default_factory=lambda: {"web": "sg-1"}
    )
    types: tuple[str, ...] = ()
    default_type: str | None = None
    machine_zones: tuple[str, ...] = ("az1", "az2")
    zones_of_volumes: tuple[str, ...] = ("nova",)
    providers: tuple[str, ...] = ("amphora", "ovn")
    balancer_flavors: tuple[str, ...] = ("ha", "small")
    balancer_zones: tuple[str, ...] = ("az1",)
    #: Of all services together; what is not here is plenty.
    limits: dict[str, quota_demand.Quota] = dataclasses.field(
        default_factory=dict
    )
    #: Public keys by user, the one who looks being "", and name; None: he
    #: has any.
    keypairs: dict[tuple[str, str], str] | None = None
    identity: str = "http://keystone.test/v3"

    def remember(
        self,
        images: Mapping[str, cluster_spec.Image],
        flavors: Mapping[str, cluster_spec.Flavor],
    ) -> None:
        """As the real one."""
        self.images = {**images, **self.images}
        self.flavors = {**flavors, **self.flavors}

    def prefetch(self, images: Iterable[str]) -> None:
        """As the real one: nothing that shows."""

    def image(self, ref: str) -> cluster_spec.Image:
        """As the real one."""
        for name, image in self.images.items():
            if ref in (name, image.id):
                return image
        raise _absent("image", ref)

    def public_images(self) -> tuple[cluster_spec.Image, ...]:
        """As the real one."""
        return tuple(self.images[each] for each in self.public)

    def flavor(self, ref: str) -> cluster_spec.Flavor:
        """As the real one; a mere name is a flavor that is large enough."""
        found = _find("flavor", ref, self.flavors)
        if isinstance(found, str):
            return cluster_spec.Flavor(found, 2, 4096, 20, ephemeral=100)
        return found

    def keypair(
        self, name: str, user_id: str | None = None
    ) -> cluster_spec.Keypair | None:
        """As the real one; unless said, the user has any keypair."""
        if self.keypairs is None:
            return cluster_spec.Keypair(name, f"ssh-ed25519 AAAA {name}")
        key = self.keypairs.get((user_id or "", name))
        return cluster_spec.Keypair(name, key) if key else None

    def import_keypair(self, keypair: cluster_spec.Keypair) -> None:
        """As the real one."""
        if self.keypairs is not None:
            self.keypairs["", keypair.name] = keypair.public_key

    def network(self, ref: str) -> str:
        """As the real one."""
        return _find("network", ref, self.networks)

    def security_group(self, ref: str) -> str:
        """As the real one."""
        return _find("security group", ref, self.security_groups)

    def external_network(self, ref: str) -> str:
        """As the real one; every network here is external."""
        return self.network(ref)

    def subnet(self, ref: str) -> catalogue.Subnet:
        """As the real one; a mere UUID is one of the second network.

        The first is the one outside.
        """
        found = _find("subnet", ref, self.subnets)
        if isinstance(found, str):
            network = [*self.networks.values()][1]
            return catalogue.Subnet(found, network, "192.168.0.0/24")
        return found

    def subnets_of(self, network_id: str) -> tuple[catalogue.Subnet, ...]:
        """As the real one."""
        found = [self.subnet(name) for name in self.subnets]
        return tuple(each for each in found if each.network_id == network_id)

    def choices(self, question: str) -> tuple[str, ...]:
        """As the real one."""
        return {
            "availability zones of Nova": self.machine_zones,
            "availability zones of Cinder": self.zones_of_volumes,
            "volume types": tuple(sorted(self.types)),
            "availability zones of load balancers": self.balancer_zones,
            "flavors of load balancers": self.balancer_flavors,
            "providers of load balancers": self.providers,
        }[question]

    def default_volume_type(self) -> str | None:
        """As the real one; unless said, the first of those given."""
        return self.default_type or next(iter(self.types), None)

    def quotas(self, service: str) -> dict[str, quota_demand.Quota]:
        """As the real one; Nova tells all of them."""
        return self.limits if service == "compute" else {}

    def cluster_identity_url(self) -> str:
        """As the real one."""
        return self.identity


def _find(kind: str, ref: str, known: dict[str, T]) -> T:
    if ref not in known:
        raise _absent(kind, ref)
    return known[ref]


def _absent(kind: str, ref: str) -> Exception:
    return errors.InvalidInput(
        f"there is no such {kind}; choose one of `openstack {kind} list`. It "
        f"is {errors.shown(ref)}"
    )
