# SPDX-License-Identifier: Apache-2.0

"""What a cluster needs to know of its cloud."""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
from typing import Any

from magnum_capi_helm.cloud import compute
from magnum_capi_helm.cloud import limits
from magnum_capi_helm.cloud import networks
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.cloud import volumes
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import timing


class Cloud(
    compute.Images,
    compute.Compute,
    networks.Networks,
    volumes.Volumes,
    limits.Limits,
):
    """All lookups, one class for each service; each fact asked once.

    :param session: whose eyes to look with
    """

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self._expected_keypair: str | None = None

    def expect_keypair(self, name: str | None) -> None:
        """Let :meth:`prefetch` ask for a keypair of the user, too."""
        self._expected_keypair = name

    def prefetch(self, images: Iterable[str]) -> None:
        """Ask Glance for images while Nova lists its flavors.

        What can't be had is left to who asks for it: he knows what for.
        """
        with timing.Threads(1) as pool:
            pool.submit(self._prefetch_compute)
            for ref in images:
                with contextlib.suppress(errors.CapiHelmError):
                    self.image(ref)

    def _prefetch_compute(self) -> None:
        with contextlib.suppress(errors.CapiHelmError):
            _ = self._flavors
            if self._expected_keypair:
                self.keypair(self._expected_keypair)

    def endpoint(self, service: str, interface: str) -> str:
        """URL of a service in the catalogue."""
        with sessions.asking(f"{service} endpoint"):
            found = self._session.get_endpoint(
                service_type=service,
                interface=interface,
                region_name=sessions.region(self._session),
            )
        if not found:
            raise errors.CloudError(
                f"the service catalogue has no {interface} endpoint of "
                f"{service}"
            )
        return str(found)

    def cluster_identity_url(self) -> str:
        """Keystone as a cluster's machines reach it, version 3."""
        return sessions.version_3(self.endpoint("identity", conf.interface()))
