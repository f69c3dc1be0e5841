# SPDX-License-Identifier: Apache-2.0

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
