# SPDX-License-Identifier: Apache-2.0

"""A cluster whose Magnum is started with another kubeconfig."""

from __future__ import annotations

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base

NO_TRACE = f"neither the Cluster nor the Lease {base.RELEASE}"


class OriginTestCase(base.FlowTestCase):
    """Where the row says that the cluster is, and where Magnum looks."""

    def recorded(self) -> str:
        return str(self.groups()["default-master"].stack_id)

    def here(self) -> str:
        """What it says when it knows this management cluster."""
        return f"{base.RELEASE}@{self.management.identity()}"

    def forget(self) -> None:
        """The row says what 1.4.0 wrote into it."""
        master = self.groups()["default-master"]
        master.stack_id = base.RELEASE
        master.save()

    def move(self, *namespaces: str) -> plane.Plane:
        """Magnum is started with another kubeconfig."""
        other = plane.Plane(conf.CONF.capi_helm.chart_store)
        for name in namespaces:
            other.server.create(kinds.NAMESPACE, {"metadata": {"name": name}})
        base.install(self, other.runtime())
        return other

    def move_back(self) -> None:
        """Magnum is started with the kubeconfig that it had."""
        base.install(self, self.plane.runtime())

    def assert_untouched(self, other: plane.Plane) -> None:
        """Nothing was written there, and helm never ran."""
        verbs = {each.verb for each in other.management.requests}
        self.assertLessEqual(verbs, {"get", "list"})
        self.assertEqual([], other.helm.upgrades)
        self.assertEqual([], other.helm.uninstalls)
