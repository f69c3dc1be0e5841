# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm unlock``: what a conductor that died left locked."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import base
from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.operations import unlock

HEADER = ("What", "State", "By", "Age", "Result")

FREED = "freed"
WOULD = "would be freed"


class Unlock(base.Lister):
    """Free a cluster that nobody works on any more.

    A conductor that died may leave a Lease and a revision of helm that is
    pending. Both are listed, with who holds the Lease and for how long it was
    not renewed: the Lease is watched for half a minute, since only a renewal
    tells that its holder is alive. A revision that helm wrote less than helm's
    deadline ago may be somebody's without a Lease. Neither is freed then,
    unless with --force. Nothing is written without --apply. The polls of
    Magnum go on from there.
    """

    examples = (
        "unlock my-cluster",
        "unlock my-cluster --apply",
        "unlock my-cluster --apply --force",
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The cluster, and how far to go."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_cluster(parser)
        arguments.add_apply(
            parser, "free it (default: only show what is locked)"
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="even if somebody is alive; make sure that no helm runs",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Watch, and free what is dead."""
        from magnum_capi_helm.cmd import choice
        from magnum_capi_helm.operations import operation
        from magnum_capi_helm.operations import unlock
        from magnum_capi_helm.planes import places

        row = choice.find(parsed_args.cluster)
        if not row.stack_id:
            raise errors.NotSupported(operation.NO_RELEASE)
        rt = places.find(row)
        lock = unlock.watched(rt, operation.scope_of(row), self._pause)
        self._refused = bool(lock.refusal) and not parsed_args.force
        if self._refused:
            self._say(f"{lock.refusal}; --force frees it all the same")
        result = fleet.REFUSED if self._refused else WOULD
        if parsed_args.apply and lock.found:
            result = self._free(row, lock, force=parsed_args.force)
        elif lock.found:
            self._say("nothing was written: --apply frees it")
        return HEADER, _lines(lock, result)

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Exit code 1 when it is refused."""
        super().run(parsed_args)
        return int(self._refused)

    def _free(self, row: Any, lock: unlock.Lock, *, force: bool) -> str:
        """Free it, or be refused; the log has either."""
        from magnum_capi_helm.model import audit
        from magnum_capi_helm.operations import unlock
        from magnum_capi_helm.planes import places

        try:
            with (
                audit.acting(fleet.operator("unlock")),
                audit.noted(row.uuid),
            ):
                unlock.free(places.checked(row), row, lock, force=force)
        except errors.LeaseHeld as error:
            if not self._refused:
                self._say(str(error))
            self._refused = True
            return fleet.REFUSED
        return FREED

    def _say(self, text: str) -> None:
        self.app.stderr.write(f"{text}\n")

    def _pause(self) -> None:
        time.sleep(1.0)


def _lines(lock: unlock.Lock, result: str) -> list[tuple[str, ...]]:
    """One for the Lease, one for the newest revision if it is pending."""
    state = "held" if lock.alive else "stale"
    lease = ("Lease", "free", "", "", fleet.NOTHING)
    if lock.holder:
        age = _age(lock.renewed)
        lease = ("Lease", state, lock.holder, age, result)
    lines: list[tuple[str, ...]] = [lease]
    if lock.pending is not None:
        what = f"revision {lock.pending.version}"
        age = _age(lock.pending.modified)
        lines.append((what, lock.pending.status, "helm", age, result))
    return lines


def _age(moment: float) -> str:
    """How long ago, by the clock of whoever wrote it."""
    seconds = time.time() - moment
    if not moment or seconds < 0:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
