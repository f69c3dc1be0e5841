# SPDX-License-Identifier: Apache-2.0

"""A cluster that can't be made shows the reason."""

from __future__ import annotations

import socket
import time
from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base


class _ReasonCase(base.LabCase):
    def _with_reason(self, cluster: str, text: str) -> dict[str, Any] | None:
        found = self.magnum.find(cluster)
        reason = (found or {}).get("status_reason") or ""
        return found if text in reason else None


class NoHostTest(_ReasonCase):
    def test_no_valid_host_is_named_and_fails_after_the_timeout(self) -> None:
        template = self.template(flavor_id="m1.worker.nohost")
        # Workers are asked for once the control plane is there.
        cluster = self.cluster(template, create_timeout=3)
        waiting = self.until(
            lambda: self._with_reason(cluster, "No valid host was found"), 240
        )
        self.assertEqual("CREATE_IN_PROGRESS", waiting["status"])
        release = waiting["stack_id"]
        self.assertRegex(
            waiting["status_reason"],
            rf"nodegroup default-worker: machine {release}-default-worker-"
            r"\S+: No valid host was found",
        )
        failed = self.until_status(
            cluster, ("CREATE_FAILED", "CREATE_COMPLETE"), 240
        )
        self.assertEqual("CREATE_FAILED", failed["status"])
        self.assertIn("No valid host was found", failed["status_reason"])
        groups = self.magnum.nodegroups(cluster)
        self.assertEqual("CREATE_COMPLETE", groups["default-master"]["status"])
        self.assertEqual("CREATE_FAILED", groups["default-worker"]["status"])
        self.assertIn(
            "No valid host was found",
            groups["default-worker"]["status_reason"],
        )
        self.delete(cluster)
        self.assert_all_gone(release)

    def test_control_plane_without_host_is_named(self) -> None:
        cluster = self.cluster(
            self.template(master_flavor_id="m1.control.nohost")
        )
        waiting = self.until(
            lambda: self._with_reason(cluster, "No valid host was found"), 240
        )
        self.assertEqual("CREATE_IN_PROGRESS", waiting["status"])
        self.assertRegex(
            waiting["status_reason"],
            rf"nodegroup default-master: machine {waiting['stack_id']}"
            r"-control-plane-\S+: No valid host was found",
        )
        self._only_nova_says_so(waiting["stack_id"])

    def _only_nova_says_so(self, release: str) -> None:
        """CAPO does not say why a server is in ERROR: the driver asks Nova.

        If this fails with a newer CAPO, the driver may have less to ask.
        """
        [server] = self.plane.list(
            kinds.OPENSTACK_SERVER,
            self.namespace,
            f"{view.CLUSTER_NAME_LABEL}={release}",
        )
        self.assertEqual(
            [("False", "InstanceStateError", None)] * 2, _conditions(server)
        )
        machine = self.plane.get(
            kinds.OPENSTACK_MACHINE, self.namespace, view.name_of(server)
        )
        assert machine is not None
        self.assertEqual(
            [("False", "WaitingForBootstrapData", None)] * 2,
            _conditions(machine),
        )
        shown = self.magnum.session.get(
            f"/servers/{server['status']['instanceID']}",
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


def _conditions(found: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Return InstanceReady, and Ready, which sums it up."""
    return [
        (each["status"], each["reason"], each.get("message"))
        for each in found["status"]["conditions"]
    ]


class LateTest(_ReasonCase):
    """A cluster that is complete once its API and its addons are there."""

    def test_an_unreachable_api_and_a_failing_addon_are_named(self) -> None:
        cluster = self.cluster(self.template())
        release = self.until(
            lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
        )
        self.until(lambda: self._fail(release, "quota of load balancers"), 60)
        self._api_that_nobody_reaches(cluster, release)
        failing = self.until(
            lambda: self._with_reason(cluster, "quota of load balancers"), 180
        )
        self.assertEqual("CREATE_IN_PROGRESS", failing["status"])
        self.assertEqual(
            "addon ccm-openstack: Failed: quota of load balancers",
            failing["status_reason"],
        )
        self._fail(release, None)
        done = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", done["status"])
        self.assertIsNone(done["status_reason"])

    def _api_that_nobody_reaches(self, cluster: str, release: str) -> None:
        """It is named within five minutes."""
        host, port = self.until(lambda: self._endpoint(release), 60)
        # The first listener gets all connections. This one never answers.
        with socket.create_server((host, port)):
            started = time.monotonic()
            said = self.until(lambda: self._with_reason(cluster, host), 300)
            self.assertLess(time.monotonic() - started, 300)
        self.assertEqual("CREATE_IN_PROGRESS", said["status"])
        self.assertEqual(
            "the management cluster can't reach the Kubernetes API at "
            f"https://{host}:{port}: a firewall, security group or missing "
            "route is in between, or the control plane did not start",
            said["status_reason"],
        )

    def _endpoint(self, release: str) -> tuple[str, int] | None:
        found: Any = self.plane.get(kinds.CLUSTER, self.namespace, release)
        endpoint = ((found or {}).get("spec") or {}).get(
            "controlPlaneEndpoint"
        ) or {}
        if not endpoint.get("host"):
            return None
        return str(endpoint["host"]), int(endpoint["port"])

    def _fail(self, release: str, text: str | None) -> Any:
        """Let an addon fail with a text, or with None not any more."""
        return self.plane.patch(
            kinds.HELM_RELEASE,
            self.namespace,
            f"{release}-ccm-openstack",
            {"metadata": {"annotations": {base.ADDON_FAULT: text}}},
        )
