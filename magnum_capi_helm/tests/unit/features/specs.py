# SPDX-License-Identifier: Apache-2.0
"""A cluster's spec to vary in tests."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any

from magnum_capi_helm import features
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels

IMAGE = cluster_spec.Image(
    id="2b1f0e3c-0000-4000-8000-000000000001",
    name="ubuntu-24.04-v1.34.2",
    kube_version="1.34.2",
    os_distro="ubuntu",
)

_PLAIN = cluster_spec.Cluster(
    release="demo-45f11a8de301",
    project_id="p1",
    identity_url="https://keystone.example.org/v3",
    cni="calico",
    keypair=None,
    control_plane=cluster_spec.NodeGroup(
        "control-plane", "m1.large", 3, IMAGE
    ),
    node_groups=(
        cluster_spec.NodeGroup("default-worker", "m1.small", 2, IMAGE),
    ),
    labels=labels.Values({}),
    chart=cluster_spec.Chart("openstack-cluster", "0.27.0", ""),
)


def parsed(given: dict[str, str]) -> labels.Values:
    sources = labels.Sources(template=given)
    return labels.resolve(features.LABELS, sources, {})


def cluster(
    given: dict[str, str] | None = None, **changes: Any
) -> cluster_spec.Cluster:
    """A small cluster with these labels and other changes."""
    found = parsed(given or {})
    labelled = dataclasses.replace(
        _PLAIN,
        labels=found,
        control_plane=dataclasses.replace(_PLAIN.control_plane, labels=found),
        node_groups=(
            dataclasses.replace(_PLAIN.node_groups[0], labels=found),
        ),
    )
    return dataclasses.replace(labelled, **changes)


def chart(version: str) -> cluster_spec.Chart:
    return dataclasses.replace(_PLAIN.chart, version=version)


def group(
    given: dict[str, str] | None = None, **changes: Any
) -> cluster_spec.NodeGroup:
    """A group of two workers, with labels of its own."""
    return dataclasses.replace(
        _PLAIN.node_groups[0], labels=parsed(given or {}), **changes
    )


def refusal(check: Callable[..., object], *arguments: Any) -> str:
    """Return what a user reads whose request a check refuses, or nothing."""
    try:
        check(*arguments)
    except errors.InvalidInput as error:
        return str(error)
    return ""
