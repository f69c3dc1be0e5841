# SPDX-License-Identifier: Apache-2.0

"""Cinder's volume types, behind requests-mock."""

from __future__ import annotations

import re
from typing import Any

from magnum_capi_helm.tests.fakes import version_document


class FakeVolumeTypes:
    """Volume types that the user sees, and the default.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Cinder, with the project
    """

    def __init__(self, mocker: Any, url: str) -> None:
        self.volume_types = ["__DEFAULT__", "fast", "slow"]
        self.default_volume_type = "slow"
        self._volume_url, _, _ = url.rpartition("/")
        root, _, _ = self._volume_url.rpartition("/")
        for pattern, answer in (
            (f"{url}/?$", self._volume_version),
            (f"{root}/(v3/?)?$", self._volume_version),
            (f"{url}/types", self._types),
        ):
            mocker.register_uri("GET", re.compile(pattern), json=answer)

    def _volume_version(self, request: Any, context: Any) -> Any:
        return {
            "versions": [
                version_document.version(
                    "v3.0", f"{self._volume_url}/", "3.71"
                )
            ]
        }

    def _types(self, request: Any, context: Any) -> Any:
        kinds = [
            {"id": name, "name": name, "is_public": True}
            for name in self.volume_types
        ]
        wanted = request.path.split("/types")[1].strip("/")
        if not wanted:
            return {"volume_types": kinds}
        name = self.default_volume_type if wanted == "default" else wanted
        for each in kinds:
            if each["name"] == name:
                return {"volume_type": each}
        context.status_code = 404
        return {}
