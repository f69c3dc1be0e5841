# SPDX-License-Identifier: Apache-2.0

"""Lookups of images, flavors, keypairs, networks, volume types and quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import contextlib
import dataclasses
import functools
from typing import Any, Concatenate, ParamSpec, TypeVar

from oslo_utils import uuidutils

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors

P = ParamSpec("P")
T = TypeVar("T")

#: Cinder's placeholder is not a type that users can choose.
_PLACEHOLDER = "__DEFAULT__"
_ZONES = "availability_zones"
#: A question for names -> its service, and its list in the SDK.
_CHOICES = {
    "availability zones of Nova": ("compute", _ZONES),
    "availability zones of Cinder": ("block-storage", _ZONES),
    "volume types": ("block-storage", "types"),
    "availability zones of load balancers": ("load-balancer", _ZONES),
    "flavors of load balancers": ("load-balancer", "flavors"),
    "providers of load balancers": ("load-balancer", "providers"),
}
#: Service -> resource -> names of limit and use in the service's answer.
_ABSOLUTE_LIMITS = {
    "compute": {
        "instances": ("instances", "instances_used"),
        "cores": ("total_cores", "total_cores_used"),
        "ram": ("total_ram", "total_ram_used"),
        "server_groups": ("server_groups", "server_groups_used"),
        # The limit is that of one server group.
        "server_group_members": ("server_group_members", ""),
    },
    "block-storage": {
        "volumes": ("max_total_volumes", "total_volumes_used"),
        "gigabytes": ("max_total_volume_gigabytes", "total_gigabytes_used"),
    },
}
_NEUTRON_QUOTAS = {
    "network": "networks",
    "subnet": "subnets",
    "router": "routers",
    "port": "ports",
    "floatingip": "floating_ips",
    "security_group": "security_groups",
}


@dataclasses.dataclass(frozen=True)
class Subnet:
    """A subnet: its UUID, that of its network, and its range."""

    id: str
    network_id: str
    cidr: str


def _once(
    lookup: Callable[Concatenate[Cloud, P], T],
) -> Callable[Concatenate[Cloud, P], T]:
    """Keep the answers of a lookup in the object; errors are not kept."""

    @functools.wraps(lookup)
    def cached(self: Cloud, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (lookup.__name__, *args, *kwargs.items())
        if key not in self.answers:
            self.answers[key] = lookup(self, *args, **kwargs)
        answer: T = self.answers[key]
        return answer

    return cached


class Cloud:
    """OpenStack as one user sees it; each fact is asked for once.

    :param session: of the user
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        #: Answers of lookups, by name and arguments.
        self.answers: dict[tuple[object, ...], Any] = {}
        self._former_images: dict[str, cluster_spec.Image] = {}
        self._former_flavors: dict[str, cluster_spec.Flavor] = {}

    @_once
    def _api(self, service: str) -> Any:
        return sessions.proxy(self._session, service)

    def remember(
        self,
        images: Mapping[str, cluster_spec.Image],
        flavors: Mapping[str, cluster_spec.Flavor],
    ) -> None:
        """Take the answers for images and flavors that are deleted."""
        self._former_images.update(images)
        self._former_flavors.update(flavors)

    def prefetch(self, images: Iterable[str]) -> None:
        """Ask Glance for images while Nova lists its flavors.

        Failures are ignored: the lookup itself asks again and reports them.
        """
        with call.Threads(1) as pool:
            pool.submit(self._flavors)
            for ref in images:
                with contextlib.suppress(errors.CapiHelmError):
                    self.image(ref)

    def cluster_identity_url(self) -> str:
        """Return the URL of Keystone, version 3, that machines use."""
        with sessions.asking("identity endpoint"):
            url = self._session.get_endpoint(
                service_type="identity",
                interface=conf.interface(),
                region_name=sessions.region(self._session),
            )
        return sessions.version_3(str(url))

    # Glance

    @_once
    def image(self, ref: str) -> cluster_spec.Image:
        """Return the image, by UUID or name.

        Its ``kube_version`` may be empty: a label can set the version.

        :raises InvalidInput: not there, or without ``os_distro``
        """
        name = errors.shown(ref)
        with sessions.asking("image", name):
            image = self._api("image").find_image(ref, ignore_missing=True)
        if image is None:
            if ref in self._former_images:
                return self._former_images[ref]
            raise _absent("image", ref)
        if not image.os_distro:
            raise errors.InvalidInput(
                f"the image has no property os_distro; set it. It is {name}: "
                f"`openstack image set --property os_distro=ubuntu {image.id}`"
            )
        return _image(image)

    @_once
    def public_images(self) -> tuple[cluster_spec.Image, ...]:
        """Return the public images that are active and not hidden.

        Glance hides hidden ones from those who don't ask for them.
        """
        with sessions.asking("public images"):
            images = self._api("image").images(
                visibility="public", status="active"
            )
            return tuple(_image(each) for each in images if each.os_distro)

    # Nova

    def flavor(self, ref: str) -> cluster_spec.Flavor:
        """Return the flavor, by UUID or name.

        :raises InvalidInput: not there
        """
        for flavor in self._flavors():
            if ref in (flavor.id, flavor.name):
                break
        else:
            if ref in self._former_flavors:
                return self._former_flavors[ref]
            raise _absent("flavor", ref)
        return cluster_spec.Flavor(
            name=str(flavor.name),
            vcpus=int(flavor.vcpus),
            ram=int(flavor.ram),
            disk=int(flavor.disk or 0),
            ephemeral=int(flavor.ephemeral or 0),
        )

    @_once
    def _flavors(self) -> list[Any]:
        with sessions.asking("flavors"):
            return list(self._api("compute").flavors(get_extra_specs=False))

    @_once
    def keypair(
        self, name: str, user_id: str | None = None
    ) -> cluster_spec.Keypair | None:
        """Return a keypair of the user, or of another one (for admins)."""
        api = self._api("compute")
        keypair = sessions.find(
            lambda: api.get_keypair(name, user_id=user_id),
            "keypair",
            errors.shown(name),
        )
        return keypair and cluster_spec.Keypair(
            name=name,
            public_key=str(keypair.public_key),
            type=str(keypair.type or "ssh"),
        )

    def import_keypair(self, keypair: cluster_spec.Keypair) -> None:
        """Create a keypair of the user from a public key.

        :raises LeaseLost: another conductor works on the cluster
        """
        api = self._api("compute")
        with sessions.asking(f"import of keypair {keypair.name}"):
            call.check_lease()
            api.create_keypair(**dataclasses.asdict(keypair))
        self.answers.pop(("keypair", keypair.name), None)

    # Zones, volume types, and what Octavia offers

    @_once
    def choices(self, question: str) -> tuple[str, ...]:
        """Return the names that users may choose, sorted.

        :param question: one of ``_CHOICES``
        """
        service, listed = _CHOICES[question]
        with sessions.asking(question):
            objects = getattr(self._api(service), listed)()
            names = {str(each.name) for each in objects if _is_open(each)}
        return tuple(sorted(names - {_PLACEHOLDER}))

    # Cinder

    @_once
    def default_volume_type(self) -> str | None:
        """Return the default type that Cinder names; None: it has none.

        It may be the placeholder, or a type that the user does not see.
        """
        api = self._api("block-storage")
        default = sessions.find(
            lambda: api.get_type("default"), "default volume type"
        )
        return default and str(default.name)

    # Neutron

    def network(self, ref: str) -> str:
        """Return the UUID of a network given by UUID or name.

        :raises InvalidInput: not there, or several have that name
        """
        return str(_only("network", ref, self._matches("network", ref)).id)

    def external_network(self, ref: str) -> str:
        """Return the UUID of an external network given by UUID or name.

        :raises InvalidInput: not there, not external, or several have that
            name
        """
        networks = self._matches("network", ref)
        external = [each for each in networks if each.is_router_external]
        if networks and not external:
            raise errors.InvalidInput(
                "the network is not external; choose one of `openstack "
                f"network list --external`. It is {errors.shown(ref)}"
            )
        return str(_only("network", ref, external).id)

    def security_group(self, ref: str) -> str:
        """Return the UUID of a security group given by UUID or name.

        :raises InvalidInput: not there, or several have that name
        """
        groups = self._matches("security group", ref)
        return str(_only("security group", ref, groups).id)

    def subnet(self, ref: str) -> Subnet:
        """Return the subnet given by UUID or name.

        :raises InvalidInput: not there, or several have that name
        """
        matches = self._matches("subnet", ref)
        return _subnet(_only("subnet", ref, matches))

    def subnets_of(self, network_id: str) -> tuple[Subnet, ...]:
        """Return the subnets of a network, in the order of their UUIDs."""
        with sessions.asking(f"subnets of network {network_id}"):
            subnets = list(self._api("network").subnets(network_id=network_id))
        return tuple(sorted(map(_subnet, subnets), key=lambda each: each.id))

    @_once
    def _matches(self, kind: str, ref: str) -> list[Any]:
        """Return all objects of Neutron that have that UUID or name.

        The SDK's own search asks for a UUID even if it was given a name.
        """
        api, name = self._api("network"), kind.replace(" ", "_")
        with sessions.asking(kind, errors.shown(ref)):
            listed = getattr(api, f"{name}s")
            by_name = not uuidutils.is_uuid_like(ref)
            if by_name and (named := [*listed(name=ref)]):
                return named
            one = getattr(api, f"find_{name}")(ref, ignore_missing=True)
        return [] if one is None else [one]

    # Quotas

    def quotas(self, service: str) -> dict[str, quota_demand.Quota]:
        """Return the project's limits and use in one service, by resource.

        A resource without an answer is left out. Neutron needs its extension
        ``quota_details``. Octavia does not tell the use, so its load
        balancers are counted.
        """
        api = self._api(service)
        project = str(self._session.get_project_id())
        absolute = _ABSOLUTE_LIMITS.get(service)
        pairs: dict[str, tuple[Any, Any]] = {}
        with sessions.asking(f"quota of {service}"):
            if absolute:
                answer = api.get_limits().absolute
                for resource, (limit, used) in absolute.items():
                    in_use = getattr(answer, used) if used else 0
                    pairs[resource] = getattr(answer, limit), in_use
            elif service == "network":
                answer = api.get_quota(project, details=True)
                for resource, key in _NEUTRON_QUOTAS.items():
                    each = getattr(answer, key)
                    if isinstance(each, dict):
                        reserved = int(each.get("reserved", 0))
                        in_use = int(each["used"]) + reserved
                        pairs[resource] = each["limit"], in_use
            else:
                limit = api.get_quota(project).load_balancers
                in_use = sum(1 for _ in api.load_balancers(project_id=project))
                pairs["load_balancer"] = limit, in_use
        return {
            resource: quota_demand.Quota(int(limit), int(in_use or 0))
            for resource, (limit, in_use) in pairs.items()
            if limit is not None
        }


