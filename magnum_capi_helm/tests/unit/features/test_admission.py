# SPDX-License-Identifier: Apache-2.0
"""Admission plugins and Pod Security."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.features import admission
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs


class PluginsTest(base.BaseTestCase):
    def test_defaults_and_exemptions_alone_are_no_configuration(self) -> None:
        for given in ({}, {"pod_security_exempt_namespaces": "legacy"}):
            self.assertEqual({}, admission.TOPIC.cluster(specs.cluster(given)))

    def test_lists_that_the_api_server_dies_of_are_refused(self) -> None:
        enabled = "admission_control_list"
        disabled = "admission_control_disabled_list"
        for given, phrase in (
            ({enabled: "PodSecurityPolicy"}, "see pod_security_enforce"),
            (
                {enabled: "PodNodeSelector,EventRateLimit"},
                "EventRateLimit: it needs a configuration of its own",
            ),
            (
                {disabled: "NodeRestriction"},
                "NodeRestriction, which is enabled",
            ),
            (
                {enabled: "PodNodeSelector", disabled: "PodNodeSelector"},
                "PodNodeSelector, which is enabled",
            ),
        ):
            error = self.assertRaises(
                errors.LabelError, admission.TOPIC.check, specs.cluster(given)
            )
            *_, refused = given.items()
            self.assertEqual(refused, (error.name, error.value))
            self.assertIn(phrase, error.allowed)
        admission.TOPIC.check(specs.cluster({enabled: "AlwaysPullImages"}))
