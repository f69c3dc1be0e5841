# SPDX-License-Identifier: Apache-2.0

"""Labels that only a template has."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.features import template
from magnum_capi_helm.model import labels
from magnum_capi_helm.tests.unit.features import specs


class TemplateTest(base.BaseTestCase):
    def test_the_live_cluster_shows_its_profiles(self) -> None:
        for given in ("gpu,small", "gpu small", " gpu , small,"):
            cluster = specs.cluster({"capi_helm_values_profiles": given})
            self.assertEqual(
                {
                    "clusterAnnotations": {
                        "magnum.openstack.org/values-profiles": "gpu,small"
                    }
                },
                template.PROFILES.cluster(cluster),
            )

    def test_only_the_template_has_a_say(self) -> None:
        given = {"capi_helm_values_profiles": "gpu"}
        found = labels.resolve(
            (template.PROFILE_NAMES,), labels.Sources(cluster=given), {}
        )
        self.assertEqual((), found[template.PROFILE_NAMES])

    def test_the_chart_version_is_no_value(self) -> None:
        cluster = specs.cluster({"capi_helm_chart_version": "0.26.0"})
        self.assertEqual({}, template.TOPIC.cluster(cluster))
        self.assertEqual("0.26.0", cluster.labels[template.VERSION])
