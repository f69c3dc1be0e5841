# SPDX-License-Identifier: Apache-2.0

"""What tests of certificates that expire start with."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from magnum_capi_helm.cli import cluster
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

PLANE = names.chart_object(base.RELEASE, "control-plane")


def days_ahead(days: float) -> str:
    """As Kubernetes writes it."""
    moment = time.gmtime(time.time() + days * 86400)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)


class Watched(cluster.Apply):
    """Something happens between two looks, in no time."""

    meanwhile: Callable[[], None]

    @property
    def pause(self) -> float:  # type: ignore[override]
        """Asked for before each pause."""
        self.meanwhile()
        return 0.0


class RenewTestCase(base.FlowTestCase):
    """A cluster that is complete, whose certificates expire in 100 days."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.expire(100)

    def expire(self, days: float) -> None:
        """What Cluster API says of the control plane's machines."""
        for each in self.machines():
            status = {
                **each["status"],
                "certificatesExpiryDate": days_ahead(days),
            }
            self.server.set_status(
                kinds.MACHINE,
                base.NAMESPACE,
                each["metadata"]["name"],
                status,
            )

    def machines(self) -> list[dict[str, Any]]:
        label = "cluster.x-k8s.io/control-plane"
        return self.server.list(kinds.MACHINE, base.NAMESPACE, label)

    def plane_spec(self) -> dict[str, Any]:
        live = self.server.get(kinds.CONTROL_PLANE, base.NAMESPACE, PLANE)
        assert live is not None
        return dict(live["spec"])

    def renew(self, *argv: str) -> dict[str, str]:
        """The line of the cluster, once the command was run."""
        words = ("--certificates", "web", *argv)
        _, [line] = command_case.run_json(
            Watched, *words, meanwhile=self.meanwhile
        )
        return {key: line[key] for key in ("Result", "Detail")}

    def meanwhile(self) -> None:
        """Cluster API and the polls go on while the command waits."""
        self.capi.roll_control_plane()
        self.poll()
