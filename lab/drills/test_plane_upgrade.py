# SPDX-License-Identifier: Apache-2.0

"""Cluster API is upgraded below living clusters."""

from __future__ import annotations

import functools
import json
import re
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from lab.drills import planes
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import programs

_FROM, _TO = "1.13", "1.14"
_MANAGERS = ("capi-core", "capi-bootstrap", "capi-kcp")
#: Minutes that an operation may take, and seconds that the maintenance does:
#: more than that.
_LIMIT = 4
_FROZEN = _LIMIT * 60 + 15
_AWAY = 60
_THAW = ("management-cluster", "thaw", "--apply")
_REASON = f"upgrade of Cluster API to {_TO} until 14:00 UTC"
_VERSION = re.compile(r'"[Ss]tarting manager".* version="?(v[\d.]+)')
#: What any poll may change in a row, and what else a refused resize does.
_POLLED = {"updated_at", "health_status", "health_status_reason"}
_SAID = {"status", "status_reason", "faults", *_POLLED}
#: Building is not among what the commands do.
_LONGEST = 900


class PlaneUpgradeTest(planes.PlaneCase):
    """Three clusters, of which one is being made and one being resized."""

    record = "plane-upgrade"

    def setUp(self) -> None:
        super().setUp()
        # Last of all, when no cluster is left.
        self.addCleanup(self._managers, _FROM)
        self.configure(operation_timeout=str(_LIMIT))

    def test_frozen_upgraded_thawed(self) -> None:
        self._begin()
        self._frozen()
        self._refuses()
        self._upgraded()
        self._thawed()
        self._works_on()

    # Before

    def _begin(self) -> None:
        # It is deleted after the cluster that has it by then.
        self.newer = self.template(image_id="ubuntu-v1.35.1")
        self.template_old = self.template()
        asked = [
            self.cluster(self.template_old, name=self.unique(name))
            for name in ("shop", "web")
        ]
        for each in asked:
            row = self.until_status(each, ("CREATE_COMPLETE", "CREATE_FAILED"))
            self.assertEqual("CREATE_COMPLETE", row["status"], str(row))
        self.shop, self.web = asked
        self.before = {each: self.machines(each) for each in asked}
        self.tell(f"Cluster API {self._versions()}; clusters shop and web are")
        self.tell(f"  complete; updates and creates may take {_LIMIT} minutes")

    def _frozen(self) -> None:
        self.new = self.cluster(
            self.template_old, name=self.unique("new"), create_timeout=_LIMIT
        )
        self.until(self._begun, 60)
        self.ask(self.web, 3)
        self.until_status(self.web, ("UPDATE_IN_PROGRESS",), 120)
        self.tell("web is being resized from 1 to 3, new is being made")
        words = ("freeze", "--reason", _REASON, "--apply")
        self.addCleanup(programs.command, *_THAW)
        found = json.loads(
            programs.command(
                "management-cluster", *words, "-f", "json", seconds=600
            )
        )[0]
        self.since = time.monotonic()
        self.assertEqual("frozen", found["State"])
        self.assertEqual("nobody", found["Still at work"])
        self.tell(
            "$ magnum-capi-helm management-cluster freeze --reason "
            f'"{_REASON}" --apply'
        )
        self.tell(f"  {found['State']}, still at work: nobody")
        self.tell(f"  {self._statuses()}")

    def _begun(self) -> bool:
        """Whether there is something of the new cluster."""
        release = self.row(self.new)["stack_id"]
        return bool(
            release and self.plane.get(kinds.CLUSTER, self.namespace, release)
        )

    # While it is frozen

    def _refuses(self) -> None:
        before, groups = self._state(self.shop)
        error = self.assertRaises(
            ka_exceptions.HttpError, self.upgrade, self.shop, self.newer
        )
        # So that no client takes the first dot for the end.
        said = str(error).replace("\N{ONE DOT LEADER}", ".")
        self.assertIn(_REASON, said)
        after, same = self._state(self.shop)
        changed = {key for key in after if after[key] != before.get(key)}
        self.assertLessEqual(changed, _POLLED)
        self.assertEqual(groups, same)
        self.tell("$ openstack coe cluster upgrade shop TEMPLATE")
        self.tell(f"  {said.partition(' (HTTP')[0]}; no row has changed")
        self.ask(self.shop, 2)
        row = self.until_status(self.shop, ("UPDATE_FAILED",), 60)
        self.assertIn(_REASON, row["status_reason"])
        after, groups_after = self._state(self.shop)
        changed = {key for key in after if after[key] != before.get(key)}
        self.assertLessEqual(changed, _SAID)
        for name, group in groups.items():
            self.assertEqual(
                group["node_count"], groups_after[name]["node_count"]
            )
        self.tell("$ openstack coe cluster resize shop 2")
        self.tell(f"  UPDATE_FAILED: {row['status_reason']};")
        self.tell(f"  node_count is {row['node_count']} as before")

    def _upgraded(self) -> None:
        for name in _MANAGERS:
            programs.lab("stop", name)
        self.tell("Cluster API's managers are stopped")
        self._watch(_AWAY)
        before = self._generations()
        self._managers(_TO)
        now = self._generations()
        changed = sum(before[name] != now[name] for name in before)
        self.tell(f"CRDs and managers of {self._versions()} take their place")
        self.tell("  (the lab's, not clusterctl upgrade apply):")
        self.tell(f"  {changed} of {len(now)} CRDs are others")
        self._watch(_FROZEN - (time.monotonic() - self.since))

    def _watch(self, seconds: float) -> None:
        """Nobody fails, but shop, which has been refused something."""
        seen: set[str] = set()
        began = time.monotonic()
        while True:
            for each in (self.web, self.new):
                row = self.row(each)
                self.assertNotIn("FAILED", row["status"], str(row))
                seen.add(f"{row['status']}: {row['status_reason']}")
            took = time.monotonic() - began
            if took > seconds:
                break
            time.sleep(5)
        self.tell(f"after {took:.0f} s: {self._statuses()}")
        for each in sorted(seen):
            self.tell(f"  {each}")

    # Afterwards

    def _thawed(self) -> None:
        frozen = time.monotonic() - self.since
        programs.command(*_THAW)
        self.tell(
            "$ magnum-capi-helm management-cluster thaw --apply, after "
            f"{frozen:.0f} s"
        )
        began = time.monotonic()
        everyone = (self.shop, self.web, self.new)
        for each in everyone:
            self.until(functools.partial(self._fine, each), 240)
        took = time.monotonic() - began
        self.tell(f"after {took:.0f} s: {self._statuses()}")
        self.assertEqual(self.before[self.shop], self.machines(self.shop))
        now = self.machines(self.web)
        self.assertLess(self.before[self.web].items(), now.items())
        self.assertEqual(4, len(now))
        self.before = {each: self.machines(each) for each in everyone}
        self.tell("shop has the machines of before, web two more")

    def _fine(self, cluster: str) -> bool:
        row = self.row(cluster)
        self.assertNotEqual("CREATE_FAILED", row["status"], str(row))
        complete = str(row["status"]).endswith("_COMPLETE")
        return complete and str(row["health_status"]) == "HEALTHY"

    def _works_on(self) -> None:
        self.resize(self.shop, 2)
        now = self.machines(self.shop)
        self.assertLess(self.before[self.shop].items(), now.items())
        self.assertEqual(3, len(now))
        self.tell("$ openstack coe cluster resize shop 2: UPDATE_COMPLETE,")
        self.tell("  the machines of before and one more")
        began = time.monotonic()
        self.upgrade(self.new, self.newer)
        row = self.ended(self.new)
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
        self.assertEqual("v1.35.1", row["coe_version"])
        machines = self.machines(self.new)
        self.assertEqual(set(), machines.keys() & self.before[self.new].keys())
        self.tell("$ openstack coe cluster upgrade new TEMPLATE, to v1.35.1:")
        self.tell(
            f"  UPDATE_COMPLETE after {time.monotonic() - began:.0f} s, all "
            f"{len(machines)} machines are new"
        )
        self.assertEqual(self.before[self.web], self.machines(self.web))
        self.assertEqual(now, self.machines(self.shop))
        self.tell("no machine of shop and web was replaced")

    # Below

    def _managers(self, release: str) -> None:
        """Those of this release, and its CRDs before."""
        programs.lab("up", "--cluster-api", release, seconds=_LONGEST)

    def _versions(self) -> str:
        """What the managers say that they are."""
        logs = [programs.LAB / "log" / f"{name}.log" for name in _MANAGERS]
        found = {
            _VERSION.findall(each.read_text(errors="replace"))[-1]
            for each in logs
        }
        return ", ".join(sorted(found))

    def _generations(self) -> dict[str, int]:
        """Of each CRD of Cluster API's."""
        listed = json.loads(planes.kubectl("get", "crd", "-o", "json"))
        return {
            each["metadata"]["name"]: each["metadata"]["generation"]
            for each in listed["items"]
            if each["spec"]["group"]
            in (
                "cluster.x-k8s.io",
                "bootstrap.cluster.x-k8s.io",
                "controlplane.cluster.x-k8s.io",
            )
        }

    def _state(self, cluster: str) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.row(cluster), self.magnum.nodegroups(cluster)

    def _statuses(self) -> str:
        """Of all clusters, and their health."""
        rows = [self.row(e) for e in (self.shop, self.web, self.new)]
        return "; ".join(
            f"{row['name'].partition('-')[0]} {row['status']} "
            f"{row['health_status']}"
            for row in rows
        )
