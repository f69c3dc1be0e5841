# SPDX-License-Identifier: Apache-2.0

"""helm's command line with the conversion, and the program that it runs."""

from __future__ import annotations

from collections.abc import Sequence
import json
import pathlib
import subprocess
import sys

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

    def test_helm_3_runs_a_program(self) -> None:
        self.assertEqual(
            [
                "--post-renderer",
                sys.executable,
                "--post-renderer-args=-m",
                "--post-renderer-args=magnum_capi_helm.helm.post_renderer",
                "--post-renderer-args=bootstrap.cluster.x-k8s.io",
                "--post-renderer-args=cluster.x-k8s.io",
            ],
            self.upgrade_by("v3.16.0", *_GROUPS),
        )

    def test_helm_4_runs_a_plugin(self) -> None:
        self.assertEqual(
            [
                "--post-renderer",
                "magnum-capi-helm",
                "--post-renderer-args=bootstrap.cluster.x-k8s.io",
                "--post-renderer-args=cluster.x-k8s.io",
                "--server-side=false",
            ],
            self.upgrade_by("v4.3.1", *_GROUPS),
        )
        environment = self.environment()
        self.assertEqual(str(_PLUGIN.parent), environment["HELM_PLUGINS"])
        self.assertEqual(
            sys.executable, environment["MAGNUM_CAPI_HELM_PYTHON"]
        )

    def test_a_patch_is_one_word(self) -> None:
        for version, groups, options in (
            (
                "v3.20.2",
                (),
                [
                    "--post-renderer",
                    sys.executable,
                    "--post-renderer-args=-m",
                    "--post-renderer-args=magnum_capi_helm.helm.post_renderer",
                    f"--post-renderer-args={_WORD}",
                ],
            ),
            (
                "v4.3.1",
                _GROUPS[:1],
                [
                    "--post-renderer",
                    "magnum-capi-helm",
                    f"--post-renderer-args={_WORD}",
                    "--post-renderer-args=cluster.x-k8s.io",
                    "--server-side=false",
                ],
            ),
        ):
            self.assertEqual(
                options, self.upgrade_by(version, *groups, patch=[_PATCH])
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
        for version, options in {
            "v3.20.2": [],
            "v4.3.1": [
                "--post-renderer",
                "magnum-capi-helm",
                "--post-renderer-args=cluster.x-k8s.io",
            ],
        }.items():
            with self.subTest(version):
                self.version = version
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
        self.assertEqual(
            {
                "apiVersion": "v1",
                "type": "postrenderer/v1",
                "name": "magnum-capi-helm",
                "version": "1.0.0",
                "runtime": "subprocess",
                "runtimeConfig": {
                    "platformCommand": [
                        {
                            "command": "${MAGNUM_CAPI_HELM_PYTHON}",
                            "args": [
                                "-m",
                                "magnum_capi_helm.helm.post_renderer",
                            ],
                        }
                    ]
                },
            },
            yaml.safe_load((_PLUGIN / "plugin.yaml").read_text()),
        )


class ProgramTest(program.HelmTestCase):
    def run_it(
        self, text: str, *words: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "magnum_capi_helm.helm.post_renderer",
                *words,
                *_GROUPS,
            ],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=_CHECKOUT,
            env={"LC_ALL": "C"},
            timeout=60,
            check=False,
        )

    def test_the_program_converts_its_input(self) -> None:
        done = self.run_it(test_manifests.RENDERED)
        self.assertEqual(
            (0, test_manifests.CONVERTED, ""),
            (done.returncode, done.stdout, done.stderr),
        )

    def test_the_program_patches_its_input(self) -> None:
        text = (
            "kind: OpenStackCluster\n"
            "spec: {apiServerLoadBalancer: {enabled: true}}\n"
        )
        done = self.run_it(text, _WORD)
        self.assertEqual(
            (
                0,
                '{"kind": "OpenStackCluster", "spec": {'
                '"apiServerLoadBalancer": {"enabled": true, '
                '"flavor": "h\\u00e4"}}}\n',
                "",
            ),
            (done.returncode, done.stdout, done.stderr),
        )

    def test_a_patch_without_an_object_is_an_error(self) -> None:
        done = self.run_it("kind: Cluster\n", _WORD)
        self.assertEqual(
            (
                1,
                "",
                "OpenStackCluster can't get spec.apiServerLoadBalancer.flavor:"
                " the chart renders no such object\n",
            ),
            (done.returncode, done.stdout, done.stderr),
        )

    def test_an_unconvertible_object_is_an_error_without_output(self) -> None:
        done = self.run_it(
            "{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, "
            "metadata: {name: web-1}, spec: {secret: hunter2}}"
        )
        self.assertEqual(
            (
                1,
                "",
                "Cluster web-1 can't be written as cluster.x-k8s.io/v1beta2: "
                "spec.secret is no field that the driver knows of v1beta1: "
                "remove it from the values\n",
            ),
            (done.returncode, done.stdout, done.stderr),
        )
