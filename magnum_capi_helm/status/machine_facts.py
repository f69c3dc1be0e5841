# SPDX-License-Identifier: Apache-2.0

"""Addresses and versions of machines, for Magnum's rows."""

from __future__ import annotations

from collections.abc import Iterable

from magnum_capi_helm.model import versions
from magnum_capi_helm.status import messages
from magnum_capi_helm.status import view


def addresses(machines: Iterable[view.Object]) -> list[str]:
    """Return one address of each machine that stays, internal if it can."""
    staying = [each for each in machines if not view.deleting(each)]
    return list(filter(None, map(_address, staying)))


def _address(machine: view.Object) -> str:
    by_type = {
        each.get("type"): each.get("address")
        for each in reversed(view.status_of(machine).get("addresses") or [])
    }
    return str(by_type.get("InternalIP") or by_type.get("ExternalIP") or "")


def version(machines: Iterable[view.Object]) -> str | None:
    """Return the oldest Kubernetes on the machines' nodes, such as v1.34.2."""
    staying = [each for each in machines if not view.deleting(each)]
    return oldest(filter(None, map(_version, staying)))


def _version(machine: view.Object) -> str:
    status = view.status_of(machine)
    info = status.get("nodeInfo") or {}
    text = info.get("kubeletVersion") or view.spec_of(machine).get("version")
    if not text or not status.get("nodeRef"):
        return ""
    return f"v{str(text).removeprefix('v')}"


def oldest(texts: Iterable[str]) -> str | None:
    """Return the oldest version; v1.34.9 comes before v1.34.10."""
    return min(
        texts,
        key=lambda each: versions.number(each) or (0, 0, 0),
        default=None,
    )


def runtime(machines: Iterable[view.Object]) -> str | None:
    """Return the container runtime that the first node reports."""
    infos = (view.status_of(each).get("nodeInfo") or {} for each in machines)
    names = (str(e.get("containerRuntimeVersion") or "") for e in infos)
    return messages.first(names) or None
