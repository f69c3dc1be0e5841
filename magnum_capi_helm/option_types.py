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

"""Types of labels and options beyond those of oslo.config.

Each is a parser for the strings that Magnum keeps and for options alike: it
takes a string or a value that is already parsed, and raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable
import ipaddress
import json
import re
from typing import Any

from oslo_config import types


class IPv4Network(types.ConfigType):
    """One IPv4 network in CIDR notation, host bits zero."""

    def __init__(self) -> None:
        super().__init__(type_name="IPv4 network")

    def __call__(self, value: str) -> str:
        return str(ipaddress.IPv4Network(value.strip()))

    def __repr__(self) -> str:
        return "IPv4Network"

    def _formatter(self, value: str) -> str:
        return value


class IPv4Networks(types.ConfigType):
    """A comma separated list of IPv4 networks."""

    def __init__(self) -> None:
        super().__init__(type_name="list of IPv4 networks")

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(
            str(ipaddress.IPv4Network(part.strip()))
            for part in parts
            if part.strip()
        )

    def __repr__(self) -> str:
        return "IPv4Networks"

    def _formatter(self, value: Iterable[str]) -> str:
        return ",".join(value)


class Words(types.ConfigType):
    """Names separated by spaces."""

    def __init__(self) -> None:
        super().__init__(type_name="list of names")

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        return tuple(value.split() if isinstance(value, str) else value)

    def __repr__(self) -> str:
        return "Words"

    def _formatter(self, value: Iterable[str]) -> str:
        return " ".join(value)


class ApiResources(types.ConfigType):
    """A JSON object: kind -> {"api_version": ..., "plural_name": ...}."""

    def __init__(self) -> None:
        super().__init__(type_name="JSON object")

    def __call__(self, value: Any) -> dict[str, dict[str, str]]:
        parsed = json.loads(value or "{}") if isinstance(value, str) else value
        if not isinstance(parsed, dict) or not all(
            isinstance(each, dict) for each in parsed.values()
        ):
            raise ValueError(
                'must be a JSON object such as {"Cluster": '
                '{"api_version": "cluster.x-k8s.io/v1beta2"}}'
            )
        return parsed

    def __repr__(self) -> str:
        return "ApiResources"

    def _formatter(self, value: Any) -> str:
        return json.dumps(value)


class Version(types.ConfigType):
    """A semantic version, or nothing."""

    _FORM = re.compile(r"v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")

    def __init__(self) -> None:
        super().__init__(type_name="version")

    def __call__(self, value: str) -> str:
        if value and not self._FORM.fullmatch(value):
            raise ValueError(f"{value!r} is not a version")
        return value

    def __repr__(self) -> str:
        return "Version"

    def _formatter(self, value: str) -> str:
        return value
