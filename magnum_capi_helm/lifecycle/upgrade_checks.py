# SPDX-License-Identifier: Apache-2.0

"""Versions of a cluster, and of those that its upgrade brings."""

from __future__ import annotations

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.lifecycle import current_state
from magnum_capi_helm.model import cluster_spec


def check_versions(
    subject: current_state.Subject, found: cluster_spec.Cluster
) -> None:
    """Refuse steps of Kubernetes, and what the chart was not made for."""
    old = upgrade_rules.control_plane_version(subject.base.values)
    new = found.control_plane.image.kube_version
    upgrade_rules.check_kubernetes(old, new)
    for group in found.node_groups:
        check_step(subject, group)
    before = (subject.base.chart.version, old)
    if before != (found.chart.version, new):
        upgrade_rules.check_pair(found.chart.version, new)


def check_step(
    subject: current_state.Subject, group: cluster_spec.NodeGroup
) -> None:
    """A group may skip minor versions, and never goes back."""
    item = subject.items.get(group.name)
    if item is None:
        return
    known = upgrade_rules.pinned(item, subject.base.values)
    old = str(known.get("kubernetesVersion") or "")
    before = upgrade_rules.number(old)
    after = upgrade_rules.number(group.image.kube_version)
    if before and after and after < before:
        upgrade_rules.check_kubernetes(
            old, group.image.kube_version, group.magnum_name
        )


def check_kept(
    subject: current_state.Subject, found: cluster_spec.Cluster
) -> None:
    """Groups that keep their image have to work with what comes."""
    remade = {each.name for each in found.node_groups}
    version = found.control_plane.image.kube_version
    base = subject.base.values
    new = {"osDistro": found.control_plane.image.os_distro}
    for group in subject.rows.workers:
        item = subject.items.get(group.chart_name)
        if item is None or group.chart_name in remade:
            continue
        known = upgrade_rules.pinned(item, base)
        kubelet = str(known.get("kubernetesVersion") or "")
        upgrade_rules.check_kept(group.name, kubelet, version)
        upgrade_rules.check_distribution(group.name, base, new)
