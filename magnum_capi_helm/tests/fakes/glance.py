# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
