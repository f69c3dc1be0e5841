# SPDX-License-Identifier: Apache-2.0

"""Magnum's kubeconfig names another management cluster for a while."""

from __future__ import annotations

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import elsewhere


class ElsewhereTest(elsewhere.ElsewhereCase):
    """The other one is empty but for the project's namespace."""

    def test_nothing_is_gone_because_it_is_not_there(self) -> None:
        going = self.cluster(self.template())
        living = self.cluster(self.template())
        for each in (going, living):
            self.until_status(each, ("CREATE_COMPLETE",))
        release = str((self.magnum.find(going) or {})["stack_id"])
        other = self.another_one()
        namespace = {"metadata": {"name": self.namespace}}
        other.apply(kinds.NAMESPACE, namespace)

        self.magnum.call("DELETE", f"/clusters/{going}")
        self._until_told(going, "status_reason")
        found = self._until_told(living, "health_status_reason")
        self.assertEqual("UNKNOWN", found["health_status"])
        self.assertEqual("CREATE_COMPLETE", found["status"])
        self.assertEqual(
            "DELETE_IN_PROGRESS", (self.magnum.find(going) or {})["status"]
        )
        self.assertEqual(1, len(self.credentials_of(going)))
        for kind in (kinds.SECRET, kinds.LEASE):
            self.assertEqual([], other.list(kind, self.namespace), kind.name)

        self.reset()
        self.delete(going)
        self.assert_all_gone(release)
        self.until(lambda: self._health(living) == "HEALTHY", 120)

    def _until_told(self, cluster: str, field: str) -> dict[str, object]:
        def told() -> dict[str, object] | None:
            found = self.magnum.find(cluster) or {}
            return found if elsewhere.FOREIGN in str(found[field]) else None

        found: dict[str, object] = self.until(told, 120, field)
        return found

    def _health(self, cluster: str) -> str:
        return str((self.magnum.find(cluster) or {})["health_status"])
