# SPDX-License-Identifier: Apache-2.0

"""``check --rollback``, on a cluster of 1.4.0 and on one of this driver."""

from __future__ import annotations

import io
import json
import pathlib

import fixtures

from magnum_capi_helm.cmd import check
from magnum_capi_helm.cmd import main
from magnum_capi_helm.config import conf
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cmd import legacy_reports
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
from magnum_capi_helm.tests.unit.lifecycle import test_legacy

RELEASE = test_legacy.RELEASE


class RollbackTest(legacy_reports.ReportCase):
    def report(self, *argv: str) -> tuple[int, list[dict[str, str]]]:
        """Exit code and lines."""
        return self.run_command(check.Check, "--rollback", *argv)

    def chart(self, version: str) -> None:
        """The operator's option, in a configuration file."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = folder / "magnum.conf"
        file.write_text(
            f"[capi_helm]\ndefault_helm_chart_version = {version}\n"
        )
        conf.CONF(["--config-file", str(file)], project="magnum")

    def test_a_cluster_of_1_4_0_with_its_chart_in_the_option(self) -> None:
        self.chart(test_legacy.CHART)
        code, (line,) = self.report()
        self.assertEqual(
            {
                "Project": "fake_project",
                "Name": "web",
                "UUID": base.UUID,
                "Level": "ok",
                "About": "status",
                "What": "an operation of 1.4.0 changes what was asked for, "
                "and no more",
                "Prevented by": "",
            },
            line,
        )
        self.assertEqual(0, code)

    def test_the_option_that_was_never_set(self) -> None:
        code, found = self.report("--to-do")
        self.assertEqual(1, code)
        self.assertEqual(
            [
                ("", "[capi_helm] default_helm_chart_version = 0.16.0"),
                (
                    base.UUID,
                    "[capi_helm] default_helm_chart_version = 0.16.0",
                ),
            ],
            [(each["UUID"], each["Prevented by"]) for each in found],
        )
        self.assertIn("chart 0.10.1 in place of 0.16.0", found[1]["What"])
        self.assertEqual(
            "1 cluster: 1 needs the operator (chart 2)\n", self.err.getvalue()
        )

    def test_a_default_that_somebody_wrote_down_counts(self) -> None:
        self.chart("0.27.0")
        _, found = self.report("--to-do")
        self.assertIn("chart 0.27.0 in place of 0.16.0", found[1]["What"])

    def test_the_options_are_those_of_this_moment(self) -> None:
        self.chart(test_legacy.CHART)
        conf.CONF.set_override(
            "octavia_provider", "ovn", "capi_helm_cluster_labels"
        )
        code, found = self.report("--to-do")
        self.assertEqual(1, code)
        self.assertEqual(
            ["network", "addons"], [each["About"] for each in found]
        )
        self.assertEqual(
            "[capi_helm_cluster_labels] octavia_provider = amphora",
            found[0]["Prevented by"],
        )

    def test_a_release_of_which_no_revision_can_be_read(self) -> None:
        self.chart(test_legacy.CHART)
        record = f"sh.helm.release.v1.{RELEASE}.v1"
        self.server.patch(
            kinds.SECRET, base.NAMESPACE, record, {"data": {"release": "bm8="}}
        )
        code, (line,) = self.report()
        self.assertEqual((1, "act"), (code, line["Level"]))
        self.assertIn("nobody can say", line["What"])

    def test_a_management_cluster_that_is_silent(self) -> None:
        self.chart(test_legacy.CHART)
        self.management.unreachable()
        code, (line,) = self.report()
        self.assertEqual((1, "act"), (code, line["Level"]))

    def test_choices_of_findings_are_refused_without_it(self) -> None:
        error = self.assertRaises(
            errors.InvalidInput, self.run_command, check.Check, "--to-do"
        )
        self.assertEqual(
            "--project, --all and --to-do are for --rollback: give it, or "
            "leave them away",
            str(error),
        )


class OfThisDriverTest(base.FlowTestCase):
    """A cluster that this driver made."""

    def test_its_machines_would_be_replaced(self) -> None:
        self.complete()
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), io.StringIO()
        command = check.Check(app, None)
        words = ["--rollback", "--to-do", "-f", "json"]
        code = command.run(command.get_parser("test").parse_args(words))
        found = json.loads(app.stdout.getvalue())
        self.assertEqual(1, code)
        self.assertEqual(
            ["chart", "chart", "machines", "addons"],
            [each["About"] for each in found],
        )
        self.assertIn(
            "control plane (nodeLabels, machineMetadata)", found[2]["What"]
        )
        self.assertIn("addons.reloader.enabled", found[3]["What"])


class SeveralTest(placing.PlacesTestCase):
    """A complete cluster on b, of two management clusters."""

    def setUp(self) -> None:
        super().setUp()
        self.made()

    def place(self) -> list[str]:
        """What is said of where it is."""
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), io.StringIO()
        command = check.Check(app, None)
        words = ["--rollback", "-f", "json"]
        command.run(command.get_parser("test").parse_args(words))
        return [
            each["Level"]
            for each in json.loads(app.stdout.getvalue())
            if each["About"] == "management cluster"
        ]

    def test_1_4_0_finds_it_where_its_one_kubeconfig_leads(self) -> None:
        for path, expected in (("/kube/b", []), ("/kube/a", ["act"])):
            conf.CONF.set_override("kubeconfig_file", path, "capi_helm")
            self.assertEqual(expected, self.place())

    def test_what_is_silent_hides_nothing_of_the_other(self) -> None:
        conf.CONF.set_override("kubeconfig_file", "/kube/a", "capi_helm")
        self.stop("a")
        self.assertEqual(["act"], self.place())
