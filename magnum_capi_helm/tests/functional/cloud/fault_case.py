# SPDX-License-Identifier: Apache-2.0

"""The cloud's words about its faults, and the reason that a user reads.

The tests keep rows of a table; ``lab/fault_table.py`` makes a page of them.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import json
import math
import re
import time
from typing import Any

from lab import fault_table
from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs

#: Seconds between two status polls of the lab's Magnum.
_POLL = 3.0
#: Polls after which a fault is to be named where nothing else is going on.
_SOON = 2
#: A service's own sentence in an answer that CAPO repeats.
_SENTENCE = re.compile(r"\"(?:message|faultstring)\": ?\"((?:[^\"\\]|\\.)+)\"")
#: Project and user: what it uses is that of one test.
PROJECT = "other"
CONTROL_PLANE, WORKERS = "control plane", "workers"


@dataclasses.dataclass
class Watch:
    """A fault that is on, until the user can read of it.

    :param said: the cloud's words; empty until it says any
    :param reads: a pattern of ``status_reason``
    :param nodegroup: whose reason it is; None: the cluster's
    """

    row: fault_table.Row
    cluster: str
    said: Callable[[], str]
    reads: str
    nodegroup: str | None = None
    said_at: float = 0.0


class FaultCase(base.LabCase):
    """Faults of real services."""

    def setUp(self) -> None:
        super().setUp()
        session = magnum_api.keystone_session(PROJECT)
        self.magnum = magnum_api.Magnum(session)
        self.namespace = f"magnum-{session.get_project_id()}"
        self.mine: Any = faults.connect(PROJECT)

    def on(self, *names: str, left: int = 0) -> None:
        """Make faults; they end with the test at the latest."""
        for name in names:
            self.addCleanup(faults.end, name, PROJECT)
            faults.make(name, PROJECT, left)

    def off(self, *names: str) -> None:
        """End faults."""
        for name in names:
            faults.end(name, PROJECT)

    def template(self, **fields: Any) -> str:
        """Make a template of the project."""
        return super().template(keypair_id=PROJECT, **fields)

    def release(self, cluster: str) -> str:
        """Wait for the release of a cluster."""
        return str(
            self.until(
                lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
            )
        )

    # What the cloud says

    def refused(self, owner: str, phrase: str) -> Callable[[], str]:
        """Give a service's answer to CAPO, as CAPO's events have it.

        :param owner: begins the names of the objects that it is about
        """

        def said() -> str:
            for each in self.plane.list(kinds.EVENT, self.namespace):
                name = each["involvedObject"]["name"]
                message = str(each.get("message") or "")
                if name.startswith(owner) and re.search(phrase, message):
                    inner = _SENTENCE.search(message)
                    return inner[1] if inner else message
            return ""

        return said

    def in_error(self, owner: str) -> Callable[[], str]:
        """Give Nova's fault of a server."""

        def said() -> str:
            for each in self.mine.compute.servers(status="ERROR"):
                if each.name.startswith(owner) and each.fault:
                    return str(each.fault["message"])
            return ""

        return said

    def no_volume(self, owner: str) -> Callable[[], str]:
        """Give Cinder's message about a volume."""

        def said() -> str:
            volumes = self.mine.block_storage
            for each in volumes.volumes():
                if each.status != "error" or not each.name.startswith(owner):
                    continue
                answer = volumes.get(
                    "/messages",
                    params={"resource_uuid": each.id},
                    microversion="3.5",
                ).json()["messages"]
                if answer:
                    return str(answer[0]["user_message"])
            return ""

        return said

    def balancer(self, release: str) -> Any:
        """Return the load balancer of a cluster's API, if there is one."""
        found = self.mine.load_balancer.load_balancers()
        return next((each for each in found if release in each.name), None)

    def balancer_failed(self, release: str) -> Callable[[], str]:
        """Give the state of a load balancer: Octavia says no more."""

        def said() -> str:
            found = self.balancer(release)
            if found is None or found.provisioning_status != "ERROR":
                return ""
            return "provisioning_status: ERROR"

        return said

    # What the user reads

    def until_named(self, *watches: Watch, seconds: float = 120) -> None:
        """Wait until each fault is said and named, and keep both."""
        open_ = list(watches)

        def all_named() -> bool:
            open_[:] = [each for each in open_ if not self._named(each)]
            return not open_

        self.until(all_named, seconds, lambda: self._missing(open_))
        for each in watches:
            most = _SOON * base.SLOWER
            self.assertLessEqual(each.row.polls, most, str(each.row))

    def _missing(self, watches: list[Watch]) -> str:
        return "\n".join(
            f"{each.row.fault}, {each.row.where}: {each.row.said!r}, read "
            f"{self._read(each)}"
            for each in watches
        )

    def _read(self, watch: Watch) -> tuple[str, str]:
        if watch.nodegroup:
            groups = self.magnum.nodegroups(watch.cluster)
            found = groups.get(watch.nodegroup, {})
        else:
            found = self.magnum.find(watch.cluster) or {}
        return found.get("status", ""), found.get("status_reason") or ""

    def _named(self, watch: Watch) -> bool:
        row = watch.row
        if not row.said:
            row.said, watch.said_at = watch.said(), time.monotonic()
        status, reason = self._read(watch)
        if not row.said or not re.search(watch.reads, reason):
            return False
        late = time.monotonic() - watch.said_at
        row.status, row.reason = status, reason
        row.polls = math.ceil(late / _POLL) if late > base.POLL else 1
        return True

    def until_over(self, watch: Watch, seconds: float = 120) -> None:
        """Wait until a reason is gone."""
        began = time.monotonic()
        self.until(
            lambda: not re.search(watch.reads, self._read(watch)[1]),
            seconds,
            lambda: f"still {self._read(watch)}",
        )
        watch.row.over = f"gone after {time.monotonic() - began:.0f} s"

    def keep(self, *watches: Watch) -> None:
        """Keep rows for the table."""
        with (programs.LAB / fault_table.ROWS).open("a") as stream:
            for each in watches:
                stream.write(json.dumps(vars(each.row)) + "\n")

    # Cluster API

    def replace(self, owner: str) -> None:
        """Delete Machines, as an operator does: CAPO gave up on them."""
        for each in self.plane.list(kinds.MACHINE, self.namespace):
            name = view.name_of(each)
            if name.startswith(owner):
                self.plane.delete(kinds.MACHINE, self.namespace, name)
