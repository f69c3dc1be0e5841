# SPDX-License-Identifier: Apache-2.0

"""The lab's provider writes what CAPO 0.14.6 writes, and no more.

Each text here is a status of its controllers; lab/README.rst names the places
in its sources.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base

_SERVER = kinds.OPENSTACK_SERVER
_NAME = "cluster.x-k8s.io/cluster-name"
_FAULT = "lab.example.org/fail"
_TEXT = "Quota exceeded"


def _without_time(status: dict[str, Any]) -> dict[str, Any]:
    return {
        **status,
        "conditions": [
            {k: v for k, v in each.items() if k != "lastTransitionTime"}
            for each in status["conditions"]
        ],
    }


def _twice(**fields: str) -> list[dict[str, str]]:
    """InstanceReady, and Ready, which sums it up."""
    return [{"type": kind, **fields} for kind in ("Ready", "InstanceReady")]


class ProviderTest(base.LabCase):
    def _release(self, cluster: str) -> str:
        return str(
            self.until(
                lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
            )
        )

    def _of_workers(
        self, kind: kinds.Kind, release: str
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [
            *self.plane.list(kind, self.namespace, f"{_NAME}={release}")
        ]
        return [
            x for x in found if "-default-worker-" in x["metadata"]["name"]
        ]

    def _failed(self, release: str) -> dict[str, Any]:
        """The worker's OpenStackServer, once it is in ERROR."""

        def failed() -> dict[str, Any] | None:
            for server in self._of_workers(_SERVER, release):
                if server.get("status", {}).get("instanceState") == "ERROR":
                    return server
            return None

        found: dict[str, Any] = self.until(failed, 180)
        return found

    def test_only_nova_says_why_no_host_fits(self) -> None:
        release = self._release(
            self.cluster(self.template(flavor_id="m1.worker.nohost"))
        )
        server = self._failed(release)
        status = _without_time(server["status"])
        made = status.pop("instanceID")
        self.assertEqual(
            {
                "ready": False,
                "instanceState": "ERROR",
                "conditions": _twice(
                    status="False",
                    severity="Error",
                    reason="InstanceStateError",
                ),
            },
            status,
        )
        (machine,) = self._of_workers(kinds.OPENSTACK_MACHINE, release)
        self.assertEqual(
            machine["metadata"]["name"], server["metadata"]["name"]
        )
        # The machine says what it waited for before it had a server, and
        # nothing if the bootstrap data was there when it was first seen.
        waited = {
            "conditions": _twice(
                status="False",
                severity="Info",
                reason="WaitingForBootstrapData",
            )
        }
        status = {"conditions": [], **machine.get("status", {})}
        self.assertIn(_without_time(status), ({"conditions": []}, waited))
        shown = self.magnum.session.get(
            f"/servers/{made}", endpoint_filter={"service_type": "compute"}
        ).json()["server"]
        self.assertEqual("ERROR", shown["status"])
        self.assertEqual(500, shown["fault"]["code"])
        self.assertEqual(
            "No valid host was found. ", shown["fault"]["message"]
        )

    def test_server_tells_that_nova_refused_it(self) -> None:
        release = self._release(
            self.cluster(self.template(flavor_id="m1.worker.stuck"))
        )
        machine = self.until(
            lambda: self._of_workers(kinds.OPENSTACK_MACHINE, release), 180
        )[0]["metadata"]["name"]
        self.plane.patch(
            kinds.OPENSTACK_MACHINE,
            self.namespace,
            machine,
            {"metadata": {"annotations": {_FAULT: _TEXT}}},
        )
        self.assertEqual(
            {
                "ready": False,
                "instanceState": "ERROR",
                "conditions": _twice(
                    status="False",
                    severity="Error",
                    reason="InstanceCreateFailed",
                    message=f"error creating Openstack instance: {_TEXT}",
                ),
            },
            _without_time(self._failed(release)["status"]),
        )
