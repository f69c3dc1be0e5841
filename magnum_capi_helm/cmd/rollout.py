# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm rollout``: a chart, or values, for living clusters."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.cmd import diff
from magnum_capi_helm.cmd import fleet
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import option_types

if TYPE_CHECKING:
    from magnum_capi_helm.lifecycle import rollout
    from magnum_capi_helm.lifecycle import rollout_spec as orders


class Rollout(fleet.Fleet):
    """Bring a chart version, or the values files, to living clusters.

    Their values stay, and only what is ordered changes: with --chart-version
    the chart, with --values-files what [capi_helm] values_files and the
    profiles of their templates say by now. What those said before, and say no
    more, stays until the next upgrade. Machines are replaced only with
    --allow-replacement. Each cluster is waited for until it is complete.
    """

    examples = (
        "rollout --chart-version 0.27.0 --all",
        "rollout --chart-version 0.27.0 --all --at-a-time 2 --apply",
        "rollout --values-files my-cluster --apply",
    )

    action = "rollout"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, and what they get."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--chart-version",
            metavar="V",
            type=option_types.Version(),
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
            help="replace machines where it takes that (default: refuse)",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Show, or make, all changes."""
        if not parsed_args.chart_version and not parsed_args.values_files:
            raise errors.InvalidInput(
                "give --chart-version V, or --values-files, or both"
            )
        return super().take_action(parsed_args)

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> fleet.Change:
        """What it comes to for one cluster."""
        from magnum_capi_helm.database import rows
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.lifecycle import rollout
        from magnum_capi_helm.lifecycle import rollout_spec as orders
        from magnum_capi_helm.planes import places

        # Hours may have passed since the rows were listed.
        fresh = rows.fresh(preview.context(), row)
        if fresh is None:
            return fleet.Change()
        order = orders.Order(
            chart=parsed_args.chart_version,
            files=parsed_args.values_files,
            replacing=parsed_args.allow_replacement,
        )
        found = rollout.look(places.find(fresh), fresh, order)
        if found.going_on:
            return fleet.Change(
                "has it, and is not complete yet",
                going_on=lambda: _left(fresh),
            )
        if found.wanted is None:
            return fleet.Change()
        return fleet.Change(
            _detail(found.now, found.wanted.chart.version, found),
            make=lambda: self._make(fresh, order),
            going_on=lambda: _left(fresh),
        )

    def _make(self, row: Any, order: orders.Order) -> None:
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.lifecycle import rollout
        from magnum_capi_helm.planes import places

        rt = places.checked(row)
        left = rollout.apply(rt, preview.context(), row, order)
        if left:
            self._say(f"{row.name}: the polls go on: {left}")


def _left(row: Any) -> str:
    from magnum_capi_helm.lifecycle import preview
    from magnum_capi_helm.lifecycle import rollout

    return rollout.going_on(preview.context(), row)


def _detail(old: str, new: str, found: rollout.Found) -> str:
    chart = f"chart {old}" if old == new else f"chart {old} to {new}"
    return f"{chart}: {diff.summary(found.changes)}"
