# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm management-cluster``: prepare and maintain one."""

from __future__ import annotations

import argparse
import re
import time
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cli import base
from magnum_capi_helm.cli import batch
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm import runtime

_NOBODY = "nobody"


class Permissions(base.Command):
    """Print the manifest of the driver's user on a management cluster.

    The manifest has a ServiceAccount, ClusterRoles with exactly the
    permissions that the driver needs, and a policy that keeps the user out of
    namespaces that are no project's. The command contacts no management
    cluster.
    """

    needs_configuration = False

    examples = (
        "management-cluster permissions | kubectl apply -f -",
        "management-cluster permissions magnum-5f0d3c57a4c94a6c8c1d1e1c6a7b9d2"
        "e | kubectl apply -f -",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add namespaces and their prefixes."""
        parser.add_argument(
            "namespaces",
            nargs="*",
            metavar="NAMESPACE",
            help="existing namespace of a project: mark the namespace, and "
            "bind the driver's role there",
        )
        parser.add_argument(
            "--namespace-prefix",
            action="append",
            default=[],
            metavar="PREFIX",
            help="prefix of namespaces (default: [capi_helm] "
            "namespace_prefix); repeat the option for clouds that "
            "share the management cluster",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print the manifest."""
        from magnum_capi_helm.config import conf
        from magnum_capi_helm.kubernetes import permissions
        from magnum_capi_helm.model import names

        prefixes = parsed_args.namespace_prefix
        prefixes = prefixes or [conf.CONF.capi_helm.namespace_prefix]
        for each in prefixes:
            if not re.fullmatch("[a-z0-9]([a-z0-9-]*[a-z0-9])?", each):
                raise errors.InvalidInput(
                    f"--namespace-prefix {each}: allowed are lowercase "
                    "letters, digits and hyphens between them"
                )
        namespaces = [
            each.removeprefix("namespace/") for each in parsed_args.namespaces
        ]
        for name in namespaces:
            if not any(names.project_of(name, each) for each in prefixes):
                raise errors.InvalidInput(
                    f"NAMESPACE {name}: allowed are namespaces of projects, "
                    f"{' or '.join(f'{each}-PROJECT' for each in prefixes)}"
                )
        self.app.stdout.write(permissions.manifest(prefixes, namespaces))


class Accept(batch.Batch):
    """Record that clusters are on the management cluster that is there now.

    Use the command after a management cluster was restored or rebuilt with
    another identity, or after clusters were moved. The command records the
    management cluster that has the Cluster object. With --lost, the command
    records that nothing is left of a cluster. The command writes nothing
    without --apply, and nothing to a management cluster.
    """

    examples = ("management-cluster accept --all --apply",)

    action = "management-cluster accept"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the management cluster and --lost."""
        super().add_arguments(parser)
        parser.add_argument(
            "--management-cluster",
            metavar="NAME",
            help="management cluster that has the clusters now, if there are "
            "several (default: the only one that has them)",
        )
        parser.add_argument(
            "--lost",
            action="store_true",
            help="the named clusters are gone for good, and their deletion "
            "may finish",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Check the options, then accept."""
        from magnum_capi_helm import runtime

        if parsed_args.lost and not parsed_args.clusters:
            raise errors.InvalidInput(
                "--lost takes names or UUIDs of clusters, not --all or "
                "--project"
            )
        if parsed_args.management_cluster is not None:
            runtime.settings_of(parsed_args.management_cluster)
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> batch.Change:
        """Compare the record of a cluster with the management clusters."""
        from magnum_capi_helm.database import rows
        from magnum_capi_helm.management_clusters import acceptance

        if not row.stack_id:
            return batch.Change()
        compare = (
            acceptance.of_gone if parsed_args.lost else acceptance.of_present
        )
        accepted = compare(row, parsed_args.management_cluster)
        return batch.Change(
            accepted.detail,
            make=lambda: acceptance.accept(rows.everywhere(), row, accepted),
        )


class _Maintenance(base.Lister):
    """A command about the maintenance of a management cluster."""

    HEADER = (
        "Management cluster",
        "State",
        "Since",
        "By",
        "Reason",
        "Still at work",
    )

    #: Seconds between two looks; tests don't wait.
    pause = 2.0

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the management cluster and --apply."""
        parser.add_argument(
            "--management-cluster",
            metavar="NAME",
            help="name of the management cluster, if there are several",
        )
        base.add_apply(
            parser, "make the change (default: only show the current state)"
        )

    def clients(self, name: str | None) -> runtime.Runtime:
        """Return the clients of the management cluster of that name.

        :raises InvalidInput: there are several, and none was given
        :raises NotConfigured: there is none of that name
        """
        from magnum_capi_helm import runtime

        configured = runtime.names()
        if name is None and len(configured) > 1:
            raise errors.InvalidInput(
                f"give --management-cluster, one of {', '.join(configured)}"
            )
        return runtime.get(configured[0] if name is None else name)

    def table(self, rt: runtime.Runtime, at_work: str = "") -> base.Table:
        """Return the current state of a management cluster."""
        from magnum_capi_helm.kubernetes import maintenance

        freeze = rt.maintenance.read().freeze
        state = "open" if freeze is None else "frozen"
        freeze = freeze or maintenance.Freeze("")
        since = ""
        if freeze.since > 0:
            moment = time.gmtime(freeze.since)
            since = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", moment)
        name = rt.management_cluster.name
        line = (name, state, since, freeze.by, freeze.reason, at_work)
        return self.HEADER, [line]


class Freeze(_Maintenance):
    """Freeze a management cluster for maintenance.

    The driver refuses requests that would change its clusters, and shows the
    reason. Deletions wait, polls only read, and no operation times out. The
    command waits until running operations have ended, and writes nothing
    without --apply.
    """

    examples = (
        'management-cluster freeze --reason "etcd is being upgraded" --apply',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the reason, and how long to wait for running operations."""
        super().add_arguments(parser)
        parser.add_argument(
            "--reason",
            required=True,
            metavar="TEXT",
            help="text that the users of its clusters read",
        )
        parser.add_argument(
            "--timeout",
            type=base.positive,
            default=10,
            metavar="MINUTES",
            help="minutes to wait for running operations (default: 10)",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Freeze it, and wait until no operation is left."""
        from magnum_capi_helm.kubernetes import maintenance

        maintenance.check_reason(parsed_args.reason)
        rt = self.clients(parsed_args.management_cluster)
        if not parsed_args.apply:
            self.say("nothing was written: add --apply to freeze it")
            return self.table(rt, ", ".join(rt.leases.holders()))
        with base.audited("freeze", _subject(rt)) as operator:
            rt.maintenance.freeze(
                parsed_args.reason, operator.user, time.time()
            )
        seconds = parsed_args.timeout * 60
        at_work: list[str] = []
        for holders in maintenance.wait_for_holders(
            rt.leases, seconds, self.pause
        ):
            if holders != at_work:
                self.say(f"still at work: {', '.join(holders) or _NOBODY}")
            at_work = holders
        self.exit_code = int(bool(at_work))
        return self.table(rt, ", ".join(at_work) or _NOBODY)


class Thaw(_Maintenance):
    """End the maintenance of a management cluster.

    Operations continue; their timeouts do not count the maintenance. The
    command writes nothing without --apply.
    """

    examples = ("management-cluster thaw --apply",)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Thaw it; a management cluster that is not frozen is fine."""
        rt = self.clients(parsed_args.management_cluster)
        if parsed_args.apply:
            with base.audited("thaw", _subject(rt)):
                rt.maintenance.thaw(time.time())
        else:
            self.say("nothing was written: add --apply to thaw it")
        return self.table(rt)


def _subject(rt: runtime.Runtime) -> str:
    """Name a management cluster for the log; a single one has no name."""
    return f"management cluster {rt.management_cluster.name}".rstrip()
