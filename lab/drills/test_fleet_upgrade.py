# SPDX-License-Identifier: Apache-2.0

"""A fleet is upgraded in two windows, beside faults.

``DRILL_CLUSTERS`` says how many clusters there are, at least ten.
"""

from __future__ import annotations

import calendar
from collections.abc import Collection, Mapping
import json
import pathlib
import signal
import time
from typing import Any

from lab import processes
from lab.drills import failing_helm
from lab.drills import fleet
from lab.drills import transitions
from lab.drills import troubles
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import project

_COUNT = fleet.size(200)
#: CAPO asks OpenStack every second for each cluster that is not ready: more
#: of them at once take longer than one after the other.
_PARALLEL = max(1, min(4, _COUNT // 8))
#: Minutes of the first window, which ends before the fleet is upgraded.
_FIRST = max(2, _COUNT // 25)
_DAY = 1440
_QUOTA = "max_clusters_per_project"
_CHANNEL = "upgrade_channel"
_OLD, _NEW = "v1.34.2", "v1.34.3"
_LABELS = {_CHANNEL: "stable", **fleet.FEW_ADDONS}
#: Fields that the administrator's template has from the users'.
_COPIED = (
    "coe",
    "external_network_id",
    "fixed_network",
    "fixed_subnet",
    "flavor_id",
    "labels",
    "master_flavor_id",
    "master_lb_enabled",
    "network_driver",
)
#: Seconds that a request may be on its way when the window ends.
_ON_ITS_WAY = 90
#: Seconds of a frozen controller, and without a fault.
_FROZEN, _CALM = 20.0, 30.0
_ORDER = ("cluster", "upgrade", "--all")
_BEGUN, _CHANGED, _FAILED = "begun", "changed", "failed"


class FleetUpgradeTest(fleet.FleetCase):
    """One is unhealthy, one opted out, and helm fails for two."""

    record = "fleet-upgrade"

    def test_a_fleet_is_upgraded_in_two_windows(self) -> None:
        self._operate()
        # Deleted after the clusters, which have the new one by then.
        self._offer()
        self._make()
        self._show()
        self._try_outside()
        self._stop_after_failures()
        self._upgrade_in_windows()
        self._repair()
        self._judge_clusters()
        self._judge_record()

    def _operate(self) -> None:
        """Magnum with a helm that can fail, and a record of statuses."""
        folder = pathlib.Path(self.create_tempfiles([("x", "")])[0]).parent
        self.helm = failing_helm.FailingHelm(folder)
        base.write_override({"quotas": {_QUOTA: str(2 * _COUNT)}})
        self.addCleanup(self.reset)
        start_magnum(self.helm)
        self.transitions = transitions.Transitions()
        self.addCleanup(self.transitions.close)
        self.records = folder / "upgrades.jsonl"
        self.runs = 0

    def _make(self) -> None:
        self.assertEqual({}, self.machines(), "left by others")
        width = len(str(_COUNT))
        names = [f"fleet-{n:0{width}}" for n in range(1, _COUNT + 1)]
        self.ill, self.out, *self.broken = names[:4]
        labels = {
            self.ill: {"auto_healing_enabled": "false"},
            self.out: {_CHANNEL: ""},
        }
        fields = {
            name: {"labels": each, "merge_labels": True}
            for name, each in labels.items()
        }
        self.make(names, self.old, _PARALLEL, fields)
        self.until_all("health_status", "HEALTHY", 600)
        self.before = self.machines()
        self.assertEqual(2 * _COUNT, len(self.before))
        self.tell(f"{_COUNT} clusters of {_OLD}, {len(self.before)} machines")
        self.tell(f"  {self.out} has the label {_CHANNEL}=''")
        self._stop_worker()

    def _stop_worker(self) -> None:
        """Nova's name of a Machine's server is the Machine's."""
        selector = (
            f"{view.CLUSTER_NAME_LABEL}={self.release[self.ill]},"
            f"!{view.CONTROL_PLANE_LABEL}"
        )
        [worker] = self.plane.list(kinds.MACHINE, self.namespace, selector)
        self.server = view.name_of(worker)
        programs.openstack("server", "stop", self.server)
        self.until_health(self.fleet[self.ill], "UNHEALTHY")
        self.tell(f"  a server of {self.ill} is stopped: UNHEALTHY")

    def _offer(self) -> None:
        """The administrator has an image and a template for everyone."""
        admin = magnum_api.Magnum(magnum_api.keystone_session("admin"))
        cloud = troubles.Cloud(admin.session)
        image = cloud.image(f"ubuntu-{_NEW}", _NEW, "public")
        self.addCleanup(cloud.forget_image, image)
        self.old = self.template(labels=_LABELS, **self._network())
        known = self.magnum.call("GET", f"/clustertemplates/{self.old}")
        body = {each: known[each] for each in _COPIED}
        body |= {"name": f"fleet-{_NEW}", "image_id": image, "public": True}
        made = admin.call("POST", "/clustertemplates", body)
        self.new = str(made["uuid"])
        self.addCleanup(admin.call, "DELETE", f"/clustertemplates/{self.new}")
        self.tell(f"  a public template of the channel has {_NEW}")

    def _network(self) -> dict[str, str]:
        """Return fields of a network that all clusters share."""
        cloud = project.Project(self)
        subnet = cloud.network("fleet", cidr="10.64.0.0/16")
        cloud.router("fleet", subnet)
        return {
            "fixed_network": str(subnet["network_id"]),
            "fixed_subnet": str(subnet["id"]),
        }

    # What the operator types

    def _show(self) -> None:
        """The dry run writes nothing."""
        began = time.time()
        said = self.typed(*_ORDER, code=1)
        results = said.of("Result")
        self.assertEqual("refused", results.pop(self.ill))
        self.assertEqual("nothing to do", results.pop(self.out))
        self.assertEqual({"would change"}, set(results.values()))
        self.assertEqual([], self.transitions.since(began))

    def _apply(self, *words: str, code: int) -> tuple[fleet.Said, float]:
        """Apply with the record; the time at which it began."""
        began = time.time()
        order = (*_ORDER, "--apply", "--record", str(self.records))
        self.runs += 1
        return self.typed(*order, *words, code=code), began

    def _try_outside(self) -> None:
        """The window is that of another hour."""
        window = _window(120, 180)
        said, began = self._apply(*window, code=0)
        self.assertEqual({"postponed"}, set(said.of("Result").values()))
        self.assertEqual([], self.transitions.since(began))

    def _stop_after_failures(self) -> None:
        """Two fail, and nearly all others are not tried."""
        self.helm.fail(self.release[each] for each in self.broken)
        self.tell(f"helm fails for {' and '.join(self.broken)}")
        limits = ("--parallel", "2", "--stop-after", "2")
        said, began = self._apply(*limits, code=1)
        results = said.of("Result")
        for name in self.broken:
            self.assertEqual(_FAILED, results[name], name)
            self.assertIn(failing_helm.TEXT, said.of("Detail")[name])
        begun = self._begun(began)
        # The other one may have begun between the two failures.
        self.assertLessEqual(len(begun), 3, begun)
        self.assertEqual(
            _COUNT - len(begun | {self.ill, self.out}),
            list(results.values()).count("not tried"),
        )
        self._judge_parallel(began, 2)
        self._recover(self.broken[1], [self.release[self.broken[0]]])

    def _recover(self, name: str, failing: Collection[str] = ()) -> None:
        """As the guide says: the reason goes, and a resize to the same.

        :param failing: releases for which helm fails from now on
        """
        self.helm.fail(failing)
        path = f"/clusters/{self.fleet[name]}/actions/resize"
        self.magnum.call("POST", path, {"node_count": 1})
        self.until(lambda: self._is_complete(name), 300)
        self.tell(f"helm works for {name} again, a resize to 1: complete")

    def _is_complete(self, name: str) -> bool:
        return bool(self.row(name)["status"] == "UPDATE_COMPLETE")

    def _upgrade_in_windows(self) -> None:
        """The first window ends in the middle."""
        limits = ("--parallel", str(_PARALLEL), "--stop-after", "3")
        for minutes, postponed in ((_FIRST, True), (_DAY - 1, False)):
            window = _window(0, minutes)
            with _Faults(self.helm) as faults:
                said, began = self._apply(*window, *limits, code=1)
            self.assertIsNone(faults.problem)
            self.tell(f"  meanwhile: {faults.seen}")
            results = said.of("Result")
            self.assertEqual(postponed, "postponed" in results.values())
            self.assertIn(_CHANGED, results.values())
            self.assertEqual("refused", results[self.ill])
            self.assertEqual("nothing to do", results[self.out])
            self.assertEqual("refused", results[self.broken[0]])
            self._judge_window(began, minutes)
            self._judge_parallel(began, _PARALLEL)

    def _repair(self) -> None:
        """The operator repairs two clusters, and the command goes on."""
        self._recover(self.broken[0])
        programs.openstack("server", "start", self.server)
        self.until_health(self.fleet[self.ill], "HEALTHY")
        self.tell(f"the server of {self.ill} runs again: HEALTHY")
        said, _ = self._apply(code=0)
        self.assertEqual(_CHANGED, said.of("Result")[self.ill])
        said = self.typed(*_ORDER)
        self.assertEqual({"nothing to do"}, set(said.of("Result").values()))

    # Judging

    def _begun(self, moment: float) -> set[str]:
        """Names of clusters whose upgrade has begun, as the database says."""
        names = {uuid: name for name, uuid in self.fleet.items()}
        found = self.transitions.since(moment)
        return {names[each.uuid] for each in found if each.begins}

    def _judge_window(self, began: float, minutes: int) -> None:
        """No upgrade begins after the end of the window."""
        end = began - began % 60 + 60 * minutes
        late = [
            each.at - end
            for each in self.transitions.since(began)
            if each.begins
        ]
        self.assertLess(max(late), _ON_ITS_WAY)
        recorded = [_moment(e) for e in self._lines(began, _BEGUN)]
        self.assertLess(max(recorded), end)
        self.tell(
            f"  {len(late)} begun, the last one {-max(late):.0f} s before the"
            " window's end"
        )

    def _judge_parallel(self, began: float, limit: int) -> None:
        """No more at once than the option says."""
        most = transitions.most_at_once(self.transitions.since(began))
        self.assertLessEqual(most, limit)
        self.tell(f"  at most {most} in progress at a time")

    def _judge_clusters(self) -> None:
        """Each is at the new version, but for that which opted out."""
        rows = {name: self.row(name) for name in self.fleet}
        kept = rows.pop(self.out)
        self.assertEqual(
            ("CREATE_COMPLETE", self.old, _OLD), _told(kept), self.out
        )
        for name, row in rows.items():
            self.assertEqual(
                ("UPDATE_COMPLETE", self.new, _NEW), _told(row), name
            )
        now = self.machines()
        self.assertEqual(len(self.before), len(now))
        stayed = self.before.keys() & now.keys()
        self.assertEqual(
            {self.release[self.out]}, {self.before[each] for each in stayed}
        )
        self.assertEqual(2, len(stayed))
        begun = [e.uuid for e in self.transitions.since(0) if e.begins]
        self.assertNotIn(self.fleet[self.out], begun)
        again = {n for n, u in self.fleet.items() if begun.count(u) > 1}
        self.assertEqual(set(self.broken), again)
        self.tell(
            f"{len(rows)} clusters have {_NEW}, {self.out} has {_OLD} and its"
            f" two machines; none began twice but {' and '.join(self.broken)}"
        )

    def _judge_record(self) -> None:
        """It has all results, and all machines that were replaced."""
        lines = self._lines()
        results = [each for each in lines if each["result"] != _BEGUN]
        for name in self.fleet:
            mine = [each for each in results if each["name"] == name]
            self.assertEqual(self.runs, len(mine), name)
            for each in mine:
                text = each["detail"]
                self.assertTrue(text or each["result"] == "nothing to do")
        begun, ended = (
            [each["name"] for each in lines if each["result"] in wanted]
            for wanted in ((_BEGUN,), (_CHANGED, _FAILED))
        )
        self.assertEqual(sorted(begun), sorted(ended))
        replaced = sum(each.get("machines", 0) for each in results)
        repaired = 2 * len(self.broken)
        self.assertEqual(len(self.before) - 2 - repaired, replaced)
        self.tell(
            f"the record has {len(lines)} lines of {self.runs} runs, and "
            f"{replaced} machines; a resize replaced {repaired}"
        )

    def _lines(self, since: float = 0, result: str = "") -> list[Any]:
        text = self.records.read_text()
        lines = [json.loads(each) for each in text.splitlines()]
        return [
            each
            for each in lines
            if _moment(each) >= int(since)
            and (not result or each["result"] == result)
        ]


class _Faults(beside.Beside):
    """Cluster API or CAPO is frozen, or the conductor dies, in turn.

    :param helm: the conductor has it again
    """

    def __init__(self, helm: failing_helm.FailingHelm) -> None:
        super().__init__(_CALM / 3)
        self._helm = helm
        self._made: list[str] = []
        self.problem: Exception | None = None

    @property
    def seen(self) -> str:
        """Return the faults in words."""
        counts = {each: self._made.count(each) for each in self._made}
        return ", ".join(f"{n} x {each}" for each, n in counts.items())

    def look(self) -> bool:
        """Make the next fault."""
        turn = ("capo", "magnum", "capi-core")[len(self._made) % 3]
        try:
            if turn == "magnum":
                programs.lab("stop", "magnum", "--kill")
                start_magnum(self._helm)
                self._made.append("conductor killed")
            else:
                _send(turn, signal.SIGSTOP)
                self._over.wait(_FROZEN)
                _send(turn, signal.SIGCONT)
                self._made.append(f"{turn} frozen")
        except Exception as problem:
            self.problem = problem
            return False
        self._over.wait(_CALM)
        return True


def _send(service: str, number: signal.Signals) -> None:
    """Send a signal to a service of the lab."""
    record = processes.read(programs.LAB / "run" / f"{service}.pid")
    if record is not None:
        processes.send(record, number)


def start_magnum(helm: failing_helm.FailingHelm) -> None:
    """Start Magnum with another helm."""
    programs.lab("restart", "magnum", "--helm", str(helm.program))


def _window(first: int, last: int) -> tuple[str, ...]:
    """Return the options of a window, in minutes from now."""
    now = time.time()
    begin, end = (
        time.strftime("%H:%M", time.gmtime(now + 60 * each))
        for each in (first, last)
    )
    return "--from", begin, "--to", end


def _moment(line: Mapping[str, str]) -> float:
    """Return the seconds since 1970 of a line of the record."""
    found = time.strptime(line["time"], "%Y-%m-%dT%H:%M:%SZ")
    return float(calendar.timegm(found))


def _told(row: Mapping[str, Any]) -> tuple[str, str, str]:
    version = f"v{row['coe_version'].removeprefix('v')}"
    return row["status"], row["cluster_template_id"], version
