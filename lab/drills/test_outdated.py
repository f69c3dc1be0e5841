# SPDX-License-Identifier: Apache-2.0

"""The stored desired state is not that of the release any more."""

from __future__ import annotations

from lab.drills import outdated_case
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.alone import test_builds

_STORE = (
    programs.LAB
    / "chart-store"
    / f"openstack-cluster-{outdated_case.CHART}.tgz"
)


class RestoredTest(outdated_case.OutdatedCase):
    """A copy of the Secret that is older than an upgrade."""

    record = "outdated-secret"

    def test_an_older_secret_comes_back(self) -> None:
        self.newer = self.template(image_id="ubuntu-v1.35.1")
        self.make("shop")
        older = self.data()
        self.upgrade(self.uuid, self.newer)
        self.assertEqual("UPDATE_COMPLETE", self.ended(self.uuid)["status"])
        newest = self.data()
        self.put(older)
        self.tell(
            "shop is upgraded to v1.35.1; shop-intent is restored to before"
        )
        self.refuses("the stored desired state is of upgrade 0, the release")
        self.put(newest)
        self.works("the newest Secret is back", 2)
        self.put(older)
        self.adopted(3)
        self.deleted(self.uuid)


class RebuiltTest(outdated_case.OutdatedCase):
    """Another build of the chart under the same version."""

    record = "outdated-chart"

    def test_the_chart_is_rebuilt(self) -> None:
        self.make("web")
        former = _STORE.read_bytes()
        self.addCleanup(self._store, former)
        self._store(test_builds.rebuilt(former))
        self.tell(
            f"the chart store has another build of {outdated_case.CHART}"
        )
        self.refuses("would replace machines")
        self._store(former)
        self.works("the former build is back", 2)
        self.deleted(self.uuid)

    def _store(self, package: bytes) -> None:
        """Put a build there as an operator does."""
        staged = _STORE.with_suffix(".part")
        staged.write_bytes(package)
        staged.replace(_STORE)


class PredecessorTest(outdated_case.OutdatedCase):
    """1.4.0 upgrades a cluster of this driver."""

    record = "outdated-1-4-0"

    def test_1_4_0_upgrades_in_between(self) -> None:
        self.newer = self.template(image_id="ubuntu-v1.35.1")
        self.make("db")
        self.works("this driver", 2)
        self.admit()
        self.addCleanup(programs.lab, "restart", "magnum")
        programs.lab("restart", "magnum", "--driver", "1.4.0")
        self.upgrade(self.uuid, self.newer)
        self.assertEqual("UPDATE_COMPLETE", self.ended(self.uuid)["status"])
        self.until(self._at_rest, 300)
        programs.lab("restart", "magnum")
        self.tell("1.4.0 upgrades db to v1.35.1; this driver is back")
        self.refuses("has Kubernetes v1.34.2, the control plane v1.35.1")
        self.adopted(3)
        self.deleted(self.uuid)

    def _at_rest(self) -> bool:
        """No machine of before is left."""
        live = self.plane.list(kinds.MACHINE, self.namespace)
        versions = {
            each["spec"]["version"]
            for each in live
            if each["spec"]["clusterName"] == self.called
        }
        return versions == {"v1.35.1"} and len(self.uids()) == 4
