# SPDX-License-Identifier: Apache-2.0

"""Which clusters a command is about."""

from __future__ import annotations

import argparse
import functools
from typing import Any

from magnum.common import exception
from magnum.drivers.common import driver as drivers

from magnum_capi_helm import driver
from magnum_capi_helm.database import queries
from magnum_capi_helm.database import rows
from magnum_capi_helm.lifecycle import preview
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names


def clusters(parsed_args: argparse.Namespace) -> list[Any]:
    """The rows that were chosen, each once, in an order that stays.

    Those that are being deleted are left out, unless they were named.

    :raises InvalidInput: none was chosen, or in more than one way, or one
        that is not there or of another driver
    """
    named = list(dict.fromkeys(parsed_args.clusters))
    ways = [bool(named), bool(parsed_args.project), parsed_args.every]
    if sum(ways) != 1:
        raise errors.InvalidInput(
            "give names or UUIDs of clusters, or --project ID, or --all: "
            "exactly one of the three"
        )
    if named:
        found = {row.uuid: row for row in map(find, named)}
        return list(found.values())
    every = queries.read(parsed_args.project, of_this_driver)
    chosen = [
        row for row, _ in every if rows.action(row.status or "") != "DELETE"
    ]
    return sorted(chosen, key=lambda row: (row.name or "", row.uuid))


def find(ref: str) -> Any:
    """The row of one, by UUID or name.

    :raises InvalidInput: there is none, or more than one of that name, or it
        is of another driver
    """
    row = preview.find_cluster(ref)
    try:
        template = row.cluster_template
    except exception.ClusterTemplateNotFound:
        # It says nothing of the driver; this one can do without it.
        return row
    if not of_this_driver(template):
        kind = (template.server_type, template.cluster_distro, template.coe)
        name = template.driver or f"of {'/'.join(map(str, kind))}"
        raise errors.InvalidInput(
            f"cluster {row.name} ({row.uuid}) is of the driver {name}: "
            f"choose one of {names.DRIVER}"
        )
    return row


def of_this_driver(template: Any) -> bool:
    """Whether Magnum gives clusters of such a template to this driver."""
    return _ours(
        template.server_type,
        template.cluster_distro,
        template.coe,
        template.driver,
    )


@functools.cache
def _ours(server_type: str, distro: str, coe: str, name: str | None) -> bool:
    try:
        found = drivers.Driver.get_driver(server_type, distro, coe, name)
    except exception.MagnumException:
        # It is not installed here.
        return False
    return isinstance(found, driver.Driver)
