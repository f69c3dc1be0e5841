# SPDX-License-Identifier: Apache-2.0

"""CAPO does not say why Nova put a server into ERROR: the driver asks.

If this fails with a newer CAPO, the driver may have less to ask.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base

_NAME = "cluster.x-k8s.io/cluster-name"


def _without_time(status: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in each.items() if k != "lastTransitionTime"}
        for each in status["conditions"]
    ]


def _twice(**fields: str) -> list[dict[str, str]]:
    """InstanceReady, and Ready, which sums it up."""
    return [{"type": kind, **fields} for kind in ("Ready", "InstanceReady")]


class ProviderTest(base.LabCase):
    def test_only_nova_says_why_no_host_fits(self) -> None:
        cluster = self.cluster(
            self.template(master_flavor_id="m1.control.nohost")
        )
        release = str(
            self.until(
                lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
            )
        )
        server = self.until(lambda: self._failed(release), 180)
        status = server["status"]
        self.assertEqual(
            (
                False,
                _twice(
                    status="False",
                    severity="Error",
                    reason="InstanceStateError",
                ),
            ),
            (status["ready"], _without_time(status)),
        )
        machine = self.plane.get(
            kinds.OPENSTACK_MACHINE,
            self.namespace,
            server["metadata"]["name"],
        )
        assert machine is not None
        self.assertEqual(
            _twice(
                status="False",
                severity="Info",
                reason="WaitingForBootstrapData",
            ),
            _without_time(machine["status"]),
        )
        shown = self.magnum.session.get(
            f"/servers/{status['instanceID']}",
            endpoint_filter={"service_type": "compute"},
        ).json()["server"]
        self.assertEqual(
            ("ERROR", 500, "No valid host was found. "),
            (
                shown["status"],
                shown["fault"]["code"],
                shown["fault"]["message"],
            ),
        )

    def _failed(self, release: str) -> dict[str, Any] | None:
        """Return an OpenStackServer in ERROR."""
        servers: list[dict[str, Any]] = self.plane.list(
            kinds.OPENSTACK_SERVER, self.namespace, f"{_NAME}={release}"
        )
        for server in servers:
            if server.get("status", {}).get("instanceState") == "ERROR":
                return server
        return None
