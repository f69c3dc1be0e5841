# SPDX-License-Identifier: Apache-2.0

"""Images, as Glance knows them."""

from __future__ import annotations

import functools
from typing import Any

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors


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
