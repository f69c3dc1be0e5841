# SPDX-License-Identifier: Apache-2.0

"""What tests of ``describe`` start with."""

from __future__ import annotations

from collections.abc import Mapping
import io
import re
import types
from typing import Any

import fixtures

from magnum_capi_helm.cli import describe
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

#: With R in the place of the release.
WELL = """\
cluster web (CREATE_COMPLETE, HEALTHY): ready
├── helm release R (revision 1 deployed, chart 0.27.0): ready
├── Cluster R (https://203.0.113.10:6443): ready
│   ├── OpenStackCluster R: ready
│   ├── KubeadmControlPlane R-control-plane (nodegroup default-master, 1 of 1 \
ready): ready
│   │   └── Machine R-control-plane-m0 (192.168.3.10, server \
server-R-control-plane-m0, v1.34.2): ready
│   │       └── Node R-control-plane-m0: ready
│   ├── MachineDeployment R-default-worker (nodegroup default-worker, 2 of 2 \
ready): ready
│   │   ├── Machine R-default-worker-m0 (192.168.3.11, server \
server-R-default-worker-m0): ready
│   │   │   └── Node R-default-worker-m0: ready
│   │   └── Machine R-default-worker-m1 (192.168.3.12, server \
server-R-default-worker-m1): ready
│   │       └── Node R-default-worker-m1: ready
│   └── addons (4 of 4 deployed): ready
│       ├── HelmRelease R-ccm-openstack: ready
│       ├── Manifests R-cloud-config: ready
│       ├── HelmRelease R-cni-calico: ready
│       └── HelmRelease R-csi-cinder: ready
├── Lease R (nobody holds it)
└── credential R-cloud-credentials: ready
"""


class Terminal(io.StringIO):
    """What is written to it is seen at once."""

    def isatty(self) -> bool:
        return True


class DescribeTestCase(base.FlowTestCase):
    fields: Mapping[str, Any] = types.MappingProxyType({})

    def setUp(self) -> None:
        super().setUp()
        self.complete(**self.fields)
        self.health_poll()
        # The literals have whole lines, with R instead of the release.
        self.useFixture(fixtures.EnvironmentVariable("COLUMNS", "1000"))
        self.out: io.StringIO = io.StringIO()
        self.err = io.StringIO()

    def describe(self, *argv: str) -> int:
        return command_case.run(
            describe.Describe, "web", *argv, out=self.out, err=self.err
        )

    def printed(self) -> str:
        """What came out, with R for the release, and without ages."""
        text = self.out.getvalue().replace(base.RELEASE, "R")
        return re.sub(r", \d+ (?:minutes|hours) ago", "", text)

    def lines(self, *argv: str) -> list[str]:
        """The lines that are not ready, without their branches."""
        self.describe(*argv)
        return [
            each.strip("│├└─ ")
            for each in self.printed().splitlines()
            if not each.endswith(": ready") and "Lease" not in each
        ]
