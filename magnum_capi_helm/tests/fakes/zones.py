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
