# SPDX-License-Identifier: Apache-2.0

"""A rollout over a fleet, the cloud's new CA, and new certificates."""

from __future__ import annotations

import base64
import collections
from collections.abc import Callable
import os
import signal
import subprocess
from typing import Any

from lab.drills import authorities
from lab.drills import fleet
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import programs

_COUNT, _BATCH, _AT_A_TIME = fleet.size(20), 5, 4
#: Those that get the new CA first.
_FIRST = _COUNT // 2
_VALUES = "addons: {metricsServer: {release: {values: {replicas: 2}}}}\n"
_ORDER = ("cluster", "apply", "--values-files", "--all")
_NODES = "nodes still trust the old CA"


class RolloutTest(fleet.FleetCase):
    """Twenty clusters, and what their operator changes on all of them."""

    record = "rollout"

    def test_a_fleet_gets_values_and_a_ca(self) -> None:
        self.old = authorities.make("old")
        self.new = authorities.make("new")
        self._operate()
        named = [f"fleet-{number:02}" for number in range(1, _COUNT + 1)]
        self.make(named, self.template(), _BATCH)
        self.tell(f"{_COUNT} clusters are complete, {_BATCH} at a time")
        self.before = self.machines()
        self.assertEqual(2 * _COUNT, len(self.before))
        self._roll_out()
        self._change_ca()
        self._renew(named[0])

    def _operate(self, values: str = "", new_ca: str = "") -> None:
        """Magnum with the operator's files as they are by now."""
        files = self.create_tempfiles(
            [("ca", new_ca or self.old), ("values", values or "{}\n")]
        )
        self.configure_sections(
            {
                "drivers": {"openstack_ca_file": files[0]},
                "capi_helm": {"values_files": files[1]},
            }
        )

    # Values

    def _roll_out(self) -> None:
        """It is killed half way, and what is missing is done."""
        revisions = self.revisions()
        self._operate(_VALUES)
        self.tell(f"[capi_helm] values_files: {_VALUES.strip()}")
        shown = self.typed(*_ORDER)
        self.assertEqual({"would change"}, set(shown.of("Result").values()))
        self.assertEqual(revisions, self.revisions())
        order = (*_ORDER, "--apply", "--parallel", str(_AT_A_TIME))
        done = self._killed(order, _COUNT // 2)
        self._tell_statuses()
        again = self.typed(*order)
        results = again.of("Result")
        for name in done:
            self.assertEqual("nothing to do", results[name], name)
        self.until_all("status", "UPDATE_COMPLETE", 300)
        self._assert_once(revisions)
        self.assertEqual(0, self.typed(*_ORDER).code)

    def _killed(self, order: tuple[str, ...], after: int) -> set[str]:
        """Kill it, with all that it started; which clusters were done."""
        self.tell(f"$ magnum-capi-helm {' '.join(order)}")
        command = subprocess.Popen(
            programs.command_line(*order),
            cwd=programs.CHECKOUT,
            env=fleet.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        done: set[str] = set()
        assert command.stderr is not None
        for line in command.stderr:
            if ": changed" in line:
                done.add(line.partition(":")[0])
            if len(done) == after:
                break
        os.killpg(command.pid, signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, command.wait())
        command.stderr.close()
        self.tell(f'  killed (SIGKILL) when {after} had "changed"')
        return done

    def _tell_statuses(self) -> None:
        counted = collections.Counter(self.column("status").values())
        told = [f"{count} {status}" for status, count in counted.items()]
        self.tell(f"  then: {', '.join(told)}")

    def _assert_once(self, before: dict[str, list[str]]) -> None:
        """One more revision each; one that was killed may have another."""
        now = self.revisions()
        more = {
            name: len(now[name]) - len(before[name]) for name in self.fleet
        }
        counted = collections.Counter(more.values())
        for count, clusters in sorted(counted.items()):
            self.tell(f"  {clusters} clusters have {count} new revisions")
        self.assertLessEqual(set(counted), {1, 2}, more)
        self.assertLessEqual(counted[2], _AT_A_TIME, more)
        for name, statuses in now.items():
            self.assertEqual("deployed", statuses[-1], name)
            self.assertEqual(1, statuses.count("deployed"), name)
        self._assert_same_machines()
        for name, values in self._addons().items():
            self.assertIn("replicas: 2", values, name)
        self.tell("  every metrics server is told to have 2 replicas")

    def _assert_same_machines(self) -> None:
        self.assertEqual(self.before, self.machines())
        self.tell(f"  the {len(self.before)} machines are the same")

    def _addons(self) -> dict[str, str]:
        """What the addon's Secret says, of each cluster."""
        found = {}
        for name, release in self.release.items():
            called = names.chart_object(release, "metrics-server-config")
            secret = self.plane.get(kinds.SECRET, self.namespace, called)
            assert secret is not None, name
            data = secret["data"].values()
            found[name] = "".join(base64.b64decode(e).decode() for e in data)
        return found

    # The CA

    def _change_ca(self) -> None:
        """First for some, then for all; and then the old one goes."""
        logins = self._logins()
        self._operate(_VALUES, self.new)
        self.tell("[drivers] openstack_ca_file has the new CA alone")
        self._assert_stale(set(self.fleet))
        words = ("cluster", "apply", "--cloud-settings")
        self.assertEqual({self.old}, self._bundles())
        some = list(self.fleet)[:_FIRST]
        self._refresh(*words, *some)
        self._assert_stale(set(self.fleet) - set(some))
        self._refresh(*words, "--all")
        self._assert_stale(set())
        self.assertEqual({self.new + self.old}, self._bundles())
        self._refresh(*words, "--all", "--only-new-ca")
        self.assertEqual({self.new}, self._bundles())
        self._assert_stale(set())
        self.assertEqual(logins, self._logins())
        self.tell("  every cluster has the credential that it had")
        self._assert_same_machines()

    def _refresh(self, *words: str) -> None:
        said = self.typed(*words, "--apply", "--parallel", str(_AT_A_TIME))
        for name, detail in said.of("Detail").items():
            self.assertIn(_NODES, detail, name)

    def _assert_stale(self, wanted: set[str]) -> None:
        """Secrets of these; the nodes of all until their next upgrade."""
        shown = self.typed("cluster", "apply", "--cloud-settings", "--all")
        results = shown.of("Result").items()
        stale = {name for name, result in results if result == "would change"}
        self.assertEqual(wanted, stale)
        for name, detail in shown.of("Detail").items():
            self.assertIn(_NODES, detail, name)

    def _secrets(self) -> list[dict[str, Any]]:
        found = []
        for release in self.release.values():
            name = names.credentials(release)
            secret = self.plane.get(kinds.SECRET, self.namespace, name)
            assert secret is not None, name
            found.append(secret)
        return found

    def _bundles(self) -> set[str]:
        return {credential_secret.ca_bundle(each) for each in self._secrets()}

    def _logins(self) -> list[object]:
        return [credential_secret.login(each) for each in self._secrets()]

    # Certificates

    def _renew(self, name: str) -> None:
        """The machine of the control plane is another one afterwards."""
        masters = self._masters(name)
        label = "certificates_expiry_days=60"
        words = ("cluster", "apply", "--label", label, name)
        said = self.typed(*words)
        self.assertEqual({name: "would change"}, said.of("Result"))
        self.typed(*words, "--apply")
        self._assert_same_machines()
        self.expire_certificates(self.release[name])
        self.tell("its certificates end in a month, as Cluster API reads it")
        with _Most(lambda: len(self._masters(name))) as most:
            self.until(lambda: not masters & self._masters(name), 600)
        now = self._masters(name)
        self.assertEqual(len(masters), len(now))
        self.assertEqual(len(masters) + 1, most.seen)
        machines = self.machines()
        stayed = self.before.keys() & machines.keys()
        self.assertEqual(self.before.keys() - masters, stayed)
        self.assertEqual(len(self.before), len(machines))
        self.tell(
            f"  control plane machines: {len(masters)}, at most {most.seen} "
            f"meanwhile, then {len(now)} new; the {len(stayed)} other "
            "machines of the fleet are the same"
        )
        self.assertEqual("UPDATE_COMPLETE", self.row(name)["status"])

    def _masters(self, name: str) -> set[str]:
        selector = (
            f"{view.CLUSTER_NAME_LABEL}={self.release[name]},"
            f"{view.CONTROL_PLANE_LABEL}"
        )
        return {
            each["metadata"]["uid"]
            for each in self.plane.list(
                kinds.MACHINE, self.namespace, selector
            )
        }


class _Most(beside.Beside):
    """The greatest number that was there."""

    def __init__(self, count: Callable[[], int]) -> None:
        super().__init__(base.POLL)
        self._count = count
        self.seen = 0

    def look(self) -> bool:
        self.seen = max(self.seen, self._count())
        return True
