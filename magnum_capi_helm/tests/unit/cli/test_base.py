# SPDX-License-Identifier: Apache-2.0

"""A cluster that is named to a command has to be of this driver."""

from __future__ import annotations

import argparse
from typing import Any

from oslotest import base as oslotest_base

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import cluster
from magnum_capi_helm.cli import describe
from magnum_capi_helm.cli import kubeconfig
from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.cli import preview
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

OTHER = "11111111-2222-4333-8444-555555555555"
COMMANDS: tuple[tuple[Any, str], ...] = (
    (management_cluster.Accept, "--lost --apply"),
    (cluster.Credentials, "--apply"),
    (describe.Describe, ""),
    (preview.Diff, ""),
    (kubeconfig.Kubeconfig, ""),
    (cluster.Rollback, "--apply"),
    (preview.Values, ""),
)


class ChoiceTest(base.FlowTestCase):
    def of_driver(self, name: str | None, distro: str = "ubuntu") -> None:
        """A cluster of that driver, which has a stack."""
        template = self.template(driver=name, cluster_distro=distro)
        self.of_template(template.uuid)

    def of_template(self, template: str) -> None:
        """A cluster of that template."""
        self.cluster(
            name="heat",
            uuid=OTHER,
            cluster_template_id=template,
            stack_id="99999999-2222-4333-8444-555555555555",
            status="CREATE_COMPLETE",
        ).create()

    def test_every_command_refuses_a_cluster_of_another_driver(self) -> None:
        self.of_driver("k8s_fedora_coreos_v1")
        for ref in ("heat", OTHER):
            for kind, options in COMMANDS:
                error = self.assertRaises(
                    errors.InvalidInput,
                    command_case.run,
                    kind,
                    ref,
                    *options.split(),
                )
                self.assertEqual(
                    f"cluster heat ({OTHER}) belongs to the driver "
                    "k8s_fedora_coreos_v1: give a cluster of k8s_capi_helm_v1",
                    str(error),
                    kind,
                )
        self.assertEqual([], self.management.requests)

    def test_a_driver_without_a_name_is_told_by_what_it_is_for(self) -> None:
        self.of_driver(None, "fedora-coreos")
        error = self.assertRaises(
            errors.InvalidInput, commands.find_cluster, "heat"
        )
        self.assertEqual(
            f"cluster heat ({OTHER}) belongs to the driver for "
            "vm/fedora-coreos/kubernetes: give a cluster of k8s_capi_helm_v1",
            str(error),
        )

    def test_a_cluster_without_a_driver_in_its_template_is_taken(self) -> None:
        self.of_driver(None)
        self.assertEqual(OTHER, commands.find_cluster("heat").uuid)

    def test_a_cluster_without_a_template_is_taken(self) -> None:
        self.of_template("22222222-2222-4333-8444-555555555555")
        self.assertEqual(OTHER, commands.find_cluster("heat").uuid)


class ChartVersionTest(oslotest_base.BaseTestCase):
    def test_a_version_has_three_numbers(self) -> None:
        for text in ("", "0.27.0", "v0.27.0", "0.27.0-dev.1+a"):
            self.assertEqual(text, commands.chart_version(text))
        for text in ("0.27", "latest", "0.27.0 "):
            error = self.assertRaises(
                argparse.ArgumentTypeError, commands.chart_version, text
            )
            self.assertEqual(f"{text!r} is not a version", str(error))
