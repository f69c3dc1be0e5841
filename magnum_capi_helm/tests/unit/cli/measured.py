# SPDX-License-Identifier: Apache-2.0

"""What tests of ``metrics`` start with."""

from __future__ import annotations

import io

from magnum_capi_helm.cli import metrics
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.cli import listed
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.metrics import promtool

PREFIX = "magnum_capi_helm_"
SECRET = names.kubeconfig(base.RELEASE)


def run(*argv: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the command."""
    out, err = io.StringIO(), io.StringIO()
    code = command_case.run(metrics.Metrics, *argv, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def printed() -> promtool.Found:
    """The samples that it prints, by the end of their metric's name."""
    return {
        name.removeprefix(PREFIX): [
            each.removeprefix(name) for each in samples
        ]
        for name, samples in promtool.parsed(run()[1]).items()
    }


class MetricsTestCase(base.FlowTestCase):
    """One management cluster, and a cluster that is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.server.patch(
            kinds.CLUSTER, base.NAMESPACE, base.RELEASE, listed.CHART
        )
