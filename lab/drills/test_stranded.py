# SPDX-License-Identifier: Apache-2.0

"""Management clusters that do not serve what releases name."""

from __future__ import annotations

import base64
import subprocess
from typing import Any

from lab.drills import planes
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import programs

_OLD, _NEW = (
    f"infrastructure.cluster.x-k8s.io/{each}"
    for each in ("v1alpha7", "v1beta1")
)
_CAPI = "cluster.x-k8s.io/v1beta1"
_KEEP = "keep serving"
#: As the guide has it.
SERVE = """\
for crd in $(kubectl get crd -o name | grep -E \
    '/[a-z]+\\.((bootstrap|controlplane)\\.)?cluster\\.x-k8s\\.io$'); do
  kubectl patch $crd --type json -p '[
    {"op": "test", "path": "/spec/versions/0/name", "value": "v1beta1"},
    {"op": "replace", "path": "/spec/versions/0/served", "value": %s}]'
done"""


def serve(*, served: bool) -> str:
    """Serve v1beta1 of Cluster API, or do not; what the shell printed."""
    done = subprocess.run(
        ["bash", "-ec", SERVE % str(served).lower()],
        env={
            "PATH": f"{programs.LAB / 'bin'}:/usr/bin:/bin",
            "KUBECONFIG": str(programs.LAB / "kubeconfig"),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


class StrandedTest(planes.PlaneCase):
    """A version that is gone, with which newer charts have nothing to do."""

    record = "stranded"

    def test_an_old_chart_after_an_upgrade_of_capo(self) -> None:
        # It is deleted after the cluster that has it by then.
        newer = self.template()
        old = self.template(labels={"capi_helm_chart_version": "0.26.1"})
        shop = self.made("shop", old)
        machines = self.machines(shop)
        self._age(shop)
        self.tell(
            "cluster shop, two machines; its last manifest names "
            f"{_OLD}, as charts up to 0.10.1 do; CAPO serves v1beta1"
        )
        self.listed(shop, "now", "upgrade", "upgrade it to chart 0.11.0")
        self._upgraded(shop, newer)
        self.assertEqual(machines, self.machines(shop))
        self.tell("the same two machines as before")
        self.unlisted("now")
        self.resize(shop, 2)
        now = self.machines(shop)
        self.assertLess(machines.items(), now.items())
        self.assertEqual(3, len(now))
        self.tell("$ openstack coe cluster resize shop 2: UPDATE_COMPLETE")
        self._age(shop)
        self.listed(shop, "now", "upgrade", "can delete the cluster")
        self.deleted(shop)

    def _upgraded(self, cluster: str, template: str) -> None:
        release = self.release(cluster)
        newest = helm_records.revisions(self.plane, self.namespace, release)[
            -1
        ]
        self.upgrade(cluster, template)
        row = self.ended(cluster)
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
        self.tell("$ openstack coe cluster upgrade shop TEMPLATE, of chart")
        self.tell("  0.27.0 and the same image: UPDATE_COMPLETE")
        self.tells_history(release)
        kept = names.original(release, newest.version)
        self.assertIsNotNone(
            self.plane.get(kinds.SECRET, self.namespace, kept)
        )
        self.tell("what helm had written is in Secret shop-...-revision-1")

    def _age(self, cluster: str) -> None:
        """Its newest record, as a chart of other times made it."""
        release = self.release(cluster)
        newest = helm_records.revisions(self.plane, self.namespace, release)[
            -1
        ]
        record = names.helm_record(release, newest.version)
        secret: Any = self.plane.get(kinds.SECRET, self.namespace, record)
        body = encoding.unpack(base64.b64decode(secret["data"]["release"]))
        self.assertIn(f"apiVersion: {_NEW}", body["manifest"])
        body["manifest"] = body["manifest"].replace(
            f"apiVersion: {_NEW}", f"apiVersion: {_OLD}"
        )
        text = base64.b64encode(encoding.pack(body).encode()).decode()
        secret["data"]["release"] = text
        self.plane.replace(kinds.SECRET, secret)


class TooEarlyTest(planes.PlaneCase):
    """A version that is gone, and every chart makes it."""

    record = "stranded-capi"

    def test_cluster_api_stops_to_serve_what_the_charts_make(self) -> None:
        template = self.template()
        asked = [
            self.cluster(template, name=self.unique(name))
            for name in ("shop", "web")
        ]
        for each in asked:
            self.until_status(each, ("CREATE_COMPLETE",))
        shop, web = asked
        self.tell("clusters shop and web, of chart 0.27.0; both are listed:")
        for each in asked:
            self.listed(each, "capi=1.16", "refused", _KEEP)
        self.machines_before = self.machines(shop)
        self.addCleanup(serve, served=True)
        count = serve(served=False).count("patched")
        self.tell(f"it is done all the same: v1beta1 of {count} CRDs is off")
        self._is_refused(shop)
        self.deleted(web)
        self._is_served_again(shop)

    def _is_refused(self, shop: str) -> None:
        release = self.release(shop)
        before = self.history(release)
        # The API server says for a moment what it said before.
        self.until(lambda: not self._serves(), 60)
        self.ask(shop, 2)
        row = self.ended(shop)
        self.assertEqual("UPDATE_FAILED", row["status"], str(row))
        self._says_why(row["status_reason"])
        self.tell("$ openstack coe cluster resize shop 2: UPDATE_FAILED:")
        self.tell(f"  {row['status_reason']}")
        self._nodegroup_fails(shop)
        self.assertEqual(before, self.history(release))
        self.assertEqual(self.machines_before, self.machines(shop))
        health = self.row(shop)["health_status"]
        self.assertEqual("HEALTHY", health)
        self.tell(f"no revision was made; the same machines; {health}")

    def _nodegroup_fails(self, shop: str) -> None:
        self.magnum.call(
            "POST",
            f"/clusters/{shop}/nodegroups",
            {"name": "more", "node_count": 1, "flavor_id": "m1.worker"},
        )

        def failed() -> str:
            found = self.magnum.nodegroups(shop).get("more") or {}
            status = found.get("status") == "CREATE_FAILED"
            return str(found["status_reason"]) if status else ""

        self._says_why(self.until(failed, 60))
        self.tell("$ openstack coe nodegroup create shop more: CREATE_FAILED,")
        self.tell("  with the same reason")

    def _says_why(self, reason: str) -> None:
        self.assertIn("which the management cluster does not serve", reason)
        for group in ("", "bootstrap.", "controlplane."):
            self.assertIn(f"{group}{_CAPI}", reason)
        self.assertIn("serves this again", reason)

    def _serves(self) -> bool:
        return "v1beta1" in self.plane.served("cluster.x-k8s.io")["Cluster"]

    def _is_served_again(self, shop: str) -> None:
        count = serve(served=True).count("patched")
        self.until(self._serves, 60)
        self.tell(f"v1beta1 of {count} CRDs is on again")
        self.unlisted("now")
        self.ask(shop, 2)
        row = self.ended(shop)
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
        now = self.machines(shop)
        self.assertLess(self.machines_before.items(), now.items())
        groups = self.magnum.nodegroups(shop)
        self.assertEqual(
            {"CREATE_COMPLETE", "UPDATE_COMPLETE"},
            {each["status"] for each in groups.values()},
        )
        self.tell(
            "$ openstack coe cluster resize shop 2: UPDATE_COMPLETE, and"
        )
        self.tell(
            f"  {len(now)} machines: those of before, one more worker, and "
            "that of nodegroup more"
        )
        self.tells_history(self.release(shop))
