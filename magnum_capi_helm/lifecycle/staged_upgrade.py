# SPDX-License-Identifier: Apache-2.0

"""An upgrade in steps: the control plane, then the workers.

A request plans the steps, and nothing is written:

1. Refuse an older Kubernetes, also of a nodegroup, and a control plane that
   nodegroups with their old image don't fit.
2. Choose the steps by the minor versions alone.
3. Choose an image for each minor version on the way.
4. Refuse a Cluster API that is too old for the last version.
5. Choose a chart for each step of the control plane: the new one, or the old
   one as long as the new one does not take the version.

The request stores the desired state of the first step together with the
steps, a kind of plan; ``plan_steps.py`` begins the others.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.database import rows
from magnum_capi_helm.features import template as template_labels
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions
from magnum_capi_helm.operations import apply
from magnum_capi_helm.operations import holding
from magnum_capi_helm.resolve import hop_images
from magnum_capi_helm.resolve import quota

Current = release_change.Current
Upgrade = upgrade_steps.Upgrade

Hops = tuple[upgrade_steps.Hop, ...]


def plan_hops(
    current: Current, cluster: cluster_spec.Cluster, cloud: catalogue.Cloud
) -> Hops:
    """Return the steps of the upgrade of a cluster.

    :param cluster: as it will be, with the groups that follow alone
    :raises NotSupported: a version does not fit, or naming all that keeps the
        cluster from the versions on the way
    :raises CapiHelmError: OpenStack or the management cluster does not answer
    """
    old = upgrade_rules.control_plane_version(current.desired.values)
    new, chart = cluster.control_plane.image.kube_version, cluster.chart
    upgrade_rules.check_kubernetes(old, new)
    for group in cluster.node_groups:
        check_group_version(current, group)
    if (current.desired.chart.version, old) != (chart.version, new):
        upgrade_rules.check_pair(chart.version, new)
    _check_kept_groups(current, cluster)
    route = _route(current, cluster, old, new)
    hops: Hops = ()
    problems: list[str] = []
    with _noted(problems):
        hops = _hops(current, cluster, cloud, route)
    if old != new:
        with _noted(problems):
            _check_cluster_api(current, new)
    if len({minor for _, minor in route}) > 1:
        with _noted(problems):
            # An upgrade by one minor version may mend a cluster.
            state = observed_state.observe_all(current.release, current.stored)
            observed_state.check_settled(state)
        with _noted(problems), errors.in_field("a new control plane machine"):
            quota.check_group(cloud, cluster, cluster.control_plane, 1)
    if problems:
        # Magnum's client shows the first sentence alone.
        parts = [each.partition(". ") for each in problems]
        first = "; ".join(each for each, _, _ in parts)
        rest = (each for _, _, each in parts if each)
        raise errors.NotSupported(". ".join((first, *rest)))
    return hops


@contextlib.contextmanager
def _noted(problems: list[str]) -> Iterator[None]:
    """Note the refusal of a block, so that the user reads all at once."""
    try:
        yield
    except (errors.NotSupported, errors.InvalidInput) as error:
        problems.append(str(error))


def check_group_version(
    current: Current, group: cluster_spec.NodeGroup
) -> None:
    """Refuse an older version. A group may skip minor versions."""
    old = upgrade_rules.kubelet(current.desired.values, group.name)
    new = group.image.kube_version
    upgrade_rules.check_kubernetes(old, new, group.magnum_name)


def _check_kept_groups(
    current: Current, cluster: cluster_spec.Cluster
) -> None:
    """Refuse a control plane that groups with their old image don't fit."""
    remade = {each.name for each in cluster.node_groups}
    image, old = cluster.control_plane.image, current.desired.values
    for group in current.rows.workers:
        if group.chart_name in current.items.keys() - remade:
            version = upgrade_rules.kubelet(old, group.chart_name)
            upgrade_rules.check_kept(group.name, version, image.kube_version)
            upgrade_rules.check_distribution(group.name, old, image.os_distro)


