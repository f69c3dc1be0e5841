# SPDX-License-Identifier: Apache-2.0

"""Users read what is wrong inside of machines: kubelet and pods run."""

from __future__ import annotations

import contextlib
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional.cloud import fault_case
from magnum_capi_helm.tests.functional.nodes import base
from magnum_capi_helm.tests.functional.nodes import inside

#: Seconds until kubelet's sync loop sees a full disk, and the driver's health
#: polls share nodes.
_PRESSURE = 60
#: Seconds that a server may run without a node, and the reason then.
_TO_JOIN = 300
_UNSEEN = "Cluster API sees no node of it: .* or the pods' network"
_ABSENT = {"template": "image: lab/flannel:absent"}
#: It overrides the machine's own drop-in.
_FULL = """
set -e
cat > /etc/kubernetes/kubelet.conf.d/90-full.conf << EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {nodefs.available: "99.9%"}
EOF
systemctl restart kubelet
"""
_ROOM = """
rm /etc/kubernetes/kubelet.conf.d/90-full.conf
systemctl restart kubelet
"""


class NetworkTest(fault_case.WatchCase, base.NodesCase):
    """A create whose pods get no network."""

    def test_an_image_that_cannot_be_pulled_is_named(self) -> None:
        self.uuid = self.cluster(self.template(), node_count=1)
        self.release = str(
            self.until(lambda: self.row().get("stack_id") or "", 60)
        )
        addon = f"{self.release}-cni-calico"
        before = self._sources(addon)
        self._set_sources(addon, [*before, _ABSENT])
        watch = self.watch(
            "the CNI addon's image can't be pulled",
            lambda: self._waiting("tigera-operator", "app=flannel"),
            _UNSEEN,
            where=fault_case.CONTROL_PLANE,
            silent=_TO_JOIN,
        )
        self.until(self._has_kubeconfig, base.PATIENCE)
        self.until_named(watch, seconds=base.PATIENCE)
        self._set_sources(addon, before)
        self.finish(watch)
        done = self.until_status(
            self.uuid, ("CREATE_COMPLETE", "CREATE_FAILED"), base.PATIENCE
        )
        self.assertEqual("CREATE_COMPLETE", done["status"], str(done))
        self.until_health(self.uuid, "HEALTHY")

    def _has_kubeconfig(self) -> bool:
        # The client does not replace a file.
        self.kubeconfig.unlink(missing_ok=True)
        with contextlib.suppress(AssertionError):
            self.take_kubeconfig()
            return bool(self.get("namespaces"))
        return False

    def _live(self, addon: str) -> Any:
        return self.until(
            lambda: self.plane.get(kinds.HELM_RELEASE, self.namespace, addon),
            60,
        )

    def _sources(self, addon: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._live(addon)["spec"][
            "valuesSources"
        ]
        return found

    def _set_sources(self, addon: str, sources: list[dict[str, Any]]) -> None:
        change = {"spec": {"valuesSources": sources}}
        self.plane.patch(kinds.HELM_RELEASE, self.namespace, addon, change)

    def _waiting(self, namespace: str, selector: str) -> str:
        """Return why a container does not start, as its kubelet says."""
        for pod in self.get(
            "pods", f"--namespace={namespace}", f"--selector={selector}"
        ):
            for each in view.status_of(pod).get("containerStatuses", ()):
                waiting = each["state"].get("waiting") or {}
                if message := waiting.get("message"):
                    # Then come names and addresses of this host.
                    cause = message.partition(": failed to do request")[0]
                    return f"{waiting['reason']}: {cause}"
        return ""


class DiskTest(fault_case.WatchCase, base.NodesCase):
    """The kubelet of a worker calls its disk full."""

    def test_a_full_disk_is_named(self) -> None:
        self.make(node_count=1)
        [worker] = self.machines().values()
        name = self.node_of(worker)
        host = inside.machine_of(name)
        host.run("sh", "-c", _FULL)
        watch = self.watch(
            "a node's disk is full",
            lambda: self._node_condition(name, "DiskPressure"),
            "",
            silent=_PRESSURE,
            entry=rf"{name}\.DiskPressure: ",
        )
        self.until_named(watch, seconds=240)
        host.run("sh", "-c", _ROOM)
        # The kubelet waits five minutes (evictionPressureTransitionPeriod).
        self.until_over(watch, seconds=480)
        self.keep(watch)
        self.until_health(self.uuid, "HEALTHY")

    def _node_condition(self, node: str, kind: str) -> str:
        """Return the message of a node's condition that is on."""
        for each in view.status_of(self.nodes()[node])["conditions"]:
            if each["type"] == kind and each["status"] == "True":
                return str(each["message"])
        return ""
