# SPDX-License-Identifier: Apache-2.0

"""A cluster whose API nobody reaches shows the reason."""

from __future__ import annotations

import socket
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base


class LateTest(base.LabCase):
    """A cluster that is complete once its API is there."""

    def test_an_unreachable_api_is_named(self) -> None:
        cluster = self.cluster(self.template())
        release = self.until(
            lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
        )
        host, port = self.until(lambda: self._endpoint(release), 180)
        # The first listener gets all connections. This one never answers.
        with socket.create_server((host, port)):
            said = self.until(lambda: self._with_reason(cluster, host), 300)
        self.assertEqual("CREATE_IN_PROGRESS", said["status"])
        self.assertEqual(
            "the management cluster can't reach the Kubernetes API at "
            f"https://{host}:{port}: a firewall, security group or missing "
            "route is in between, or the control plane did not start "
            "[api-unreachable]",
            said["status_reason"],
        )
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"])
        self.assertIsNone(done["status_reason"])

    def _with_reason(self, cluster: str, text: str) -> dict[str, Any] | None:
        found = self.magnum.find(cluster) or {}
        return found if text in (found["status_reason"] or "") else None

    def _endpoint(self, release: str) -> tuple[str, int] | None:
        found: Any = self.plane.get(kinds.CLUSTER, self.namespace, release)
        endpoint = ((found or {}).get("spec") or {}).get(
            "controlPlaneEndpoint"
        ) or {}
        if not endpoint.get("host"):
            return None
        return str(endpoint["host"]), int(endpoint["port"])
