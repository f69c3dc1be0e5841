# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm cluster apply``: bring something new to clusters."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cli import base
from magnum_capi_helm.cli import batch
from magnum_capi_helm.cli import preview as previews
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.credentials import cloud_secret

#: kubeadm's certificates are valid for twice as many days.
_WITHIN = 180


class Apply(batch.Batch):
    """Bring a chart, values, certificates or cloud settings to clusters.

    Give one of these:

    --chart-version, --values-files or both: the cluster's own values stay,
    and only these change. Values that the files no longer contain stay until
    the next upgrade. Machines are replaced only with --allow-replacement.

    --certificates: Cluster API replaces the machines of the control plane one
    by one, whatever chart a cluster has; workers stay. For a while the quota
    has to have room for one more machine. Certificates that expire later than
    --within are left alone, so a second run does not renew them again.

    --cloud-settings: write the cloud's current endpoint, region, interface
    and CAs into the clusters' credentials. The application credentials stay,
    and no machine is replaced. The CAs that a cluster has stay beside the new
    ones, but for those that have expired.

    The command waits for each cluster until the change is complete.
    """

    examples = (
        "cluster apply --chart-version 0.27.0 --all",
        "cluster apply --chart-version 0.27.0 --all --at-a-time 2 --apply",
        "cluster apply --values-files my-cluster --apply",
        "cluster apply --certificates --within 60 --all --apply",
        "cluster apply --cloud-settings --all --apply",
    )

    action = "cluster apply"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options that choose what the clusters get."""
        super().add_arguments(parser)
        parser.add_argument(
            "--chart-version",
            metavar="V",
            type=base.chart_version,
            default="",
            help="go to that version of the chart",
        )
        parser.add_argument(
            "--values-files",
            action="store_true",
            help="lay [capi_helm] values_files, and the profiles that the "
            "template picks, on the values once more",
        )
        parser.add_argument(
            "--allow-replacement",
            action="store_true",
            help="replace machines where chart or values need that (default: "
            "refuse)",
        )
        parser.add_argument(
            "--certificates",
            action="store_true",
            help="renew the certificates of control planes before they expire",
        )
        parser.add_argument(
            "--within",
            type=base.positive,
            metavar="DAYS",
            help="renew certificates that expire within so many days "
            f"(default: {_WITHIN}, half of the time that kubeadm gives)",
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
            help="take all other CAs out, once no endpoint has an old one",
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
        if not (parsed_args.certificates or parsed_args.cloud_settings):
            return self._plan_chart(row, parsed_args)
        if not row.stack_id:
            return batch.Change()
        if parsed_args.certificates:
            return _plan_certificates(row, parsed_args.within or _WITHIN)
        keep_old = not parsed_args.only_new_ca
        return _plan_cloud_settings(row, self._access, keep_old)

    def _plan_chart(
        self, row: Any, parsed_args: argparse.Namespace
    ) -> batch.Change:
        """Return the change of chart and values of one cluster."""
        from magnum_capi_helm.database import rows
        from magnum_capi_helm.lifecycle import rollout
        from magnum_capi_helm.management_clusters import registry
        from magnum_capi_helm.operations import release as releases

        order = rollout.Order(
            chart=parsed_args.chart_version,
            files=parsed_args.values_files,
            replacing=parsed_args.allow_replacement,
        )

        def make() -> None:
            left = rollout.apply(base.operation(row), order)
            if left:
                self.say(f"{row.name}: the polls go on: {left}")

        def unfinished() -> str:
            return rollout.pending(rows.everywhere(), row)

        release = releases.Release(row, registry.find_runtime(row))
        plan = rollout.plan(release, order)
        if plan.going_on:
            return batch.Change(
                "has it, and is not complete yet", unfinished=unfinished
            )
        if plan.desired is None:
            return batch.Change()
        new = plan.desired.chart.version
        chart = plan.now if plan.now == new else f"{plan.now} to {new}"
        return batch.Change(
            f"chart {chart}: {previews.summarize(plan.changes)}",
            make=make,
            unfinished=unfinished,
        )


def _check_options(parsed_args: argparse.Namespace) -> None:
    """Refuse options that don't belong together.

    :raises InvalidInput: nothing to apply was chosen, or two unrelated
        things, or an option of a thing that was not chosen
    """
    chart = bool(parsed_args.chart_version or parsed_args.values_files)
    certificates = parsed_args.certificates
    cloud_settings = parsed_args.cloud_settings
    if [chart, certificates, cloud_settings].count(True) != 1:
        raise errors.InvalidInput(
            "give --chart-version V or --values-files or both, or "
            "--certificates, or --cloud-settings"
        )
    if parsed_args.allow_replacement and not chart:
        raise errors.InvalidInput(
            "--allow-replacement goes with --chart-version or --values-files"
        )
    if parsed_args.within is not None and not certificates:
        raise errors.InvalidInput("--within goes with --certificates")
    if parsed_args.only_new_ca and not cloud_settings:
        raise errors.InvalidInput("--only-new-ca goes with --cloud-settings")


def _plan_certificates(row: Any, days: int) -> batch.Change:
    """Return the renewal of certificates that expire within so many days."""
    from magnum_capi_helm.lifecycle import renew

    operation = base.operation(row)
    return batch.Change(
        renew.plan(operation.runtime, row, days).detail,
        make=lambda: renew.begin(operation, days),
        unfinished=lambda: renew.pending(operation),
    )


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
        note=cloud_secret.outdated_nodes(rt, scope),
    )
