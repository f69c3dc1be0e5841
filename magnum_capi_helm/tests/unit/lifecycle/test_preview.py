# SPDX-License-Identifier: Apache-2.0

"""``values``, ``render`` and ``diff`` of a cluster: they change nothing."""

from __future__ import annotations

import io
import json
from typing import Any

import yaml

from magnum_capi_helm.cli import main
from magnum_capi_helm.cli import preview as command
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.lifecycle import base


class PreviewTest(base.FlowTestCase):
    """The commands as an operator runs them on a cluster of Magnum's."""

    def setUp(self) -> None:
        super().setUp()
        self.out = io.StringIO()
        self.err = io.StringIO()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.images["ubuntu-1.35"] = cluster_spec.Image(
            "i-2", "ubuntu-1.35", "1.35.1", "ubuntu"
        )
        return found

    def run_command(self, kind: type, *argv: str) -> str:
        """What a command prints, and that it wrote nothing."""
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), self.err
        seen = len(self.management.requests)
        with self.saves() as saved:
            command = kind(app, None)
            command.run(command.get_parser("test").parse_args(list(argv)))
        self.assertEqual([], saved)
        verbs = {each.verb for each in self.management.requests[seen:]}
        self.assertLessEqual(verbs, {"get", "list"})
        return str(app.stdout.getvalue())

    def diff(self, *argv: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            self.run_command(command.Diff, *argv, "-f", "json")
        )
        return found

    def test_values_are_those_that_helm_got(self) -> None:
        self.complete()
        printed = self.run_command(command.Values, "web")
        self.assertEqual(
            self.helm.upgrades[-1].values, yaml.safe_load(printed)
        )
        printed = self.run_command(command.Render, base.UUID)
        objects = list(yaml.safe_load_all(printed))
        self.assertIn("Cluster", [each["kind"] for each in objects])

    def test_changed_defaults_differ_in_nothing(self) -> None:
        self.complete()
        for name, value in (
            ("octavia_provider", "ovn"),
            ("boot_volume_size", 99),
            ("auto_healing_enabled", False),
        ):
            conf.CONF.set_override(name, value, "capi_helm_cluster_labels")
        self.assertEqual([], self.diff("web"))
        self.assertEqual(
            "nothing changes; no machine is replaced\n", self.err.getvalue()
        )

    def test_another_template_names_the_machines_that_go(self) -> None:
        self.complete()
        self.template(name="newer", image_id="ubuntu-1.35")
        found = self.diff("web", "--template", "newer")
        replaced = {
            row["Object"]: row["Machines replaced"]
            for row in found
            if row["Machines replaced"] != "-"
        }
        self.assertEqual(
            {
                f"KubeadmControlPlane {base.RELEASE}-control-plane": "1",
                f"MachineDeployment {base.RELEASE}-default-worker": "2",
            },
            replaced,
        )
        self.assertIn("3 machines to be replaced", self.err.getvalue())

    def test_another_label_names_the_machines_that_go(self) -> None:
        self.complete()
        label = ("--label", "node_taints=slow:NoExecute")
        found = self.diff("web", *label)[0]
        self.assertEqual(
            (f"MachineDeployment {base.RELEASE}-default-worker", "2"),
            (found["Object"], found["Machines replaced"]),
        )

    def test_absent_clusters_templates_and_releases_are_named(self) -> None:
        self.complete()
        for argv, text in (
            (("nonesuch",), "cluster nonesuch not found: choose one of"),
            (("web", "--template", "gone"), "cluster template gone not found"),
            (("web",), "cluster web has no release: nothing was made for it"),
        ):
            if argv == ("web",):
                self.vanish()
                self.saved(status="CREATE_FAILED")
            error = self.assertRaises(errors.InvalidInput, self.diff, *argv)
            self.assertIn(text, str(error))
