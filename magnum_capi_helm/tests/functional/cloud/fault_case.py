# SPDX-License-Identifier: Apache-2.0

"""Words of components about their faults, and the reason that a user reads.

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
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs

#: Seconds between two status polls of the lab's Magnum.
_POLL = 3.0
#: The same of health polls.
_HEALTH_POLL = 10.0
#: Seconds for which health polls share addons, and all other objects.
_ADDONS_AGE = 60.0
_SHARED_AGE = 20.0
#: Polls after which a fault is to be named where nothing else is going on.
_SOON = 2
#: Entries of the health that are well.
_WELL = ("ok", "True", "starting")
#: A service's own sentence in an answer that CAPO repeats.
_SENTENCE = re.compile(r"\"(?:message|faultstring)\": ?\"((?:[^\"\\]|\\.)+)\"")
#: Project and user: what it uses is that of one test.
PROJECT = "other"
#: How a reason goes if CAPO has given up on a machine.
AGAIN = "a new machine (``kubectl delete machine``)"
CONTROL_PLANE, WORKERS, ADDONS = "control plane", "workers", "addons"


@dataclasses.dataclass
class Watch:
    """A fault that is on, until the user can read of it.

    :param said: the component's words; empty until it says any
    :param reads: a pattern of ``status_reason``; empty: the health alone has
        the fault
    :param nodegroup: whose reason it is; None: the cluster's
    :param entry: a pattern of an entry of the health, with its key
    """

    row: fault_table.Row
    cluster: str
    said: Callable[[], str]
    reads: str
    nodegroup: str | None = None
    entry: str = ""
    said_at: float = 0.0
    named_at: float = 0.0


class WatchCase(base.LabCase):
    """Faults whose words, reasons and health entries are kept.

    :cvar uuid: of the cluster of a test that has one
    """

    uuid = ""

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
            self._read_health(each)

    def _missing(self, watches: list[Watch]) -> str:
        return "\n".join(
            f"{each.row.fault}, {each.row.where}: {each.row.said!r}, read "
            f"{self._read(each)}, {self._ill(each)}"
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
        row.status, reason = self._read(watch)
        health = self._ill(watch)
        read, poll = (reason, _POLL) if watch.reads else (health, _HEALTH_POLL)
        if not row.said or not re.search(watch.reads or watch.entry, read):
            return False
        watch.named_at = time.monotonic()
        row.reason = reason
        late = watch.named_at - watch.said_at - row.silent
        row.polls = math.ceil(late / poll) if late > base.POLL else 1
        return True

    def _ill(self, watch: Watch) -> str:
        """Return the health, and its entries that are not well."""
        found = self.magnum.find(watch.cluster) or {}
        entries = found.get("health_status_reason") or {}
        ill = [f"{key}: {e}" for key, e in entries.items() if e not in _WELL]
        return ": ".join(
            filter(None, (found.get("health_status"), "; ".join(ill)))
        )

    def _read_health(self, watch: Watch) -> None:
        """Keep the health of a poll that came after the fault was named."""

        def seen() -> bool:
            watch.row.health = self._ill(watch)
            late = time.monotonic() - watch.named_at
            age = _ADDONS_AGE if watch.row.where == ADDONS else _SHARED_AGE
            is_new = late > age + _HEALTH_POLL + base.POLL
            found = re.search(watch.entry, watch.row.health)
            return found is not None and (bool(watch.entry) or is_new)

        self.until(seen, 120, lambda: f"{watch.entry}: {self._ill(watch)}")

    def until_over(self, watch: Watch, seconds: float = 120) -> None:
        """Wait until a reason is gone, and the entry of the health."""
        began = time.monotonic()
        if watch.reads:
            self.until(
                lambda: not re.search(watch.reads, self._read(watch)[1]),
                seconds,
                lambda: f"still {self._read(watch)}",
            )
            watch.row.over = f"gone after {time.monotonic() - began:.0f} s"
        if watch.entry:
            self.until(
                lambda: not re.search(watch.entry, self._ill(watch)),
                seconds,
                lambda: f"still {self._ill(watch)}",
            )
        if not watch.reads:
            watch.row.over = f"gone after {time.monotonic() - began:.0f} s"

    def keep(self, *watches: Watch) -> None:
        """Keep rows for the table."""
        with (programs.LAB / fault_table.ROWS).open("a") as stream:
            for each in watches:
                stream.write(json.dumps(vars(each.row)) + "\n")

    def watch(
        self, fault: str, said: Callable[[], str], reads: str, **fields: Any
    ) -> Watch:
        """Return a fault of the cluster's workers, unless fields differ."""
        row = fault_table.Row(fault, fields.pop("where", WORKERS))
        row.silent = fields.pop("silent", 0)
        return Watch(row, self.uuid, said, reads, **fields)

    def finish(self, *watches: Watch, how: str = "") -> None:
        """Wait until the reasons are gone, and keep the rows."""
        for each in watches:
            self.until_over(each)
            each.row.over += how
        self.keep(*watches)