def _route(
    current: Current, cluster: cluster_spec.Cluster, old: str, new: str
) -> list[tuple[bool, int]]:
    """Return the steps: whether workers change, and the minor version.

    A version that is no number counts as the new version.
    """
    target = versions.number(new)
    minor = target[1] if target else 0
    before = versions.number(old) or (0, minor, 0)
    kubelets = [
        upgrade_rules.kubelet(current.desired.values, each.name)
        for each in cluster.node_groups
    ]
    workers = [(versions.number(each) or before)[1] for each in kubelets]
    return upgrade_steps.route(before[1], minor, min(workers, default=None))


def _hops(
    current: Current,
    cluster: cluster_spec.Cluster,
    cloud: catalogue.Cloud,
    route: list[tuple[bool, int]],
) -> Hops:
    """Return the steps with the image and the chart of each.

    A step of workers may have the version that the control plane has by now.
    """
    old, new = current.desired, cluster.control_plane.image
    version = upgrade_rules.control_plane_version(old.values)
    present = (old.values.get(paths.CONTROL_PLANE) or {}).get(paths.IMAGE_ID)
    images = {route[-1][1]: new}
    if present and (number := versions.number(version)):
        image = cluster_spec.Image(present, "", version, new.os_distro)
        images.setdefault(number[1], image)
    if missing := {minor for _, minor in route} - images.keys():
        given = cluster.labels[template_labels.UPGRADE_IMAGES]
        templates = rows.template_images(current.row.project_id)
        room = min(
            each.boot_disk.size or (each.machine.disk if each.machine else 0)
            for each in (cluster.control_plane, *cluster.node_groups)
        )
        images |= hop_images.Search(
            missing, new, room, given, templates, cloud
        ).choose()
    chart, hops = old.chart, []
    for control_plane, minor in route:
        image = images[minor]
        if image is new:
            chart = cluster.chart
        elif control_plane:
            chart = upgrade_rules.chart_of_hop(
                cluster.chart, old.chart, image.kube_version
            )
        hops.append(upgrade_steps.Hop(control_plane, image, chart))
    return tuple(hops)


def _check_cluster_api(current: Current, version: str) -> None:
    """Refuse a Kubernetes that needs a later Cluster API.

    The last version needs the latest one. Controllers that run elsewhere are
    not known: nothing on the management cluster tells their version. There is
    no such rule for CAPO, which makes servers of an image and reads no version
    of Kubernetes.

    :raises NotSupported: it is too old, or the driver may not look
    """
    if not upgrade_rules.needs_cluster_api(version):
        return
    management = current.release.management
    try:
        running = management.list(kinds.DEPLOYMENT, None, components.SELECTOR)
    except responses.ForbiddenError as error:
        raise errors.NotSupported(
            "the driver can't see whether Cluster API is new enough for the "
            "Kubernetes of an image: ask the operator to give the driver the "
            f"permissions of its version. {error}"
        ) from error
    for each in components.read(running):
        if each.name == "Cluster API":
            upgrade_rules.check_cluster_api(each.version, version)


def begin(held: holding.Held, plan: Upgrade) -> Upgrade:
    """Store the desired state of a step, and run helm.

    :raises CapiHelmError: helm failed; the next poll begins once more
    """
    stage = plan.stages[plan.step]
    new = release_change.with_other_values(
        held,
        lambda old: values.changed(old, stage.changes),
        stage.replaced,
        cluster_spec.Chart(**stage.chart),
    )
    held.store(new)
    apply.to_release(held)
    return plan


def end_annotation(_plan: Upgrade) -> dict[str, str]:
    """Return nothing: the number of the upgrade tells that it has ended."""
    return {}


def discard(*_: object) -> None:
    """Delete nothing: such a plan has nothing elsewhere."""
