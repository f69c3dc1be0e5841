# SPDX-License-Identifier: Apache-2.0
"""When the control plane's certificates are renewed."""

from __future__ import annotations

import dataclasses

from oslotest import base

from magnum_capi_helm.features import healing
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.unit.features import specs

_LABEL = "certificates_expiry_days"


def _cluster(days: str, version: str) -> cluster_spec.Cluster:
    cluster = specs.cluster({_LABEL: days})
    chart = dataclasses.replace(cluster.chart, version=version)
    return dataclasses.replace(cluster, chart=chart)


class RenewalTest(base.BaseTestCase):
    def test_the_chart_is_given_the_days(self) -> None:
        self.assertEqual(
            {"controlPlane": {"certificatesExpiryDays": 30}},
            healing.CERTIFICATES.cluster(_cluster("30", "0.28.0")),
        )

    def test_zero_leaves_it_to_the_chart(self) -> None:
        self.assertEqual(
            {}, healing.CERTIFICATES.cluster(_cluster("0", "0.28.0"))
        )

    def test_a_chart_without_the_value_is_given_none(self) -> None:
        """The default may come from the operator: no user asked for it."""
        self.assertEqual(
            {}, healing.CERTIFICATES.cluster(_cluster("30", "0.27.0"))
        )

    def test_as_many_days_as_cluster_api_takes_and_make_sense(self) -> None:
        for days in ("0", "7", "300"):
            self.assertEqual(int(days), healing.DAYS.type(days))
        for days in ("-1", "1", "6", "301", "a week"):
            self.assertRaises(ValueError, healing.DAYS.type, days)
