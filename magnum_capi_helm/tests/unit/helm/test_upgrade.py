# SPDX-License-Identifier: Apache-2.0

"""An upgrade: helm's command line, input and environment; its report."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import itertools
import json
import os
import time
from unittest import mock

from magnum_capi_helm.helm import client
from magnum_capi_helm.model import audit
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import timing
from magnum_capi_helm.tests.unit.helm import program


class UpgradeTest(program.HelmTestCase):
    def test_its_time_is_measured(self) -> None:
        self.answers(program.RELEASE)
        with timing.measured() as measured:
            self.upgrade()
        self.assertIn("(1 processes)", str(measured))

    def test_each_run_is_told_by_its_command_and_how_it_ended(self) -> None:
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
                ("upgrade", "ok"),
                ("uninstall", "ReleaseAbsent"),
                ("upgrade", "HelmUnreachable"),
            ],
            told,
        )

    def test_the_command_line(self) -> None:
        self.answers(program.RELEASE)
        self.upgrade()
        argv = self.noted("argv").splitlines()
        self.assertEqual(["upgrade", "demo-1"], argv[:2])
        pairs = set(itertools.pairwise(argv))
        for option, value in {
            "--namespace": "magnum-p1",
            "--timeout": "60s",
            "--history-max": "10",
            "--kubeconfig": "/etc/kube",
            "--output": "json",
        }.items():
            self.assertIn((option, value), pairs)
        self.assertIn("--install", argv)
        self.assertIn("/store/chart.tgz", argv)
        for never in ("--wait", "--atomic", "--force", "--create-namespace"):
            self.assertNotIn(never, argv)

    def test_a_revision_says_who_asked_for_it(self) -> None:
        self.answers(program.RELEASE)
        self.upgrade()
        self.assertNotIn("--description", self.noted("argv"))
        with audit.acting(audit.Actor("resize", "--set=a=b")):
            self.upgrade()
        pairs = itertools.pairwise(self.noted("argv").splitlines())
        self.assertIn(("--description", "resize, user --set=a=b"), pairs)

    def test_values_are_on_standard_input_alone(self) -> None:
        self.answers(program.RELEASE)
        self.upgrade()
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
        found = dict(
            line.split("=", 1)
            for line in self.noted("environment").splitlines()
            if "=" in line
        )
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

    def test_it_says_how_long_helm_took(self) -> None:
        self.answers(program.RELEASE)
        began = time.monotonic()
        seconds = self.upgrade()
        self.assertTrue(0 < seconds <= time.monotonic() - began)
