# SPDX-License-Identifier: Apache-2.0

"""Availability zones of Nova and Cinder, behind requests-mock."""

from __future__ import annotations

import re
from typing import Any


class FakeZones:
    """Zones of one service that are up, and one that is not.

    :param mocker: a requests-mock mocker that is started already
    :param service: URL of the service
    """

    def __init__(self, mocker: Any, service: str, *names: str) -> None:
        self.names = list(names)
        url = re.compile(f"{service}/os-availability-zone")
        mocker.register_uri("GET", url, json=self._answer)

    def _answer(self, request: Any, context: Any) -> Any:
        known = [*((name, True) for name in self.names), ("broken", False)]
        return {
            "availabilityZoneInfo": [
                {"zoneName": name, "zoneState": {"available": up}}
                for name, up in known
            ]
        }