class FaultCase(WatchCase):
    """Faults of real services.

    :cvar project: and user
    """

    project = PROJECT

    def setUp(self) -> None:
        super().setUp()
        session = magnum_api.keystone_session(self.project)
        self.magnum = magnum_api.Magnum(session)
        self.namespace = f"magnum-{session.get_project_id()}"
        self.mine: Any = faults.connect(self.project)

    def on(self, *names: str, left: int = 0) -> None:
        """Make faults; they end with the test at the latest."""
        for name in names:
            self.addCleanup(faults.end, name, self.project)
            faults.make(name, self.project, left)

    def off(self, *names: str) -> None:
        """End faults."""
        for name in names:
            faults.end(name, self.project)

    def template(self, **fields: Any) -> str:
        """Make a template of the project."""
        return super().template(keypair_id=self.project, **fields)

    def release(self, cluster: str) -> str:
        """Wait for the release of a cluster."""
        return str(
            self.until(
                lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
            )
        )

    # What the cloud says

    def refused(self, owner: str, phrase: str) -> Callable[[], str]:
        """Give a service's answer to CAPO, as CAPO has it.

        client-go drops events of an object that has many: the condition of
        the network has the last error.

        :param owner: begins the names of the objects that it is about
        """

        def said() -> str:
            found = [
                (each["involvedObject"]["name"], str(each.get("message")))
                for each in self.plane.list(kinds.EVENT, self.namespace)
            ]
            found += [
                (view.name_of(each), conditions.merged(each)["Ready"].message)
                for each in self.plane.list(
                    kinds.OPENSTACK_CLUSTER, self.namespace
                )
            ]
            for name, message in found:
                if name.startswith(owner) and re.search(
                    phrase, message, re.IGNORECASE
                ):
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

    def logged(self, service: str, phrase: str) -> Callable[[], str]:
        """Give an error that a service writes into its own log alone.

        :param phrase: a pattern of a whole line; ``error`` names the words
        """
        log = programs.LAB / "log" / f"{service}.log"
        before = log.stat().st_size

        def said() -> str:
            with log.open(errors="replace") as stream:
                stream.seek(before)
                found = re.search(phrase, stream.read())
            return f"{found['error']} (in its log)" if found else ""

        return said

    def mute(self, owner: str, phrase: str) -> Callable[[], str]:
        """Give an error of CAPO that no object has."""
        quoted = r'(?:[^"\\]|\\.)*'
        error = f"(?P<error>{quoted}{phrase}{quoted})"
        return self.logged("capo", rf'err="{error}".*name="{owner}')

    # Cluster API

    def ask(self, cluster: str, count: int, nodegroup: str = "") -> None:
        """Ask for a size."""
        body: dict[str, Any] = {"node_count": count}
        if nodegroup:
            body["nodegroup"] = nodegroup
        self.magnum.call("POST", f"/clusters/{cluster}/actions/resize", body)

    def replace(self, owner: str) -> None:
        """Delete Machines, as an operator does: CAPO gave up on them."""
        for each in self.plane.list(kinds.MACHINE, self.namespace):
            name = view.name_of(each)
            if name.startswith(owner):
                self.plane.delete(kinds.MACHINE, self.namespace, name)


class OneCluster(FaultCase):
    """A test with one cluster."""

    name = ""

    def make(self, template: str = "", **fields: Any) -> None:
        """Make the cluster of the test."""
        self.uuid = self.cluster(template or self.template(), **fields)
        self.name = self.release(self.uuid)

    def complete(self, action: str) -> None:
        """Wait until nothing is left of any fault."""
        done = self.until_status(
            self.uuid, (f"{action}_COMPLETE", f"{action}_FAILED")
        )
        self.assertEqual(
            (f"{action}_COMPLETE", None),
            (done["status"], done["status_reason"]),
        )
