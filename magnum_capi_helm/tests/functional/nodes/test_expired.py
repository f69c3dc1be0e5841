# SPDX-License-Identifier: Apache-2.0

"""Certificates of a control plane that have expired, and the guide's way out.

kubeadm signs for minutes here. The kubelets get other certificates in time.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.nodes import base

_SCRIPT = programs.CHECKOUT / "samples" / "renew-expired-certificates.sh"
#: Longer than a create lasts.
_MINUTES = 15
_SIGN_FOR_MINUTES = (
    r"sed -i 's/^kind: ClusterConfiguration$/"
    rf"&\ncertificateValidityPeriod: {_MINUTES}m0s/' /run/kubeadm/kubeadm.yaml"
)
_PROBE = ("probe", "--image=lab/agnhost:v1", "--", "pause")


class ExpiredTest(base.NodesCase):
    """A control plane node and a worker."""

    record_name = "nodes-expired"

    def test_a_pod_renews_certificates_that_have_expired(self) -> None:
        self.make(node_count=1)
        self.record("a cluster with one worker is complete")
        self.until(self.expired, 60 * _MINUTES + 120, "certificates are valid")
        self.record("the certificate of the API server has expired")
        programs.run(
            str(_SCRIPT),
            env={
                "KUBECONFIG": str(self.kubeconfig),
                "KUBEADM": "/usr/local/bin/kubeadm",
                "PATH": f"{programs.LAB / 'bin'}:{os.environ['PATH']}",
            },
            seconds=420,
        )
        self.until(lambda: not self.expired(), 180, "still expired")
        self.record("kubectl trusts the API server again")
        # The scheduler backs off for at most 5 minutes.
        self.kubectl("run", *_PROBE)
        self.until(self.probe_runs, 600, "no pod is scheduled")
        self.record("a pod is scheduled")
        self.until_health(self.uuid, "HEALTHY")
        self.record("the cluster is healthy")

    def template(self, **fields: Any) -> str:
        """The UUID of a new template, whose kubeadm signs for minutes."""
        commands = {"preKubeadmCommands": [_SIGN_FOR_MINUTES]}
        values = {"controlPlane": {"kubeadmConfigSpec": commands}}
        labels = {"capi_helm_values_profiles": self.profile(values)}
        return super().template(**{"labels": labels, **fields})

    def expired(self) -> bool:
        """Return whether kubectl refuses the API server as expired."""
        try:
            self.kubectl("get", "nodes")
        except AssertionError as error:
            return "certificate has expired" in str(error)
        return False

    def probe_runs(self) -> bool:
        """Return whether the pod that was made last runs."""
        with contextlib.suppress(AssertionError):
            found = json.loads(
                self.kubectl("get", "pod", "probe", "--output=json")
            )
            return bool(found["status"]["phase"] == "Running")
        return False
