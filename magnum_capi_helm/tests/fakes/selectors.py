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

"""Label selectors, as the Kubernetes API understands them."""

from __future__ import annotations

from collections.abc import Mapping
import re

#: A comma that is not within parentheses.
_BETWEEN = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"(\S+) in \((.*)\)")


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether labels match all requirements of a selector."""
    requirements = filter(None, _BETWEEN.split(selector))
    return all(_matches(each, labels) for each in requirements)


def _matches(requirement: str, labels: Mapping[str, str]) -> bool:
    if found := _SET.fullmatch(requirement):
        return labels.get(found[1]) in found[2].split(",")
    if "!=" in requirement:
        key, value = requirement.split("!=")
        return labels.get(key) != value
    if "=" in requirement:
        key, value = requirement.split("=")
        return labels.get(key) == value
    if requirement.startswith("!"):
        return requirement[1:] not in labels
    return requirement in labels
