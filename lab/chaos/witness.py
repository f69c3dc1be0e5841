# SPDX-License-Identifier: Apache-2.0

"""What there is of a cluster, in rows and in objects."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from lab.chaos import orders
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import walk_agreement

#: Seconds between two looks: a crowd looks, and conductors answer.
PAUSE = 5.0
#: Seconds that what is being removed may be there when the row is gone.
LEAVING = 60


@dataclasses.dataclass(frozen=True)
class Scene:
    """What all clusters share.

    :param templates: of the cluster, and of its upgrade
    :param made: is told the UUID of each cluster
    :param left_of: what there is of a cluster whose row is gone
    """

    magnum: magnum_api.Magnum
    agreement: walk_agreement.Agreement
    templates: tuple[str, str]
    unique: Callable[[str], str]
    left_of: Callable[[str], list[str]]
    made: Callable[[str], None]
    credentials_of: Callable[[str], list[dict[str, Any]]]


class Witness:
    """Looks at one cluster."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.name = self.uuid = ""

    def found(self) -> dict[str, Any] | None:
        """The cluster with its groups; None when it is gone.

        Asking for groups that are in progress costs more than the rest.
        """
        magnum = self._scene.magnum
        try:
            row = magnum.find(self.uuid)
            if row is None or row["status"].endswith("_IN_PROGRESS"):
                return row and {**row, "groups": {}}
            return {**row, "groups": magnum.nodegroups(self.uuid)}
        except ka_exceptions.NotFound:
            return None
        except (ka_exceptions.BadRequest, ka_exceptions.HttpError):
            # Magnum's API can't show one that has lost its groups' rows.
            return {"status": "?_IN_PROGRESS", "groups": {}}

    def forgotten(self, found: dict[str, Any] | None) -> bool:
        """Whether the driver never heard of a request.

        Of a create there is no release then. Before a resize Magnum writes
        the group's status, and the cluster's afterwards: no poll comes for a
        group alone.
        """
        row = found or {}
        if row.get("status", "").endswith("_IN_PROGRESS"):
            made = row.get("stack_id")
            return bool(row["status"] == "CREATE_IN_PROGRESS" and not made)
        groups = row.get("groups", {}).values()
        return any(e["status"].endswith("_IN_PROGRESS") for e in groups)

    def named(self) -> str:
        """The UUID of a cluster of that name; empty where there is none."""
        listed = self._scene.magnum.send("GET", "/clusters", None, {})
        if listed.status_code >= 300:
            return ""
        known = {e["name"]: e["uuid"] for e in listed.json()["clusters"]}
        return str(known.get(self.name, ""))

    def why(self, found: dict[str, Any] | None) -> str:
        """The reasons that the user reads."""
        if found is None:
            return "the cluster is gone"
        rows = [found, *found["groups"].values()]
        reasons = {str(each["status_reason"] or "") for each in rows}
        text = " | ".join(sorted(reasons - {""}))
        what = f"{self.name} {found['status']}: no reason"
        self._scene.agreement.check(text, what)
        return text

    def machines(self) -> set[str]:
        """Of the control plane, and of the group that stays."""
        if not self.uuid:
            return set()
        listed = self._scene.agreement.live(kinds.MACHINE, self.release())
        names = map(view.name_of, listed)
        return {each for each in names if f"-{orders.GROUP}-" not in each}

    def release(self) -> str:
        return f"{self.name}-{self.uuid.replace('-', '')[-12:]}"

    def left(self) -> list[str]:
        """What there still is of a cluster whose row is gone."""
        over = time.monotonic() + LEAVING * base.SLOWER
        while left := self._scene.left_of(self.uuid):
            if time.monotonic() > over:
                return left
            time.sleep(PAUSE)
        return []
