# SPDX-License-Identifier: Apache-2.0

"""One cluster as a tree, read anew at each look. Nothing is written."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import refusal
from magnum_capi_helm.credentials import upkeep
from magnum_capi_helm.database import rows
from magnum_capi_helm.lifecycle import observed
from magnum_capi_helm.lifecycle import preview
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import lease
from magnum_capi_helm.management import observation
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation
from magnum_capi_helm.planes import places
from magnum_capi_helm.status import branch
from magnum_capi_helm.status import description
from magnum_capi_helm.status import remnants
from magnum_capi_helm.status import view


class Sitter:
    """A cluster that is looked at, maybe again and again.

    :param row: Magnum's, as it was chosen
    """

    def __init__(self, row: Any) -> None:
        self.name = str(row.name or row.uuid)
        self._uuid = row.uuid
        #: Version of the Secret whose credential was found to work.
        self._proved = ""

    def look(self) -> branch.Branch | None:
        """The cluster as it is now; None: Magnum has it no more.

        :raises CapiHelmError: nobody can say
        """
        row = rows.find(preview.context(), self._uuid)
        if row is None:
            return None
        if not row.stack_id:
            return description.unmade(self._told(row))
        rt = places.find(row)
        scope = operation.scope_of(row)
        sighting = rt.snapshots.get(scope, not_before=time.monotonic())
        whole = observation.completed(rt.management, scope, sighting)
        observed.ask_nova(rt, scope, whole)
        look = observed.of(rt, row, sighting, thorough=True)
        judged = description.Judged(
            look.wanted,
            look.verdict,
            conf.CONF.capi_helm.k8s_control_plane_resource_conditions,
            look.expected,
            time.time(),
        )
        told = self._told(
            row,
            chart=_chart(look),
            lease=_holder(rt, scope),
            credential=self._credential(rt, scope, row),
        )
        seen = rt.server_faults.added(scope, whole.decode())
        tree = description.described(told, seen, judged)
        if told.credential and rows.action(row.status) == "DELETE":
            left = remnants.described(scope[0], seen)
            tree = dataclasses.replace(tree, children=(*tree.children, left))
        return tree

    def _told(self, row: Any, **known: Any) -> description.Told:
        return description.Told(
            self.name,
            str(row.status or ""),
            str(row.status_reason or ""),
            str(row.health_status or ""),
            **known,
        )

    def _credential(
        self, rt: runtime.Runtime, scope: snapshot.Scope, row: Any
    ) -> str | None:
        """What is wrong with it; one that works is not tried again."""
        name = names.credentials(scope[1])
        secret = rt.management.get(kinds.SECRET, scope[0], name)
        version = ((secret or {}).get("metadata") or {}).get("resourceVersion")
        if version and version == self._proved:
            return ""
        if rows.action(row.status) == "DELETE":
            found = refusal.why(secret, scope, row)
        else:
            found = upkeep.wrong(secret)
        self._proved = str(version or "") if found == "" else ""
        return found


def _chart(look: observed.Look) -> str:
    """The version that it was made with; else, that is wanted."""
    found = view.chart_version(look.seen.cluster)
    return found or (look.known.chart.version if look.known else "")


def _holder(rt: runtime.Runtime, scope: snapshot.Scope) -> str:
    """Who holds its Lease. When it was renewed is not told: that is often."""
    found = rt.leases.read(*scope)
    if found is None:
        return "there is none"
    holder = (found.get("spec") or {}).get("holderIdentity")
    held = f"held by {holder}" if holder else "nobody holds it"
    if lease.marked_deleted_at(found) is not None:
        held += ", marked for deletion"
    return held
