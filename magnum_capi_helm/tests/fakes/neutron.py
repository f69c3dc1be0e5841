# SPDX-License-Identifier: Apache-2.0

"""Neutron's networks and subnets, behind requests-mock."""

from __future__ import annotations

import re
from typing import Any

from magnum_capi_helm.tests.fakes import version_document


class FakeNetworks:
    """Networks and subnets that the user sees.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Neutron
    """

    def __init__(self, mocker: Any, url: str) -> None:
        self.networks = {"public": "net-1", "private": "net-2"}
        self.subnets = {"private-subnet": "subnet-2"}
        #: What else there is to say of networks and subnets, by id.
        self.details: dict[str, dict[str, Any]] = {
            "net-1": {"router:external": True},
            "subnet-2": {"network_id": "net-2", "cidr": "192.168.0.0/24"},
        }
        self._network_url = url
        for path, answer in (
            ("/?$", self._network_versions),
            ("/v2.0/networks", self._networks),
            ("/v2.0/subnets", self._subnets),
        ):
            mocker.register_uri("GET", re.compile(f"{url}{path}"), json=answer)

    def _network_versions(self, request: Any, context: Any) -> Any:
        return {
            "versions": [
                version_document.version("v2.0", f"{self._network_url}/v2.0")
            ]
        }

    def _networks(self, request: Any, context: Any) -> Any:
        return self._named(self.networks, "network", request, context)

    def _subnets(self, request: Any, context: Any) -> Any:
        return self._named(self.subnets, "subnet", request, context)

    def _named(
        self, known: dict[str, str], kind: str, request: Any, context: Any
    ) -> Any:
        wanted = request.path.split(f"/{kind}s")[1].strip("/")
        found = [
            {"id": value, "name": name, **self.details.get(value, {})}
            for name, value in known.items()
        ]
        if wanted:
            for each in found:
                if each["id"] == wanted:
                    return {kind: each}
            context.status_code = 404
            return {}
        for field in ("name", "network_id"):
            if values := request.qs.get(field):
                found = [each for each in found if each[field] in values]
        return {f"{kind}s": found}
