# SPDX-License-Identifier: Apache-2.0

"""Compare the verdicts of a health poll. Pure; runs with any driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: No health is polled of what is in progress.
_HEALTH = {"settled": "HEALTHY"}
_ILL = "UNHEALTHY"


def wrong(
    said: Mapping[str, Mapping[str, Any]],
    expected: Mapping[str, Mapping[str, Any]],
    *,
    per_node: bool,
) -> list[str]:
    """Return the wrong verdicts, one line for each cluster.

    :param said: the monitors' ``data`` by the UUIDs of clusters
    :param expected: state and nodes by the UUIDs of clusters
    :param per_node: whether the driver tells of each node
    """
    return [
        f"{uuid}: {problem}"
        for uuid, each in expected.items()
        if (problem := _problem(said.get(uuid), each, per_node))
    ]


def _problem(
    data: Mapping[str, Any] | None,
    expected: Mapping[str, Any],
    per_node: bool,
) -> str:
    if data is None:
        return "not polled"
    health = _HEALTH.get(expected["state"], _ILL)
    if data.get("health_status") != health:
        return f"{data}, expected {health}"
    if not per_node:
        return ""
    reason = data.get("health_status_reason") or {}
    nodes = [f"{name}.Ready" for name in expected["nodes"]]
    if missing := [each for each in nodes if each not in reason]:
        return f"nothing about {missing}"
    ill = [
        key
        for key, value in reason.items()
        if key.endswith(".Ready") and value != "True"
    ]
    if bool(ill) != (health == _ILL):
        return f"{health}, and these are not ready: {ill}"
    return ""
