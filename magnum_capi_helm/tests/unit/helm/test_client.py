# SPDX-License-Identifier: Apache-2.0

"""The commands of helm: command line, input, environment and answer."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import itertools
import json
import os
import pathlib
import time
from typing import Any
from unittest import mock

from magnum_capi_helm.helm import client
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.helm import program


class UpgradeTest(program.HelmTestCase):
    def test_each_run_is_measured_with_its_command_and_end(self) -> None:
        told: list[tuple[str, str]] = []

        @contextlib.contextmanager
        def timed(command: str) -> Iterator[None]:
            try:
                yield
            except errors.HelmError as error:
                told.append((command, type(error).__name__))
                raise
            told.append((command, "ok"))

        helm = client.Helm("/etc/kube", 60, timed)
        self.answers(program.RELEASE)
        self.upgrade(helm)
        self.complains(
            "Error: uninstall: Release not loaded: release: not found"
        )
        helm.uninstall("demo-1", "magnum-p1")
        self.complains("Error: Kubernetes cluster unreachable")
        self.assertRaises(errors.HelmUnreachable, self.upgrade, helm)
        self.assertEqual(
            [
                ("version", "ok"),
                ("upgrade", "ok"),
                ("uninstall", "ReleaseAbsent"),
                ("upgrade", "HelmUnreachable"),
            ],
            told,
        )

    def test_the_command_line_of_an_upgrade_has_these_options(self) -> None:
        """Never --wait, --atomic, --force or --create-namespace."""
        self.answers(program.RELEASE)
        began = time.monotonic()
        seconds = self.upgrade()
        self.assertTrue(0 < seconds <= time.monotonic() - began)
        self.assertEqual(
            "upgrade demo-1 /store/chart.tgz --history-max 10 --install "
            "--output json --timeout 60s --values - --namespace magnum-p1 "
            "--kubeconfig /etc/kube",
            " ".join(self.argv()),
        )

    def test_a_revision_names_the_user_of_the_request(self) -> None:
        self.answers(program.RELEASE)
        self.upgrade()
        self.assertNotIn("--description", self.noted("argv"))
        with (
            call.acting(call.Actor("resize", "--set=a=b")),
            call.lease_guard(lambda: None),
        ):
            self.upgrade()
        pairs = itertools.pairwise(self.argv())
        self.assertIn(("--description", "resize, user --set=a=b"), pairs)

    def test_values_are_on_standard_input_alone(self) -> None:
        self.answers(program.RELEASE)
        chart = ("demo-1", "magnum-p1", "/store/chart.tgz", program.VALUES)
        for call_helm in (self.upgrade, lambda: self.helm().render(*chart)):
            call_helm()
            self.assertEqual(program.VALUES, json.loads(self.noted("stdin")))
            self.assertNotIn("hunter2", self.noted("argv"))
            self.assertNotIn("hunter2", self.noted("environment"))

    def test_the_environment_of_the_operator_does_not_apply(self) -> None:
        self.answers(program.RELEASE)
        elsewhere = {
            "HELM_DRIVER": "configmap",
            "HELM_KUBETOKEN": "t",
            "HELM_NAMESPACE": "other",
            "HELM_REGISTRY_CONFIG": "/unreadable",
            "KUBECONFIG": "/other",
            "OS_PASSWORD": "p",
            "HTTPS_PROXY": "http://proxy",
        }
        with mock.patch.dict(os.environ, elsewhere):
            self.upgrade()
        found = self.environment()
        self.assertEqual(
            {
                "HELM_CACHE_HOME": "/nonexistent/helm/cache",
                "HELM_CONFIG_HOME": "/nonexistent/helm/config",
                "HELM_DATA_HOME": "/nonexistent/helm/data",
            },
            {k: v for k, v in found.items() if k.startswith(("HELM", "OS_"))},
        )
        self.assertNotIn("KUBECONFIG", found)
        self.assertEqual("http://proxy", found["HTTPS_PROXY"])


class ComplaintsTest(program.HelmTestCase):
    def test_a_long_complaint_is_cut_and_in_no_cause(self) -> None:
        self.complains("Error: " + "x" * 5000)
        error = self.assertRaises(errors.HelmError, self.upgrade)
        self.assertLess(len(str(error)), 700)
        self.assertIsNone(error.__cause__)

    def test_a_pull_that_fails_is_a_chart_that_is_not_there(self) -> None:
        self.complains("Error: anything else")
        chart = ("c", "1.0.0", "https://charts", str(self.home))
        self.assertRaises(errors.ChartUnavailable, self.helm().pull, *chart)


class UninstallTest(program.HelmTestCase):
    def test_the_command_line_of_an_uninstall_has_these_options(self) -> None:
        """It does not wait."""
        self.answers("")
        self.helm().uninstall("demo-1", "magnum-p1")
        self.assertEqual(
            "uninstall demo-1 --timeout 60s --namespace magnum-p1 "
            "--kubeconfig /etc/kube",
            " ".join(self.argv()),
        )

    def test_an_absent_release_is_fine_and_nothing_else(self) -> None:
        self.complains(
            "Error: uninstall: Release not loaded: demo-1: release: not found"
        )
        release = ("demo-1", "magnum-p1")
        self.assertEqual(0.0, self.helm().uninstall(*release))
        self.complains("Error: Kubernetes cluster unreachable")
        self.assertRaises(
            errors.HelmUnreachable, self.helm().uninstall, *release
        )


class PullTest(program.HelmTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.staging = self.home / "staging"
        self.staging.mkdir()

    def pull(self, chart: str, repository: str) -> None:
        self.helm().pull(chart, "1.0.0", repository, str(self.staging))

    def test_a_chart_is_pulled_from_its_repository_or_a_registry(self) -> None:
        self.answers("")
        for chart, repository, words in (
            ("c", "https://charts", " --repo https://charts"),
            ("oci://r/c", "", ""),
        ):
            self.pull(chart, repository)
            self.assertEqual(
                f"pull {chart} --version 1.0.0{words} --destination "
                f"{self.staging} --kubeconfig /etc/kube",
                " ".join(self.argv()),
            )

    def test_helm_writes_nowhere_else_and_leaves_only_the_chart(self) -> None:
        self.stub(
            "for each in CACHE CONFIG DATA; do\n"
            "  eval directory=\\$HELM_${each}_HOME\n"
            '  mkdir -p "$directory/repository"\n'
            '  echo "$directory"\n'
            "done > homes\n"
            "touch staging/c-1.0.0.tgz"
        )
        self.pull("c", "https://charts")
        homes = [
            pathlib.Path(each) for each in self.noted("homes").splitlines()
        ]
        self.assertEqual(
            {self.staging}, {each.parent.parent for each in homes}
        )
        self.assertEqual(
            ["c-1.0.0.tgz"], [each.name for each in self.staging.iterdir()]
        )

    def test_the_file_of_helm_registry_login_is_helms_own(self) -> None:
        user = self.home / "user"
        file = pathlib.Path("registry", "config.json")
        for directory in (".config/helm", "xdg/helm", "helm"):
            (user / directory / file).parent.mkdir(parents=True)
            (user / directory / file).write_text("{}")
        home = {"HOME": str(user)}
        xdg = {**home, "XDG_CONFIG_HOME": str(user / "xdg")}
        helm = {**xdg, "HELM_CONFIG_HOME": str(user / "helm")}
        named = {**helm, "HELM_REGISTRY_CONFIG": "/etc/magnum/registry.json"}
        rows: tuple[tuple[dict[str, str], str | None], ...] = (
            (home, f"{user}/.config/helm/registry/config.json"),
            (xdg, f"{user}/xdg/helm/registry/config.json"),
            (helm, f"{user}/helm/registry/config.json"),
            (named, "/etc/magnum/registry.json"),
            # helm does not start with a file that it may not read.
            ({"HOME": "/nonexistent"}, None),
        )
        self.answers("")
        for given, expected in rows:
            with (
                self.subTest(given),
                mock.patch.dict(os.environ, given),
            ):
                for absent in {*named} - {*given}:
                    os.environ.pop(absent, None)
                self.pull("oci://r/c", "")
                found = self.environment()
                self.assertEqual(expected, found.get("HELM_REGISTRY_CONFIG"))


class RenderTest(program.HelmTestCase):
    def _render(self, **how: Any) -> tuple[object, str]:
        self.answers("kind: Größe\n---\n# empty\n---\nkind: Pod")
        chart = "/store/c.tgz"
        objects = self.helm().render("r", "n", chart, program.VALUES, **how)
        return objects, " ".join(self.argv())

    def test_a_manifest_is_made_as_it_is_asked_for(self) -> None:
        """Tests of the chart are never rendered."""
        command = "template r /store/c.tgz --namespace n --values -"
        for how, options in (
            ({}, "--no-hooks"),
            ({"hooks": True}, "--skip-tests"),
            ({"live": True}, "--dry-run=server --is-upgrade --no-hooks"),
        ):
            objects, argv = self._render(**how)
            self.assertEqual(({"kind": "Größe"}, {"kind": "Pod"}), objects)
            self.assertEqual(
                f"{command} {options} --kubeconfig /etc/kube", argv
            )

    def test_refused_values_and_no_yaml_are_errors(self) -> None:
        render = self.helm().render
        chart: Any = ("r", "n", "c", {})
        self.complains("Error: execution error at (c/a.yaml:1:2): no image")
        error = self.assertRaises(errors.HelmError, render, *chart)
        self.assertEqual("helm template: (c/a.yaml:1:2): no image", str(error))
        self.answers("password: {hunter2")
        error = self.assertRaises(errors.HelmError, render, *chart)
        self.assertIn("c makes no YAML", str(error))
        self.assertNotIn("hunter2", str(error))


class OtherCommandsTest(program.HelmTestCase):
    def test_the_version_is_the_output_of_helm(self) -> None:
        self.answers(program.RELEASE)
        self.assertEqual("v3.20.2", self.helm().version())

    def test_a_helm_that_fails_is_an_error_of_helm(self) -> None:
        self.version = ""
        self.complains("Error: exec format error")
        self.assertRaises(errors.HelmError, self.helm().version)

    def test_directories_become_archives_of_a_repository(self) -> None:
        self.answers("")
        helm = self.helm()
        helm.package("/src/c", "/store")
        packaged = self.argv()
        helm.index("/srv/charts")
        self.assertEqual(
            [
                "package /src/c --destination /store --kubeconfig /etc/kube",
                "repo index /srv/charts --kubeconfig /etc/kube",
            ],
            [" ".join(packaged), " ".join(self.argv())],
        )
