# SPDX-License-Identifier: Apache-2.0

"""helm's command line with the conversion, and the program that it runs."""

from __future__ import annotations

from collections.abc import Sequence
import json
import pathlib
import subprocess
import sys
from typing import Any

import yaml

from magnum_capi_helm.chart import patches
from magnum_capi_helm.helm import post_renderer
from magnum_capi_helm.tests.unit.helm import program
from magnum_capi_helm.tests.unit.helm import test_manifests

_CHECKOUT = pathlib.Path(__file__).parents[4]
_PLUGIN = (
    pathlib.Path(post_renderer.__file__).parent / "plugins/magnum-capi-helm"
)
_GROUPS = ("cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io")


_PATCH = patches.Patch(
    "OpenStackCluster", "spec.apiServerLoadBalancer.flavor", "hä"
)
_WORD = (
    '["OpenStackCluster", "spec.apiServerLoadBalancer.flavor", "h\\u00e4", '
    '"", "", ""]'
)


class CommandLineTest(program.HelmTestCase):
    def upgrade_by(
        self, version: str, *groups: str, patch: Sequence[patches.Patch] = ()
    ) -> list[str]:
        """Return what a helm of this version gets beyond the usual."""
        self.version = type(self).version
        self.answers(program.RELEASE)
        self.upgrade()
        usual = len(self.argv())
        self.version = version
        self.answers(program.RELEASE)
        self.helm().upgrade(
            "demo-1",
            "magnum-p1",
            "/store/chart.tgz",
            program.VALUES,
            convert=groups,
            patch=patch,
        )
        # The kubeconfig is last.
        return self.argv()[usual - 2 : -2]

    def test_no_plugin_runs_without_a_conversion(self) -> None:
        for version, options in {
            "v3.20.2": [],
            "v4.3.1": ["--server-side=false"],
            "unreleased": [],
        }.items():
            with self.subTest(version):
                self.assertEqual(options, self.upgrade_by(version))
                self.assertNotIn("HELM_PLUGINS", self.environment())

    def test_helm_3_runs_a_program_and_helm_4_a_plugin(self) -> None:
        """A patch is one word."""
        program_3 = [
            sys.executable,
            "-m",
            "magnum_capi_helm.helm.post_renderer",
        ]
        rows: tuple[tuple[str, Any, Any, list[str], list[str]], ...] = (
            ("v3.16.0", _GROUPS, (), program_3, sorted(_GROUPS)),
            ("v3.20.2", (), [_PATCH], program_3, [_WORD]),
            ("v4.3.1", _GROUPS, (), ["magnum-capi-helm"], sorted(_GROUPS)),
            (
                *("v4.3.1", _GROUPS[:1], [_PATCH], ["magnum-capi-helm"]),
                [_WORD, "cluster.x-k8s.io"],
            ),
        )
        for version, groups, patch, (command, *args), words in rows:
            self.assertEqual(
                [
                    *("--post-renderer", command),
                    *(f"--post-renderer-args={each}" for each in args + words),
                    *(["--server-side=false"] if version > "v4" else []),
                ],
                self.upgrade_by(version, *groups, patch=patch),
            )
            if version > "v4":
                found = self.environment()
                self.assertEqual(
                    (str(_PLUGIN.parent), sys.executable),
                    (found["HELM_PLUGINS"], found["MAGNUM_CAPI_HELM_PYTHON"]),
                )

    def test_a_template_is_patched_once(self) -> None:
        balancer = {"enabled": True}
        rendered = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "OpenStackCluster",
            "spec": {"apiServerLoadBalancer": balancer},
        }
        for version, groups, patched in (
            ("v3.20.2", (), True),
            ("v3.20.2", _GROUPS, True),
            ("v4.3.1", (), True),
            # helm's post-renderer has done it.
            ("v4.3.1", _GROUPS, False),
        ):
            self.version = version
            self.answers(json.dumps(rendered))
            (found,) = self.helm().render(
                "r", "n", "c", {}, convert=groups, patch=[_PATCH]
            )
            self.assertEqual(
                {**balancer, **({"flavor": "hä"} if patched else {})},
                found["spec"]["apiServerLoadBalancer"],
            )
            self.assertEqual(
                not patched, f"--post-renderer-args={_WORD}" in self.argv()
            )

    def test_a_template_of_helm_4_alone_is_converted(self) -> None:
        plugin = ["--post-renderer", "magnum-capi-helm"]
        words = ["--post-renderer-args=cluster.x-k8s.io"]
        for self.version, options in (
            ("v3.20.2", []),
            ("v4.3.1", plugin + words),
        ):
            self.answers("kind: Pod")
            self.helm().render(
                "r", "n", "c", {}, live=True, convert=_GROUPS[:1]
            )
            argv = self.argv()
            last = argv.index("--no-hooks") + 1
            self.assertEqual(options, argv[last:-2])
            self.assertEqual(
                bool(options), "HELM_PLUGINS" in self.environment()
            )

    def test_the_plugin_is_what_helm_4_looks_for(self) -> None:
        command = {
            "command": "${MAGNUM_CAPI_HELM_PYTHON}",
            "args": ["-m", "magnum_capi_helm.helm.post_renderer"],
        }
        self.assertEqual(
            {
                "apiVersion": "v1",
                "type": "postrenderer/v1",
                "name": "magnum-capi-helm",
                "version": "1.0.0",
                "runtime": "subprocess",
                "runtimeConfig": {"platformCommand": [command]},
            },
            yaml.safe_load((_PLUGIN / "plugin.yaml").read_text()),
        )


class ProgramTest(program.HelmTestCase):
    def run_it(self, text: str, *words: str) -> tuple[int, str, str]:
        """Return the exit code, the output and the complaint."""
        module = "magnum_capi_helm.helm.post_renderer"
        done = subprocess.run(
            [sys.executable, "-m", module, *words, *_GROUPS],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=_CHECKOUT,
            env={"LC_ALL": "C"},
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def test_the_program_converts_its_input(self) -> None:
        self.assertEqual(
            (0, test_manifests.CONVERTED, ""),
            self.run_it(test_manifests.RENDERED),
        )

    def test_the_program_patches_its_input(self) -> None:
        balancer = "spec: {apiServerLoadBalancer: {enabled: true}}\n"
        patched = (
            '{"kind": "OpenStackCluster", "spec": {"apiServerLoadBalancer": '
            '{"enabled": true, "flavor": "h\\u00e4"}}}\n'
        )
        missing = (
            "OpenStackCluster can't get spec.apiServerLoadBalancer.flavor: "
            "the chart renders no such object\n"
        )
        for text, expected in (
            (f"kind: OpenStackCluster\n{balancer}", (0, patched, "")),
            ("kind: Cluster\n", (1, "", missing)),
        ):
            self.assertEqual(expected, self.run_it(text, _WORD))

    def test_an_unconvertible_object_is_an_error_without_output(self) -> None:
        self.assertEqual(
            (
                1,
                "",
                "Cluster web-1 can't be written as cluster.x-k8s.io/v1beta2: "
                "spec.secret is no field that the driver knows of v1beta1: "
                "remove it from the values\n",
            ),
            self.run_it(
                "{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, "
                "metadata: {name: web-1}, spec: {secret: hunter2}}"
            ),
        )
