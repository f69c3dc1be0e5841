# SPDX-License-Identifier: Apache-2.0

"""Upgrade a cluster to a template, or a nodegroup to the cluster's.

1. Magnum waits for the answer. A refusal other than ``NotSupported`` would
   mark the cluster as failed, so every refusal becomes one.
2. Wait for a helm process, then for a poll that has the Lease; take it and
   read the row again.
3. Refuse a cluster that another operation works on.
4. Compute the new desired state: references, versions, immutable fields.
5. Make the key of etcd and the server groups that the new values need. They
   stay for the next upgrade if this one is refused.
6. Let the webhooks of the management cluster see the changes.
7. Save UPDATE_IN_PROGRESS and store the desired state.
8. Write template, images and flavors into the rows and run helm, as far as
   the time allows. From here on nothing is raised: the polls finish the work.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import time

from oslo_log import log

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import nodes
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import plan_steps
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.lifecycle import upgrade_plan
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.operations import template_guard

LOG = log.getLogger(__name__)
Held = holding.Held
Upgrade = upgrade_plan.Upgrade

#: Seconds for the answer: Magnum waits for 60.
_ALL = 45.0
_TOO_LATE = (
    "the checks of the upgrade took too long, so nothing is changed: try again"
)
#: Seconds to wait for a helm process. helm runs twice, and the user waits.
_PATIENCE = 30.0


def upgrade(
    operation: cluster_operation.Operation,
    template: rows.Template,
    batch: int | None,
    nodegroup: rows.NodeGroup,
) -> None:
    """Upgrade a cluster, or one nodegroup.

    :param operation: its row shows the outcome afterwards
    :param template: the row of the new template
    :param batch: machines of a worker group that roll at once; None: 1
    :param nodegroup: default-worker, which Magnum sends if the user names
        none, stands for the whole cluster, default-master for the control
        plane alone
    :raises NotSupported: it was refused; the rows are as they were
    """
    deadline = time.monotonic() + _ALL
    with contextlib.ExitStack() as stack:
        with _refusals():
            operation.check_answering()
            # Before the Lease: no operation waits for helm with a Lease.
            stack.enter_context(operation.runtime.turns.turn(_PATIENCE))
            wait = operation.runtime.lease_wait
            held = stack.enter_context(operation.lock(wait=wait))
            _check_idle(held)
            held.settle()
            plan = _plan(held, template, batch, nodegroup)
            desired, steps = _checked(held, plan)
            if time.monotonic() > deadline:
                # Magnum has told the user by now that the upgrade failed.
                raise errors.NotSupported(_TOO_LATE)
            release_change.accept(held, desired, steps)
        uuid = operation.cluster.uuid
        text = "Upgrade of cluster %s goes on with the polls: %s"
        with magnum_errors.logged(LOG, text, uuid):
            if steps:
                plan_steps.show(held, steps)
            if problem := release_change.run_helm(held, deadline):
                LOG.warning(text, uuid, problem)
            else:
                LOG.info("upgraded release %s", operation.release)
        status_writer.copy_outcome(held.cluster, operation.cluster)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Raise each refusal as NotSupported, which leaves the cluster alone."""
    try:
        yield
    except errors.LeaseHeld as error:
        raise errors.NotSupported(
            "another operation works on the cluster, try again in a moment"
        ) from error
    except errors.NoTurn as error:
        raise errors.NotSupported(
            "too many clusters are being changed, try again in a moment"
        ) from error
    except errors.NotSupported:
        raise
    except errors.CapiHelmError as error:
        text = str(error)
        if error.retriable:
            # Clients print only the first sentence.
            sentence, stop, rest = text.partition(". ")
            text = f"{sentence}; try again in a moment{stop}{rest}"
        raise errors.NotSupported(text) from error


def _check_idle(held: Held) -> None:
    held.check_living()
    if rows.in_progress(held.cluster.status):
        raise errors.NotSupported(
            "another operation works on the cluster, try again when it is "
            "complete"
        )


def _plan(
    held: Held,
    template: rows.Template,
    batch: int | None,
    nodegroup: rows.NodeGroup,
) -> Upgrade:
    current = release_change.read(held)
    if values.is_hibernated(current.desired.values):
        # Addons would wait for nodes.
        raise errors.NotSupported(
            "the cluster is hibernated: the operator has to wake it first, "
            f"magnum-capi-helm cluster wake {held.cluster.uuid} --apply"
        )
    cloud = catalogue.Cloud(held.session())
    if nodegroup is None or nodegroup.is_default:
        alone = nodegroup is not None and nodegroup.role == "master"
        return upgrade_plan.plan_cluster(
            current, template, cloud, batch, alone=alone
        )
    for each in current.existing:
        if each.uuid == nodegroup.uuid:
            return upgrade_plan.plan_nodegroup(current, each, cloud, batch)
    raise errors.NotSupported(
        "the nodegroup is not part of the cluster: it was refused, or is "
        f"being deleted. It is {errors.shown(nodegroup.name)}"
    )


def _checked(
    held: Held, plan: Upgrade
) -> tuple[desired_state.DesiredState, upgrade_steps.Upgrade | None]:
    """Return the new desired state, after all that could refuse it.

    :returns: that of the first step, with the steps, if there are several
    """
    draft = plan.desired()
    if plan.built is not None:
        before = plan.current.desired.values
        upgrade_rules.check_encryption(before, draft.values)
        upgrade_rules.check_cni_version(before, draft.values)
    if etcd.needs_key(draft.values):
        held.ensure_etcd_key()
    comparison = plan.current.compare(draft)
    if plan.alone and comparison.workers:
        raise errors.NotSupported(
            "nodegroup: upgrade the whole cluster, without --nodegroup, since "
            "chart, labels or options change the machines of workers as well. "
            f"They are those of {', '.join(comparison.workers)}"
        )
    template_guard.check_objects(held, draft, plan.current.rows, comparison)
    _log_warnings(held, plan, comparison)
    objects = comparison.objects
    if plan.passes_minors:
        # The webhook compares with the version of now, and refuses to skip.
        plane = kinds.CONTROL_PLANE.name
        objects = tuple(each for each in objects if each["kind"] != plane)
    release_change.dry_run(held, objects, "the template")
    if policies := plan.missing_server_groups():
        ids = held.make_server_groups(held.session(), policies)
        new = nodes.with_server_group_ids(draft.values, plan.cluster, ids)
        draft = dataclasses.replace(draft, values=new)
    first, steps = plan.divide(draft, comparison)
    if plan.passes_minors:
        objects = plan.current.compare(first).objects
        release_change.dry_run(held, objects, "the first step")
    return first, steps


def _log_warnings(
    held: Held, plan: Upgrade, comparison: template_guard.Comparison
) -> None:
    """Name groups whose image stays and that a newer chart replaces.

    Name the danger of another version of etcd, too.
    """
    kept = sorted({*comparison.replaced} - plan.remade)
    if kept:
        LOG.warning(
            "Upgrade of cluster %s: chart %s replaces the machines of %s, "
            "which keep their image",
            held.cluster.uuid,
            plan.cluster.chart.version,
            ", ".join(kept),
        )
    old = upgrade_rules.control_plane_version(plan.current.desired.values)
    new = plan.cluster.control_plane.image.kube_version
    if upgrade_steps.brings_etcd_3_6(old, new):
        LOG.warning(
            "Upgrade of cluster %s: Kubernetes 1.34 replaces etcd 3.5 by 3.6; "
            "look at the members of etcd first, since one that was removed "
            "before 3.5.26 can come back",
            held.cluster.uuid,
        )