def _is_open(choice: Any) -> bool:
    """Return whether a zone is available, and anything else not disabled."""
    state = getattr(choice, "state", None) or {}
    is_enabled = getattr(choice, "is_enabled", True)
    return bool(is_enabled and state.get("available", True))


def _image(answer: Any) -> cluster_spec.Image:
    version = (answer.properties or {}).get("kube_version") or ""
    return cluster_spec.Image(
        id=str(answer.id),
        name=str(answer.name),
        kube_version=str(version).removeprefix("v"),
        os_distro=str(answer.os_distro),
        min_disk=int(answer.min_disk or 0),
        architecture=str(answer.architecture or ""),
    )


def _only(kind: str, ref: str, matches: list[Any]) -> Any:
    if len(matches) > 1:
        raise errors.InvalidInput(
            f"{len(matches)} {kind}s have that name; give a UUID of "
            f"`openstack {kind} list`. It is {errors.shown(ref)}"
        )
    if not matches:
        raise _absent(kind, ref)
    return matches[0]


def _absent(kind: str, ref: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"there is no such {kind}; choose one of `openstack {kind} list`. It "
        f"is {errors.shown(ref)}"
    )


def _subnet(answer: Any) -> Subnet:
    return Subnet(str(answer.id), str(answer.network_id), str(answer.cidr))
