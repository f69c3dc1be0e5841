# SPDX-License-Identifier: Apache-2.0

"""Management clusters: a frozen one, another one, and two at a time."""

from __future__ import annotations

import time
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base

MESSAGE = (
    "the management cluster is frozen for maintenance, try again when that "
    "is over. The operator says: etcd moves"
)
NO_TRACE = f"neither the Cluster nor the Lease {base.RELEASE}"


class FrozenTestCase(base.FlowTestCase):
    """The operator freezes it, and thaws it."""

    def freeze(self, minutes: float = 0.0) -> None:
        """It has been frozen for so long; the conductors know by now."""
        rt = self.plane.runtime("operator")
        rt.maintenance.freeze(
            "etcd moves", "op@host", time.time() - minutes * 60
        )
        self.plane.clock.advance(6)
        self.management.requests.clear()

    def thaw(self) -> None:
        """It is over, and the conductors know by now."""
        self.plane.runtime("operator").maintenance.thaw(time.time())
        self.plane.clock.advance(6)

    def assert_quiet(self) -> None:
        """Nothing was written there since the freeze; helm did not run."""
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, set(management.READS))

    def helms(self) -> int:
        return len(self.helm.upgrades) + len(self.helm.uninstalls)


class OriginTestCase(base.FlowTestCase):
    """Where the row says that the cluster is, and where Magnum looks."""

    def recorded(self) -> str:
        return str(self.groups()["default-master"].stack_id)

    def here(self) -> str:
        """What it says when it knows this management cluster."""
        return f"{base.RELEASE}@{self.management.identity()}"

    def forget(self) -> None:
        """The row says what 1.4.0, or Magnum's handler, writes into it."""
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


class LocationTestCase(OriginTestCase):
    """Two management clusters, a and b."""

    def setUp(self) -> None:
        super().setUp()
        self.configure("a", "b")
        store = conf.CONF.capi_helm.chart_store
        self.start()
        self.planes = {
            home.name: plane.Plane(store, home)
            for home in runtime.configured()
        }
        self.restart()

    def configure(self, *names: str) -> None:
        """The operator's list."""
        conf.CONF.set_override("management_clusters", [*names], "capi_helm")
        for each in names:
            group = f"capi_helm_management_{each}"
            conf.CONF.register_opts(
                options.MANAGEMENT_CLUSTER_OPTIONS, group=group
            )
            path = f"/kube/{each}"
            conf.CONF.set_override("kubeconfig_file", path, group)

    def start(self) -> None:
        """A process that knows nothing yet."""
        runtime.reset()
        self.addCleanup(runtime.reset)

    def restart(self, **planes: str) -> None:
        """The conductor starts again.

        :param planes: name in the configuration -> management cluster; as
            they were by default
        """
        self.start()
        for name, key in (planes or {"a": "a", "b": "b"}).items():
            self.planes[key].home = runtime.settings_of(name)
            runtime.use(self.planes[key].runtime())

    def make(self, on: str = "b", **fields: Any) -> Any:
        """Create a cluster whose template names a management cluster.

        :param on: its name; empty: the template names none
        """
        labels = {"capi_management_cluster": on} if on else {}
        return self.create({"labels": labels}, **fields)

    def settle(self, name: str = "b") -> None:
        """Cluster API of one of them makes what is wanted."""
        self.planes[name].cluster_api(base.NAMESPACE, base.RELEASE).settle()

    def made(self) -> None:
        """A complete cluster on b, known to the process."""
        self.make()
        self.settle()
        self.poll()
        self.assertEqual("CREATE_COMPLETE", self.row().status)

    def there(self, name: str) -> bool:
        """Whether one of them has anything of the cluster."""
        server = self.planes[name].server
        return bool(
            server.get(kinds.LEASE, base.NAMESPACE, base.RELEASE)
            or server.get(kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        )

    def stop(self, name: str) -> None:
        """No answer from one of them."""
        self.planes[name].management.fail(
            errors.ManagementUnreachable(
                f"the management cluster {name} does not answer"
            )
        )

    def forget_silence(self) -> None:
        """The time for which one that was silent is not asked is over."""
        runtime.cache().clock = lambda: time.monotonic() + 10

    def requests(self, name: str) -> int:
        return len(self.planes[name].management.requests)
