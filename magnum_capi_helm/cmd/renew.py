# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm renew``: certificates, before they expire."""

from __future__ import annotations

import argparse
from typing import Any

from magnum_capi_helm.cmd import arguments
from magnum_capi_helm.cmd import fleet


class Renew(fleet.Fleet):
    """Renew the certificates of control planes, before they expire.

    Cluster API replaces the machines of the control plane one by one, whatever
    chart a cluster has; those of workers stay. One machine more than before
    has to fit into the quota for a while. Certificates that expire later than
    --within are left alone, so what is done once is not done again.
    """

    examples = (
        "renew --all --within 60",
        "renew --all --within 60 --apply",
    )

    action = "renew"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Which clusters, and how soon."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--within",
            type=arguments.positive,
            default=180,
            metavar="DAYS",
            help="renew what expires within so many days (default: 180, half "
            "of the time that kubeadm gives)",
        )
        return parser

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> fleet.Change:
        """Whether its certificates expire soon enough, and it is well."""
        from magnum_capi_helm.lifecycle import preview
        from magnum_capi_helm.lifecycle import renew
        from magnum_capi_helm.planes import places

        if not row.stack_id:
            return fleet.Change()
        rt, context = places.checked(row), preview.context()
        days = parsed_args.within
        found = renew.planned(rt, row, days)
        return fleet.Change(
            found.detail,
            make=lambda: renew.begin(rt, context, row, days),
            going_on=lambda: renew.left(rt, context, row),
        )
