# SPDX-License-Identifier: Apache-2.0

"""Glance's images, behind requests-mock."""

from __future__ import annotations

import re
from typing import Any
import uuid


def image(name: str, **properties: Any) -> dict[str, Any]:
    """An image; without arguments one that makes nodes."""
    wanted = {"os_distro": "ubuntu", "kube_version": "v1.34.2", **properties}
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "name": name,
        "status": "active",
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
        names = request.qs.get("name")
        return {
            "images": [
                each
                for each in self.images
                if not names or each["name"] in names
            ]
        }
