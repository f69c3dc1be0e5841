# SPDX-License-Identifier: Apache-2.0

"""``check --from-1-4-0``, on a cluster of 1.4.0."""

from __future__ import annotations

import pathlib
from typing import Any
import uuid

import fixtures
from magnum.common import exception
from magnum.drivers.common import driver as drivers

from magnum_capi_helm.cli import check
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit import test_driver_legacy
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

RELEASE = test_driver_legacy.RELEASE


class FromOldVersionTest(test_driver_legacy.LegacyTestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = folder / "magnum.conf"
        self.set_chart(test_driver_legacy.CHART)
        # Magnum's environment has 1.4.0 and not this driver.
        error = exception.ClusterTypeNotSupported(
            server_type="vm", os="ubuntu", coe="kubernetes"
        )
        self.useFixture(
            fixtures.MockPatchObject(
                drivers.Driver, "get_driver", side_effect=error
            )
        )

    def labels(self) -> dict[str, str]:
        return {}

    def set_chart(self, version: str) -> None:
        option = f"default_helm_chart_version = {version}" if version else ""
        self.file.write_text(f"[capi_helm]\n{option}\n")
        conf.CONF(["--config-file", str(self.file)], project="magnum")

    def failed(self, *argv: str) -> list[tuple[str, str]]:
        """Return check and detail of the lines that need the operator.

        Nothing is written in the meantime.
        """
        self.management.requests.clear()
        with self.saves() as saved:
            code, self.lines = command_case.run_json(
                check.Check, "--from-1-4-0", *argv
            )
        verbs = {each.verb for each in self.management.requests}
        self.assertLessEqual(verbs, {"discover", "get", "list"})
        self.assertEqual(([], []), (saved, self.helm.upgrades))
        failed = [
            (each["Check"], each["Detail"])
            for each in self.lines
            if each["State"] == "failed"
        ]
        self.assertEqual(bool(failed), bool(code))
        return failed

    def test_a_cluster_without_problems_has_its_line(self) -> None:
        self.failed("--project", "another")
        self.assertNotIn("cluster", [each["Check"] for each in self.lines])
        self.assertEqual([], self.failed())
        self.assertEqual(
            ["configuration", "chart option", "cluster"],
            [each["Check"] for each in self.lines],
        )
        detail = self.lines[2]["Detail"]
        for part in (
            "web",
            base.UUID,
            "CREATE_COMPLETE",
            test_driver_legacy.CHART,
        ):
            self.assertIn(part, detail)

    def test_the_default_chart_version_is_not_set(self) -> None:
        self.set_chart("")
        ((name, detail),) = self.failed()
        self.assertEqual("chart option", name)
        self.assertIn("default_helm_chart_version = 0.10.1", detail)

    def test_an_option_that_this_version_refuses(self) -> None:
        self.set_option(trusted_ca_files=["/nowhere/ca.pem"])
        ((name, detail),) = self.failed()
        self.assertEqual("configuration", name)
        self.assertIn("/nowhere/ca.pem", detail)

    def test_a_cluster_that_needs_the_operator_fails_the_check(self) -> None:
        for fields, name, words in (
            (
                {"status": "UPDATE_IN_PROGRESS"},
                "cluster",
                ["UPDATE_IN_PROGRESS"],
            ),
            (
                {"labels": {"api_master_lb_allowed_cidrs": "192.0.2.0/24"}},
                "label",
                ["api_master_lb_allowed_cidrs=192.0.2.0/24", "open to all"],
            ),
            (
                {"stack_id": "gone"},
                "cluster",
                ["no release gone", "kubeconfig_file"],
            ),
        ):
            well: dict[str, Any] = {"status": "CREATE_COMPLETE", "labels": {}}
            self.save(**{**well, **fields})
            ((check, detail),) = self.failed()
            self.assertEqual(name, check)
            for each in words:
                self.assertIn(each, detail)
        self.save(stack_id=None)
        self.assertEqual([], self.failed())
        self.assertIn("no release", self.lines[2]["Detail"])

    def test_a_management_cluster_that_does_not_answer(self) -> None:
        self.management.unreachable()
        self.assertEqual([], self.failed())
        states = {each["Check"]: each["State"] for each in self.lines}
        self.assertEqual("unknown", states["management cluster"])
        self.assertNotIn("cluster", states)

    def test_labels_that_are_taken_otherwise(self) -> None:
        labels = {
            "boot_volume_size": "large",
            "monitoring_enabled": "true",
            "metrics_server_enabled": "false",
            "nodelocaldns_enabled": "true",
        }
        self.save(labels=labels)
        self.assertEqual([], self.failed())
        details = [
            each["Detail"] for each in self.lines if each["Check"] == "label"
        ]
        self.assertIn("boot_volume_size", str(details))
        self.assertIn("the default applies", str(details))
        self.assertNotIn("monitoring_enabled", str(details))

    def test_a_template_that_is_refused(self) -> None:
        self.saved(
            {
                "labels": {"auto_healing_enabled": "perhaps"},
                "network_driver": "flannel",
            },
            uuid=str(uuid.uuid4()),
            stack_id=RELEASE,
            status="CREATE_COMPLETE",
        )
        found = self.failed()
        self.assertEqual(["template", "template"], [name for name, _ in found])
        self.assertIn("auto_healing_enabled", found[0][1])
        self.assertIn("network_driver flannel", found[1][1])
