# SPDX-License-Identifier: Apache-2.0

"""Flavors and availability zones, as Nova knows them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import lease_guard


class Compute:
    """Lookups in Nova; each fact asked once.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def flavor(self, ref: str) -> cluster_spec.Flavor:
        """The flavor, by UUID or name.

        :raises InvalidInput: not there, or too small for a node
        """
        for found in self._flavors:
            if ref in (found.id, found.name):
                break
        else:
            raise errors.InvalidInput(
                "there is no such flavor; choose one of `openstack flavor "
                f"list`. It is {errors.shown(ref)}"
            )
        minimum = conf.CONF.capi_helm
        if (
            found.ram < minimum.minimum_flavor_ram
            or found.vcpus < minimum.minimum_flavor_vcpus
        ):
            raise errors.InvalidInput(
                "the flavor is too small: a node needs "
                f"{minimum.minimum_flavor_vcpus} VCPUs and "
                f"{minimum.minimum_flavor_ram} MiB. Flavor "
                f"{errors.shown(found.name)} has {found.vcpus} VCPUs and "
                f"{found.ram} MiB"
            )
        return cluster_spec.Flavor(
            name=str(found.name),
            vcpus=int(found.vcpus),
            ram=int(found.ram),
            disk=int(found.disk or 0),
        )

    def every_flavor(self) -> frozenset[str]:
        """Names and UUIDs of all flavors, private ones too (for admins).

        Cluster API's provider finds them by name, so no one is too small.
        """
        with sessions.asking("flavors of all projects"):
            # Nova's word for "public or not" (``_parse_is_public``).
            found = list(
                self._compute_api.flavors(
                    get_extra_specs=False, is_public="None"
                )
            )
        return frozenset(
            str(ref) for each in found for ref in (each.name, each.id)
        )

    def keypair(
        self, name: str, user_id: str | None = None
    ) -> cluster_spec.Keypair | None:
        """A keypair of the user, or of another one (for admins)."""
        known = self._keypairs
        if (name, user_id) not in known:
            known[name, user_id] = self._read_keypair(name, user_id)
        return known[name, user_id]

    def _read_keypair(
        self, name: str, user_id: str | None
    ) -> cluster_spec.Keypair | None:
        try:
            with sessions.asking("keypair", errors.shown(name)):
                found = self._compute_api.get_keypair(name, user_id=user_id)
        except errors.CloudError as error:
            if sessions.missing(error):
                return None
            raise
        return cluster_spec.Keypair(
            name=name,
            public_key=str(found.public_key),
            type=str(found.type or "ssh"),
        )

    def import_keypair(self, keypair: cluster_spec.Keypair) -> None:
        """Make a keypair of the user from a public key.

        :raises LeaseLost: somebody else works on the cluster
        """
        api = self._compute_api
        with sessions.asking(f"import of keypair {keypair.name}"):
            lease_guard.check()
            api.create_keypair(**dataclasses.asdict(keypair))
        self._keypairs.pop((keypair.name, None), None)

    def compute_zones(self) -> tuple[str, ...]:
        """Names of the zones in which servers can be made."""
        return self._compute_zones

    @functools.cached_property
    def _compute_zones(self) -> tuple[str, ...]:
        with sessions.asking("availability zones of Nova"):
            return sessions.available(self._compute_api.availability_zones())

    @functools.cached_property
    def _keypairs(
        self,
    ) -> dict[tuple[str, str | None], cluster_spec.Keypair | None]:
        return {}

    @functools.cached_property
    def _flavors(self) -> list[Any]:
        with sessions.asking("flavors"):
            return list(self._compute_api.flavors(get_extra_specs=False))

    @functools.cached_property
    def _compute_api(self) -> Any:
        return sessions.proxy(self._session, "compute", "nova", "compute")


class Images:
    """Lookups of images; each asked once.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._images: dict[str, cluster_spec.Image] = {}

    def image(self, ref: str) -> cluster_spec.Image:
        """The image, by UUID or name.

        Its ``kube_version`` is empty where the image doesn't say it, for a
        label may.

        :raises InvalidInput: not there, or without ``os_distro``
        """
        if ref not in self._images:
            self._images[ref] = self._read_image(ref)
        return self._images[ref]

    def _read_image(self, ref: str) -> cluster_spec.Image:
        name = errors.shown(ref)
        with sessions.asking("image", name):
            found = self._image_api.find_image(ref, ignore_missing=True)
        if found is None:
            raise errors.InvalidInput(
                "there is no such image; choose one of `openstack image "
                f"list`. It is {name}"
            )
        if not found.os_distro:
            raise errors.InvalidInput(
                f"the image has no property os_distro; set it. It is {name}: "
                f"`openstack image set --property os_distro=ubuntu {found.id}`"
            )
        version = (found.properties or {}).get("kube_version") or ""
        return cluster_spec.Image(
            id=str(found.id),
            name=str(found.name),
            kube_version=str(version).removeprefix("v"),
            os_distro=str(found.os_distro),
            min_disk=int(found.min_disk or 0),
        )

    @functools.cached_property
    def _image_api(self) -> Any:
        return sessions.proxy(self._session, "image", "glance", "image")
