# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm cluster``: change and repair clusters."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cli import base
from magnum_capi_helm.cli import batch
from magnum_capi_helm.cli import preview as previews
from magnum_capi_helm.model import channels
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.credentials import cloud_secret
    from magnum_capi_helm.lifecycle import rollout as rollouts
    from magnum_capi_helm.operations import cluster_operation


class Rollback(base.Lister):
    """Return a cluster to the release before a failed upgrade.

    The command restores chart, values, template, images and flavors; counts
    stay. The command takes back a rotation of the CAs that has not reached
    step 3. The command lists the objects that change, and writes nothing
    without --apply. Magnum's polls finish the rollback: watch the cluster's
    status.

    With --stop-here, an upgrade ends in a step of the control plane: the
    control plane keeps the Kubernetes version that its servers have, or gets
    back the one of the step before if no server has the new one. Workers stay
    as they are. The cluster gets its old template, and its nodegroups get the
    images that they have.
    """

    examples = (
        "cluster rollback my-cluster",
        "cluster rollback my-cluster --apply",
        "cluster rollback my-cluster --stop-here --apply",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the cluster, --stop-here and --apply."""
        base.add_cluster(parser)
        parser.add_argument(
            "--stop-here",
            action="store_true",
            help="end an upgrade of several steps, instead of taking it back",
        )
        base.add_apply(parser, "roll back (default: only show the changes)")

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Compare with the installed objects, then go back."""
        from magnum_capi_helm.lifecycle import release_change
        from magnum_capi_helm.lifecycle import rollback

        row = base.find_cluster(parsed_args.cluster)
        operation = base.operation(row)
        stop = parsed_args.stop_here
        planned = rollback.plan(operation, stop=stop)
        changes = release_change.compare(operation, planned).changes
        text = "nothing was written: add --apply to roll back"
        if parsed_args.apply:
            with base.audited("rollback", f"cluster {row.uuid}"):
                left = rollback.rollback(operation, stop=stop)
            text = f"accepted; Magnum's polls continue: {left}"
            if not left:
                text = "accepted"
        self.say(f"{previews.summarize(changes)}: {text}")
        return previews.table(changes)


class Credentials(batch.Batch):
    """Give clusters a new application credential, in place of the old one.

    Use the command if Keystone refuses a credential because its user is gone,
    or if a credential has leaked. No machine is replaced. Keystone creates a
    credential only for the user that is logged in. Log in as a user with a
    role in the cluster's project: with --os-cloud, with OS_CLOUD and
    clouds.yaml, or by the environment. The new credential belongs to this
    user. The command logs in to the project of each cluster. With
    --service-user, the command logs in as Magnum's service user; this user
    needs a role in the project too.

    The command tests the new credential before it uses it. The health poll
    deletes the old credential when the cluster has had the new one for
    [capi_helm] app_cred_grace seconds; with --revoke-at-once, the command
    deletes the old credential itself. A cluster that is being deleted gets a
    new credential too: Cluster API then continues the deletion, and the end of
    the deletion removes the credential.

    The options --all and --project need --invalid or --before: a second run of
    the command then replaces no credential twice.
    """

    examples = (
        "cluster credentials my-cluster --os-cloud my-project",
        "cluster credentials --all --invalid --os-cloud ops --apply",
        "cluster credentials my-cluster --service-user --apply",
        "cluster credentials --all --before 2026-11-22T23:30 --os-cloud ops "
        "--revoke-at-once --apply",
    )

    action = "cluster credentials"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the login, and the options that choose credentials."""
        super().add_arguments(parser)
        login = parser.add_mutually_exclusive_group()
        login.add_argument(
            "--os-cloud",
            metavar="NAME",
            help="log in with this cloud of clouds.yaml (default: OS_CLOUD, "
            "or the login in the environment)",
        )
        login.add_argument(
            "--service-user",
            action="store_true",
            help="log in as Magnum's service user, [keystone_auth] in "
            "magnum.conf; it needs a role in the cluster's project, such as "
            "member, for as long as the cluster uses the credential",
        )
        parser.add_argument(
            "--invalid",
            action="store_true",
            help="replace only credentials that Keystone refuses",
        )
        parser.add_argument(
            "--before",
            type=_moment,
            metavar="TIME",
            help="replace only credentials that clusters got before this "
            "time, such as 2026-11-22T23:30; UTC without an offset",
        )
        parser.add_argument(
            "--revoke-at-once",
            action="store_true",
            help="delete the old credential as soon as the cluster has the "
            "new one; a process that uses the old credential fails until "
            "its restart",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Log in once for each project, where that is needed."""
        from magnum_capi_helm.credentials import rotation

        limited = parsed_args.invalid or parsed_args.before is not None
        if not parsed_args.clusters and not limited:
            raise errors.InvalidInput(
                "--all and --project need --invalid, or --before TIME: which "
                "credentials are to be replaced?"
            )
        self._logins = rotation.Logins(
            parsed_args.os_cloud, service_user=parsed_args.service_user
        )
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> batch.Change:
        """Return the replacement of a cluster's credential, if it is due."""
        from magnum_capi_helm.credentials import rotation
        from magnum_capi_helm.operations import cluster_operation

        if not row.stack_id:
            return batch.Change()
        operation = base.operation(row)
        rt, scope = operation.runtime, operation.scope
        if parsed_args.invalid and not rotation.is_refused(rt, scope):
            return batch.Change(note="the credential works")
        before = parsed_args.before
        if before is not None:
            since, old = rotation.dates(rt, scope)
            if since >= before:
                outdated = any(each < before for each in old)
                return _plan_revocation(operation, parsed_args, outdated)
        context = self._logins.context(row.project_id)
        requested = cluster_operation.Operation(context, row, rt)
        revoke = parsed_args.revoke_at_once
        return batch.Change(
            rotation.describe(requested),
            make=lambda: rotation.rotate(requested, allow_deleting=True),
            unfinished=lambda: rotation.pending(operation, revoke=revoke),
        )


def _plan_revocation(
    operation: cluster_operation.Operation,
    parsed_args: argparse.Namespace,
    outdated: bool,
) -> batch.Change:
    """Return the change of a cluster whose credential is newer than --before.

    A run that was stopped may have replaced the credential and not yet
    revoked the old one, which has leaked.
    """
    from magnum_capi_helm.credentials import rotation
    from magnum_capi_helm.database import rows

    note = "the credential is newer than --before"
    # A deletion revokes all of them.
    is_deleted = rows.action(operation.cluster.status) == "DELETE"
    if is_deleted or not parsed_args.revoke_at_once or not outdated:
        return batch.Change(note=note)
    return batch.Change(
        "revoke the old credential",
        unfinished=lambda: rotation.pending(operation, revoke=True),
        note=note,
    )


def _moment(text: str) -> float:
    """Return seconds since 1970 of a time in ISO 8601, for argparse."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time: give one such as 2026-11-22T23:30"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return moment.timestamp()


class Apply(batch.Batch):
    """Bring a chart, values, labels or other settings to clusters.

    Give one of these:

    --chart-version, --values-files or both: only the chart or the files'
    values change; the cluster's own values stay. A value that the files no
    longer contain stays until the next upgrade. The command replaces machines
    only with --allow-replacement.

    --label: the command changes labels of a cluster, which Magnum can't do. No
    other value changes. A label without a value gets the template's value
    again. The command replaces machines only with --allow-replacement.

    --cloud-settings: the command writes the cloud's current endpoint, region,
    interface and CAs into the clusters' credentials. The application
    credentials stay, and no machine is replaced. A cluster keeps its CAs
    beside the new ones, except those that have expired.

    The command waits for each cluster until the change is complete.
    """

    examples = (
        "cluster apply --chart-version 0.27.0 --all",
        "cluster apply --chart-version 0.27.0 --all --parallel 2 --apply",
        "cluster apply --values-files my-cluster --apply",
        "cluster apply --label api_master_lb_allowed_cidrs=192.0.2.0/24 "
        "my-cluster --apply",
        "cluster apply --label certificates_expiry_days=60 --all --apply",
        "cluster apply --cloud-settings --all --apply",
    )

    action = "cluster apply"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options that choose what the clusters get."""
        super().add_arguments(parser)
        parser.add_argument(
            "--chart-version",
            metavar="VERSION",
            type=base.chart_version,
            default="",
            help="change to this version of the chart",
        )
        parser.add_argument(
            "--values-files",
            action="store_true",
            help="apply [capi_helm] values_files again, and the profiles "
            "that the template selects",
        )
        base.add_labels(parser)
        parser.add_argument(
            "--allow-replacement",
            action="store_true",
            help="replace machines if chart, values or labels need it "
            "(default: refuse)",
        )
        parser.add_argument(
            "--cloud-settings",
            action="store_true",
            help="write the cloud's current endpoint, region, interface and "
            "CAs into the clusters' credentials",
        )
        parser.add_argument(
            "--only-new-ca",
            action="store_true",
            help="with --cloud-settings: remove all other CAs, once no "
            "endpoint has an old one",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Read the cloud's settings once for all clusters, if needed."""
        _check_options(parsed_args)
        if parsed_args.cloud_settings:
            from magnum_capi_helm.cloud import sessions
            from magnum_capi_helm.credentials import cloud_secret

            self._access = cloud_secret.cloud_access(
                sessions.service_session()
            )
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> batch.Change:
        """Return what one cluster gets."""
        from magnum_capi_helm.lifecycle import rollout

        if parsed_args.cloud_settings:
            if not row.stack_id:
                return batch.Change()
            keep_old = not parsed_args.only_new_ca
            return _plan_cloud_settings(row, self._access, keep_old)
        order = rollout.Order(
            chart=parsed_args.chart_version,
            files=parsed_args.values_files,
            replacing=parsed_args.allow_replacement,
            labels=dict(parsed_args.label),
        )
        return _rolled_out(row, order)


class Upgrade(batch.Batch):
    """Upgrade clusters to the newest template of their channel.

    The label upgrade_channel gives public templates and clusters a channel.
    The newest template has the newest Kubernetes of the cluster's minor
    version; of several, it was created last. It differs from the cluster's
    template neither in its distribution nor in its flavors and networks.

    The command lists the clusters that are behind, and upgrades them with
    --apply: it asks Magnum's API as the service user of magnum.conf, and waits
    for each cluster until the upgrade is complete. Clusters that are not
    complete and healthy are refused.
    """

    examples = (
        "cluster upgrade --all",
        "cluster upgrade --all --from 22:00 --to 04:00 --parallel 9 --apply",
    )

    action = "cluster upgrade"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add --minor."""
        super().add_arguments(parser)
        parser.add_argument(
            "--minor",
            action="store_true",
            help="upgrade to the next minor version of Kubernetes, too",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Read the templates once for all clusters."""
        from magnum_capi_helm.lifecycle import channel_upgrade

        self._templates = channel_upgrade.templates(base.of_this_driver)
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> batch.Change:
        """Return the upgrade of one cluster, if it is behind."""
        from magnum_capi_helm.lifecycle import channel_upgrade

        operation = base.operation(row)
        now = channel_upgrade.present(operation)
        if now is None:
            return batch.Change()
        text = f"{now.channel}: {now.version}"
        minor = parsed_args.minor
        new = channels.newest(now, self._templates, minor=minor)
        # An upgrade that failed is in the desired state already: refused.
        if new is now and row.status != "UPDATE_FAILED":
            going_on = row.status == "UPDATE_IN_PROGRESS"
            return batch.Change(
                "not complete yet" if going_on else "",
                unfinished=operation.wait_reason,
                note=text,
                machines=operation.machine_uids,
            )
        uuid = new.row.uuid
        changes = channel_upgrade.check(operation, uuid)
        return batch.Change(
            f"{text} to {new.version}, template {new.row.name}: "
            f"{previews.summarize(changes)}",
            make=lambda: channel_upgrade.begin(operation, uuid),
            unfinished=lambda: channel_upgrade.pending(operation, uuid),
            machines=operation.machine_uids,
        )


class Hibernate(batch.Batch):
    """Remove all workers of clusters for a time, and keep their counts.

    Cluster API deletes the machines of all nodegroups but the control plane,
    and their servers. It drains them first: a pod disruption budget can keep a
    machine as long as the label node_drain_timeout says. The control plane
    goes on: Cluster API refuses one without machines. Volumes, load balancers
    and addresses stay. The autoscaler makes no machine. Upgrades are refused,
    and a changed count counts when the cluster wakes.
    """

    examples = (
        "cluster hibernate my-cluster",
        "cluster hibernate my-cluster --apply",
    )

    action = "cluster hibernate"
    hibernated = True

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> batch.Change:
        """Return what one cluster gets: the count of each group of workers."""
        from magnum_capi_helm.database import rows
        from magnum_capi_helm.lifecycle import rollout

        change = _rolled_out(row, rollout.Order(hibernated=self.hibernated))
        if not change.detail:
            return change
        text = "{} to 0" if self.hibernated else "0 to {}"
        counts = [
            f"{each.name} {text.format(each.node_count)}"
            for each in rows.all_groups(row)
            if each.role != "master" and rows.is_member(each)
        ]
        return dataclasses.replace(change, detail=", ".join(counts))


class Wake(Hibernate):
    """Give clusters their workers back, as many as Magnum's rows have."""

    examples = ("cluster wake my-cluster", "cluster wake --all --apply")
    action = "cluster wake"
    hibernated = False


def _rolled_out(row: Any, order: rollouts.Order) -> batch.Change:
    """Return the change that an order makes to a cluster."""
    from magnum_capi_helm.lifecycle import rollout

    operation = base.operation(row)
    plan = rollout.plan(operation, order)
    change = batch.Change(
        "changed already, not complete yet",
        unfinished=operation.wait_reason,
        machines=operation.machine_uids,
    )
    if plan.going_on:
        return change
    if plan.desired is None:
        return batch.Change()
    new = plan.desired.chart.version
    chart = plan.now if plan.now == new else f"{plan.now} to {new}"
    return dataclasses.replace(
        change,
        detail=f"chart {chart}: {previews.summarize(plan.changes)}",
        make=lambda: rollout.apply(operation, order),
    )


def _check_options(parsed_args: argparse.Namespace) -> None:
    """Refuse options that don't belong together.

    :raises InvalidInput: nothing to apply was chosen, or two unrelated
        things, or an option of a thing that was not chosen
    """
    cloud_settings = parsed_args.cloud_settings
    chart = bool(parsed_args.chart_version or parsed_args.values_files)
    chosen = [chart, bool(parsed_args.label), cloud_settings]
    if chosen.count(True) != 1:
        raise errors.InvalidInput(
            "give one, and only one, of --chart-version VERSION (with or "
            "without --values-files), --values-files, --label and "
            "--cloud-settings"
        )
    if parsed_args.allow_replacement and cloud_settings:
        raise errors.InvalidInput(
            "--allow-replacement goes with --chart-version, --values-files "
            "or --label"
        )
    if parsed_args.only_new_ca and not cloud_settings:
        raise errors.InvalidInput("--only-new-ca goes with --cloud-settings")


def _plan_cloud_settings(
    row: Any, access: cloud_secret.CloudAccess, keep_old: bool
) -> batch.Change:
    """Return the update of a cluster's credential Secret."""
    from magnum_capi_helm.credentials import cloud_secret

    operation = base.operation(row)
    rt, scope = operation.runtime, operation.scope
    changes, _ = cloud_secret.plan_refresh(rt, row, access, keep_old)
    return batch.Change(
        "; ".join(changes),
        make=lambda: cloud_secret.refresh(operation, access, keep_old),
        unfinished=lambda: cloud_secret.pending_deployment(rt, scope),
        note=cloud_secret.outdated_nodes(operation),
    )
