# SPDX-License-Identifier: Apache-2.0

"""A release where everything is as the rows want it."""

from __future__ import annotations

import dataclasses
from typing import Any

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import provider_objects
from magnum_capi_helm.tests.unit.status import shapes

REQUIRED = tuple(
    [
        "MachinesReady",
        "Ready",
        "EtcdClusterHealthy",
        "ControlPlaneComponentsHealthy",
    ]
)


def complete(shape: str, **changes: Any) -> view.View:
    made = core_objects.machine
    found: dict[str, Any] = {
        "cluster": core_objects.cluster(shape),
        "control_plane": core_objects.control_plane(shape),
        "deployments": (core_objects.workers(shape),),
        "machines": (
            made(shape, "cp-1", group=None, address="192.168.3.5"),
            made(shape, "w-1", address="192.168.3.6"),
            made(shape, "w-2", address="192.168.3.7"),
        ),
        "addons": (
            provider_objects.addon("ccm-openstack"),
            provider_objects.addon("cni-calico"),
        ),
        "revisions": (
            view.Revision(1, "superseded"),
            view.Revision(2, "deployed"),
        ),
        "clock": view.Clock(shapes.NOW),
    }
    return view.View(release=shapes.RELEASE, **{**found, **changes})


def rows(count: int) -> requested_groups.Rows:
    """The rows of all shapes, with so many machines in each group."""
    groups = tuple(
        dataclasses.replace(each, count=count) for each in shapes.ROWS.groups
    )
    return dataclasses.replace(shapes.ROWS, groups=groups)


def verdict(
    seen: view.View, rows: requested_groups.Rows = shapes.ROWS, **options: Any
) -> cluster_status.Verdict:
    """On the release that the rows of all shapes are of.

    The Cluster has their fingerprint, whatever they are.
    """
    annotations = view.annotations_of(seen.cluster or {})
    if (
        requested_groups.FINGERPRINT_ANNOTATION in annotations
        and rows is not shapes.ROWS
    ):
        annotations[requested_groups.FINGERPRINT_ANNOTATION] = (
            rows.fingerprint()
        )
    now = options.pop("now", shapes.NOW)
    seen = dataclasses.replace(seen, clock=view.Clock(now))
    options.setdefault("required", REQUIRED)
    options.setdefault("addons", shapes.ADDONS)
    expected = cluster_status.Expected(rows, **options)
    return cluster_status.verdict(seen, expected)
