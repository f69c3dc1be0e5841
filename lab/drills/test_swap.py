# SPDX-License-Identifier: Apache-2.0
"""1.4.0 is swapped for this driver under clusters in trouble, and back.

1.4.0 is the real one, from PyPI, in the lab's own Magnum.
"""

from __future__ import annotations

import functools
import time
from typing import Any

from keystoneauth1 import adapter

from lab.drills import looks
from lab.drills import swap_case
from lab.drills import troubles
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs


class SwapTest(swap_case.SwapCase):
    """Three clusters, five troubles."""

    record = "swap"

    def test_a_swap_under_clusters_in_trouble_and_back(self) -> None:
        self.make()
        self.plant()
        self._report()
        self._swap()
        self._shop_is_resized()
        self._db_gets_a_credential_and_a_group()
        self._ci_is_upgraded()
        self._back()
        self._delete()

    def _report(self) -> None:
        """All is named, and nothing is written."""
        before = self.still()
        began = time.monotonic()
        words = ("check", "--from-1-4-0")
        code, lines, _ = looks.command(*words)
        seconds = time.monotonic() - began
        self.say(f"$ magnum-capi-helm {' '.join(words)}")
        self.say(f"({seconds:.0f} s, exit code {code})")
        failed = [each for each in lines if each["State"] == "failed"]
        self.show(failed)
        self.assertEqual(1, code)
        self.assertEqual({"label"}, self.checks_of("shop", failed))
        self.assertEqual(set(), self.checks_of("db", failed))
        self.assertEqual(set(), self.checks_of("ci", failed))
        networks = [each for each in failed if each["Check"] == "template"]
        self.assertIn("network_driver flannel", str(networks))
        self.assertEqual(before, self.snapshot())
        self.say(
            f"nothing was written: {len(before[0])} objects and "
            f"{len(before[1])} rows are as before"
        )

    # This driver

    def _swap(self) -> None:
        base.write_override(swap_case.ALWAYS | swap_case.NOW)
        programs.lab("restart", "magnum")
        self.say(
            "swapped; new clusters get chart 0.27.0 and root volumes of "
            "40 GB, where 1.4.0 gave 0.26.1 and 20 GB"
        )

    def _shop_is_resized(self) -> None:
        before = self.machines["shop"]
        began = time.monotonic()
        self.resize(self.uuids["shop"], 2)
        self.assert_grown("shop", 1)
        (live,) = self.looks.owned(
            kinds.OPENSTACK_CLUSTER, self.releases["shop"]
        )
        balancer = live["spec"]["apiServerLoadBalancer"]
        self.assertNotIn("allowedCIDRs", balancer)
        self.say(
            "$ openstack coe cluster resize shop 2: UPDATE_COMPLETE after "
            f"{time.monotonic() - began:.0f} s, {len(before)} machines "
            "stay, 1 is new; the API is as open as it was"
        )

    def _db_gets_a_credential_and_a_group(self) -> None:
        uuid = self.uuids["db"]
        self.say(f"db: {self.until(self._complaint, 120)}")
        api = adapter.Adapter(
            self.magnum.session,
            service_type="container-infra",
            additional_headers={
                "OpenStack-API-Version": "container-infra 1.12"
            },
        )
        api.patch(f"/credentials/{uuid}")
        self.update_ends("db")
        self.assert_grown("db", 0)
        self.assertEqual(1, len(self.credentials_of(uuid)))
        self.say("$ openstack coe credential rotate db: UPDATE_COMPLETE")
        body = {"name": "batch", "flavor_id": "m1.worker", "node_count": 1}
        self.magnum.call("POST", f"/clusters/{uuid}/nodegroups", body)
        self.until(lambda: self._group() == "CREATE_COMPLETE", 240)
        self.update_ends("db")
        before = len(self.machines["db"])
        self.assert_grown("db", 1)
        cni = self.looks.values(self.releases["db"])["addons"]["cni"]
        self.assertEqual("flannel", cni["type"])
        self.say(
            "$ openstack coe nodegroup create db batch --node-count 1: "
            f"CREATE_COMPLETE, {before} machines stay, 1 is new; its CNI is "
            "what it was made with"
        )

    def _group(self) -> str:
        found = self.magnum.nodegroups(self.uuids["db"])
        return str(found["batch"]["status"]) if "batch" in found else ""

    def _complaint(self) -> str:
        found = self.magnum.find(self.uuids["db"]) or {}
        said = found["health_status_reason"] or {}
        return next(
            (f"{k}: {v}" for k, v in said.items() if "redential" in k + v), ""
        )

    def _ci_is_upgraded(self) -> None:
        """A resize is refused with true words; the upgrade repairs."""
        uuid = self.uuids["ci"]
        body: dict[str, Any] = {"node_count": 2}
        self.magnum.call("POST", f"/clusters/{uuid}/actions/resize", body)
        failed = self.until_status(uuid, ("UPDATE_FAILED",))
        self.say(
            "$ openstack coe cluster resize ci 2: UPDATE_FAILED: "
            f"{failed['status_reason']}"
        )
        self.assert_grown("ci", 0)
        troubles.serve_old_api()
        self.resize(uuid, 2)
        self.assert_grown("ci", 1)
        troubles.stop_old_api()
        self.say(
            "Magnum upgrades nothing that is UPDATE_FAILED: the provider "
            "serves v1alpha7 for as long as $ openstack coe cluster resize "
            "ci 2 takes: UPDATE_COMPLETE, 2 machines stay, 1 is new"
        )
        new = self.template(
            image_id="ubuntu-v1.35.1",
            labels={"capi_helm_chart_version": "0.27.0"},
        )
        body = {"cluster_template": new, "max_batch_size": 1}
        self.magnum.call("POST", f"/clusters/{uuid}/actions/upgrade", body)
        # Complete is what it was before, too.
        self.until_status(uuid, ("UPDATE_IN_PROGRESS",), 60)
        self.update_ends("ci")
        before = self.machines["ci"]
        self.note("ci")
        self.assertEqual(set(), set(before) & set(self.machines["ci"]))
        found = self.magnum.find(uuid) or {}
        self.assertEqual("v1.35.1", found["coe_version"])
        self.say(
            "$ openstack coe cluster upgrade ci NEW: UPDATE_COMPLETE, "
            f"v1.35.1 with chart 0.27.0; all {len(before)} machines are new, "
            "as asked"
        )

    # And back

    def _back(self) -> None:
        """1.4.0 polls all, and resizes the one that it does not break."""
        self.run_1_4_0(swap_case.THEN)
        uuid = self.uuids["shop"]
        self.resize(uuid, 3)
        self.assert_grown("shop", 1)
        self.say(
            "1.4.0 is back: $ openstack coe cluster resize shop 3: "
            "UPDATE_COMPLETE, no machine is replaced"
        )
        for name in self.uuids:
            self.until(functools.partial(self._polled, name), 120)

    def _polled(self, name: str) -> bool:
        """1.4.0 has four keys for the health of a cluster."""
        found = self.magnum.find(self.uuids[name]) or {}
        self.assertIn(
            found["status"], ("CREATE_COMPLETE", "UPDATE_COMPLETE"), str(found)
        )
        if "infrastructure" not in (found["health_status_reason"] or {}):
            return False
        self.say(
            f"1.4.0 on {name}: {found['status']}, {found['health_status']}"
        )
        return True

    def _delete(self) -> None:
        for uuid in self.uuids.values():
            self.magnum.call("DELETE", f"/clusters/{uuid}")
        for name, uuid in self.uuids.items():
            self.until(functools.partial(self.gone, uuid), 360)
            release = self.releases[name]
            self.assertEqual([f"Lease {release}"], self.left_of(release))
            self.assertEqual([], self.credentials_of(uuid))
            self.plane.delete(kinds.LEASE, self.namespace, release)
        self.say("1.4.0 deletes all three; a Lease each is left, as said")
