# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm credentials``: how clusters get into their cloud.

``refresh``: another way to the same cloud; ``replace``: another credential.
"""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm import runtime


class Refresh(fleet.Fleet):
    """Tell clusters the cloud's endpoint, region, interface and CAs of now.

    The application credential of each stays as it is, and no machine is
    replaced. The CAs that a cluster has stay beside the new ones, but for
    those that have expired.
    """

    examples = (
        "credentials refresh --all",
        "credentials refresh --all --apply",
    )

    action = "credentials refresh"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, and whether old CAs go."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--only-new-ca",
            action="store_true",
            help="take all other CAs out, once no endpoint has an old one",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Ask for the way to the cloud once, for all clusters."""
        from magnum_capi_helm.cloud import sessions
        from magnum_capi_helm.credentials import identity

        self._files = identity.files(sessions.service_session())
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> fleet.Change:
        """What of a cluster's Secret is not of now."""
        from magnum_capi_helm.credentials import refresh
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.operations import operation
        from magnum_capi_helm.planes import places

        if not row.stack_id:
            return fleet.Change()
        files, keep_old = self._files, not parsed_args.only_new_ca
        rt = places.checked(row)
        scope = operation.scope_of(row)
        found = refresh.planned(rt, row, files, keep_old)
        return fleet.Change(
            "; ".join(found.changes),
            make=lambda: refresh.apply(
                rt, preview.context(), row, files, keep_old
            ),
            going_on=lambda: refresh.left(rt, scope),
            note=refresh.behind(rt, scope),
        )


class Replace(fleet.Fleet):
    """Give clusters a new application credential, in place of the old one.

    Where it is dead, since its user is gone, or has leaked. No machine is
    replaced. Keystone makes a credential for nobody but the user who is
    logged in, so you log in: by --os-cloud or OS_CLOUD and clouds.yaml, or
    by the environment, as a user who has a role in the cluster's project,
    and whose credential it will be. For each project you are logged in to
    that one. --service-user logs in as Magnum's service user, who needs a
    role in the project as well. A cluster that is being deleted gets a new
    one too: Cluster API then goes on with the deletion, which deletes the
    credential at its end. The new one is tried before it is used. The health
    poll deletes
    the old one when the cluster has had the new one for [capi_helm]
    app_cred_grace seconds, or this command does with --revoke-at-once.

    All clusters, or those of a project, need --dead or --before: so whoever
    runs the same again replaces none twice.
    """

    examples = (
        "credentials replace my-cluster --os-cloud my-project",
        "credentials replace --all --dead --os-cloud ops --apply",
        "credentials replace my-cluster --service-user --apply",
        "credentials replace --all --before 2026-11-22T23:30 --os-cloud ops "
        "--revoke-at-once --apply",
    )

    action = "credentials replace"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, and as whom."""
        parser = super().get_parser(prog_name)
        login = parser.add_mutually_exclusive_group()
        login.add_argument(
            "--os-cloud",
            metavar="NAME",
            help="log in as clouds.yaml says of it (default: as OS_CLOUD, or "
            "the environment, says)",
        )
        login.add_argument(
            "--service-user",
            action="store_true",
            help="log in as Magnum's service user, [keystone_auth] in "
            "magnum.conf: it needs a role in the cluster's project, such as "
            "member, for as long as the cluster uses the credential",
        )
        parser.add_argument(
            "--dead",
            action="store_true",
            help="only where Keystone refuses the one that there is",
        )
        parser.add_argument(
            "--before",
            type=moment,
            metavar="TIME",
            help="only those that were given before that time, as "
            "2026-11-22T23:30; UTC, unless it says otherwise",
        )
        parser.add_argument(
            "--revoke-at-once",
            action="store_true",
            help="delete the old one as soon as the cluster has the new one: "
            "what still uses it fails until it is restarted",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Log in where it is needed, once for each project."""
        from magnum_capi_helm.credentials import replacement

        limited = parsed_args.dead or parsed_args.before is not None
        if not parsed_args.clusters and not limited:
            raise errors.InvalidInput(
                "--all and --project need --dead, or --before TIME: which "
                "credentials are to be replaced?"
            )
        self._logins = replacement.Logins(
            parsed_args.os_cloud, service_user=parsed_args.service_user
        )
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> fleet.Change:
        """Whether it is to be replaced, and can be."""
        from magnum_capi_helm.credentials import replacement
        from magnum_capi_helm.credentials import rotation
        from magnum_capi_helm.database import rows
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.operations import operation
        from magnum_capi_helm.planes import places

        # Hours may have passed since the rows were listed.
        fresh = rows.fresh(preview.context(), row)
        if fresh is None or not fresh.stack_id:
            return fleet.Change()
        rt = places.checked(fresh)
        scope = operation.scope_of(fresh)
        if parsed_args.dead and not replacement.dead(rt, scope):
            return fleet.Change(note="it works")
        before = parsed_args.before
        if before is not None and replacement.given(rt, scope) >= before:
            return self._later(rt, fresh, parsed_args)
        context = self._logins.context(fresh.project_id)
        revoke = parsed_args.revoke_at_once
        return fleet.Change(
            replacement.planned(rt, context, fresh),
            make=lambda: rotation.rotate(rt, context, fresh, leaving=True),
            going_on=lambda: replacement.left(rt, fresh, revoke=revoke),
        )

    def _later(
        self, rt: runtime.Runtime, row: Any, parsed_args: argparse.Namespace
    ) -> fleet.Change:
        """One that is not to be replaced: it was given after --before.

        A run that was stopped may have replaced it, and not yet revoked the
        old one, which has leaked.
        """
        from magnum_capi_helm.credentials import replacement
        from magnum_capi_helm.database import rows
        from magnum_capi_helm.operations import operation

        note, scope = "it was given later", operation.scope_of(row)
        # A deletion revokes all of them.
        leaving = rows.action(row.status) == "DELETE"
        if (
            leaving
            or not parsed_args.revoke_at_once
            or not replacement.outdated(rt, scope, parsed_args.before)
        ):
            return fleet.Change(note=note)
        return fleet.Change(
            "the old one is revoked",
            going_on=lambda: replacement.left(rt, row, revoke=True),
            note=note,
        )


def moment(text: str) -> float:
    """A time as ISO 8601 has it, in seconds since 1970, for argparse."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time: give one such as 2026-11-22T23:30"
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.timezone.utc)
    return found.timestamp()
