# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""The helm program, with a stand-in for it on the PATH."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import itertools
import json
import os
import pathlib
import select
import shlex
import shutil
import time
from typing import Any
from unittest import mock

import fixtures
from oslotest import base

from magnum_capi_helm import actor
from magnum_capi_helm import exceptions
from magnum_capi_helm import fence
from magnum_capi_helm.helm import client
from magnum_capi_helm.operations import spent

VALUES = {"apiServer": {"password": "hunter2"}, "größe": [1, None]}
RELEASE = json.dumps(
    {
        "name": "demo-1",
        "namespace": "magnum-p1",
        "version": 1,
        "info": {
            "first_deployed": "2026-11-21T12:00:00Z",
            "last_deployed": "2026-11-21T12:00:00Z",
            "deleted": "",
            "description": "Install complete",
            "status": "deployed",
            "notes": "",
        },
        "chart": {
            "metadata": {
                "apiVersion": "v2",
                "name": "openstack-cluster",
                "version": "0.27.0",
            }
        },
        "manifest": "",
    }
)


class _HelmTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.bin = self.home / "bin"
        self.bin.mkdir()
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        self.useFixture(fixtures.EnvironmentVariable("PATH", path))

    def _stub(self, body: str) -> None:
        """helm is a script that notes how it was called, then does this."""
        script = f"""#!/bin/sh
cd {shlex.quote(str(self.home))}
printf '%s\\n' "$@" > argv
env > environment
cat > stdin
{body}
"""
        stub = self.bin / "helm"
        stub.write_text(script)
        stub.chmod(0o755)

    def _answers(self, text: str) -> None:
        self._stub(f"printf '%s' {shlex.quote(text)}")

    def _complains(self, text: str) -> None:
        self._stub(f"printf '%s' {shlex.quote(text)} >&2; exit 1")

    def _noted(self, what: str) -> str:
        return (self.home / what).read_text()

    def _helm(self, timeout: float = 60) -> client.Helm:
        seconds: Any = timeout
        return client.Helm("/etc/kube", seconds, str(self.home / "caches"))

    def _upgrade(self, helm: client.Helm | None = None) -> float:
        return (helm or self._helm()).upgrade(
            "demo-1", "magnum-p1", "/store/chart.tgz", VALUES
        )


class UpgradeTest(_HelmTest):
    def test_its_time_is_measured(self) -> None:
        self._answers(RELEASE)
        with spent.measured() as measured:
            self._upgrade()
        self.assertIn("(1 processes)", str(measured))

    def test_each_run_is_told_by_its_command_and_how_it_ended(self) -> None:
        told: list[tuple[str, str]] = []

        @contextlib.contextmanager
        def timed(command: str) -> Iterator[None]:
            try:
                yield
            except exceptions.HelmError as error:
                told.append((command, type(error).__name__))
                raise
            told.append((command, "ok"))

        helm = client.Helm("/etc/kube", 60, str(self.home), timed)
        self._answers(RELEASE)
        self._upgrade(helm)
        self._complains(
            "Error: uninstall: Release not loaded: release: not found"
        )
        helm.uninstall("demo-1", "magnum-p1")
        self._complains("Error: Kubernetes cluster unreachable")
        self.assertRaises(exceptions.HelmUnreachable, self._upgrade, helm)
        self.assertEqual(
            [
                ("upgrade", "ok"),
                ("uninstall", "ReleaseAbsent"),
                ("upgrade", "HelmUnreachable"),
            ],
            told,
        )

    def test_the_command_line(self) -> None:
        self._answers(RELEASE)
        self._upgrade()
        argv = self._noted("argv").splitlines()
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
        self._answers(RELEASE)
        self._upgrade()
        self.assertNotIn("--description", self._noted("argv"))
        with actor.acting(actor.Actor("resize", "--set=a=b")):
            self._upgrade()
        pairs = itertools.pairwise(self._noted("argv").splitlines())
        self.assertIn(("--description", "resize, user --set=a=b"), pairs)

    def test_values_are_on_standard_input_alone(self) -> None:
        self._answers(RELEASE)
        self._upgrade()
        self.assertEqual(VALUES, json.loads(self._noted("stdin")))
        self.assertNotIn("hunter2", self._noted("argv"))
        self.assertNotIn("hunter2", self._noted("environment"))

    def test_the_environment_of_the_operator_does_not_apply(self) -> None:
        self._answers(RELEASE)
        elsewhere = {
            "HELM_KUBETOKEN": "t",
            "HELM_NAMESPACE": "other",
            "KUBECONFIG": "/other",
            "OS_PASSWORD": "p",
            "HTTPS_PROXY": "http://proxy",
        }
        with mock.patch.dict(os.environ, elsewhere):
            self._upgrade()
        found = dict(
            line.split("=", 1)
            for line in self._noted("environment").splitlines()
            if "=" in line
        )
        self.assertEqual(
            {
                "HELM_CACHE_HOME": f"{self.home}/caches/cache",
                "HELM_CONFIG_HOME": f"{self.home}/caches/config",
                "HELM_DATA_HOME": f"{self.home}/caches/data",
            },
            {k: v for k, v in found.items() if k.startswith(("HELM", "OS_"))},
        )
        self.assertNotIn("KUBECONFIG", found)
        self.assertEqual("http://proxy", found["HTTPS_PROXY"])

    def test_it_says_how_long_helm_took(self) -> None:
        self._answers(RELEASE)
        began = time.monotonic()
        seconds = self._upgrade()
        self.assertTrue(0 < seconds <= time.monotonic() - began)


class ComplaintsTest(_HelmTest):
    def test_a_long_complaint_is_cut(self) -> None:
        self._complains("Error: " + "x" * 5000)
        error = self.assertRaises(exceptions.HelmError, self._upgrade)
        self.assertLess(len(str(error)), 700)

    def test_no_cause_carries_what_helm_printed(self) -> None:
        self._complains("Error: no")
        error = self.assertRaises(exceptions.HelmError, self._upgrade)
        self.assertIsNone(error.__cause__)

    def test_a_pull_that_fails_is_a_chart_that_is_not_there(self) -> None:
        self._complains("Error: anything else")
        self.assertRaises(
            exceptions.ChartUnavailable,
            self._helm().pull,
            "c",
            "1.0.0",
            "https://charts",
            "/tmp/x",
        )


class UninstallTest(_HelmTest):
    def test_the_command_line(self) -> None:
        self._answers("")
        self._helm().uninstall("demo-1", "magnum-p1")
        argv = self._noted("argv").splitlines()
        self.assertEqual(["uninstall", "demo-1"], argv[:2])
        pairs = set(itertools.pairwise(argv))
        self.assertIn(("--namespace", "magnum-p1"), pairs)
        self.assertIn(("--timeout", "60s"), pairs)
        self.assertNotIn("--wait", argv)

    def test_a_release_that_is_not_there_is_fine(self) -> None:
        self._complains(
            "Error: uninstall: Release not loaded: demo-1: release: not found"
        )
        self.assertEqual(0.0, self._helm().uninstall("demo-1", "magnum-p1"))

    def test_any_other_complaint_is_not(self) -> None:
        self._complains("Error: Kubernetes cluster unreachable")
        self.assertRaises(
            exceptions.HelmUnreachable,
            self._helm().uninstall,
            "demo-1",
            "magnum-p1",
        )


class PullTest(_HelmTest):
    def test_a_chart_of_a_repository(self) -> None:
        self._answers("")
        self._helm().pull("c", "1.0.0", "https://charts", "/store")
        argv = self._noted("argv").splitlines()
        self.assertEqual(
            "pull c --version 1.0.0 --repo https://charts --destination "
            "/store --kubeconfig /etc/kube",
            " ".join(argv),
        )

    def test_a_chart_of_a_registry_has_no_repository(self) -> None:
        self._answers("")
        self._helm().pull("oci://r/c", "1.0.0", "", "/store")
        self.assertNotIn("--repo", self._noted("argv").splitlines())


class RenderTest(_HelmTest):
    def _render(self, **how: bool) -> tuple[str, str]:
        """What it gives, and the command line."""
        self._answers("kind: Größe")
        found = self._helm().render("r", "n", "/store/c.tgz", VALUES, **how)
        return found, " ".join(self._noted("argv").splitlines())

    def test_a_manifest_is_made_without_a_cluster(self) -> None:
        found, argv = self._render()
        self.assertEqual("kind: Größe", found)
        self.assertEqual(
            "template r /store/c.tgz --namespace n --values - --no-hooks "
            "--kubeconfig /etc/kube",
            argv,
        )

    def test_values_are_on_standard_input_alone(self) -> None:
        _, argv = self._render()
        self.assertEqual(VALUES, json.loads(self._noted("stdin")))
        self.assertNotIn("hunter2", argv)

    def test_a_live_one_is_as_the_upgrade_would_be(self) -> None:
        _, argv = self._render(live=True)
        self.assertIn(" --dry-run=server --is-upgrade ", argv)

    def test_hooks_are_rendered_on_demand_but_tests_never(self) -> None:
        _, argv = self._render(hooks=True)
        self.assertIn("--skip-tests", argv)
        self.assertNotIn("--no-hooks", argv)

    def test_values_that_the_chart_refuses(self) -> None:
        self._complains("Error: execution error at (c/a.yaml:1:2): no image")
        error = self.assertRaises(
            exceptions.HelmError, self._helm().render, "r", "n", "c", {}
        )
        self.assertEqual("helm template: (c/a.yaml:1:2): no image", str(error))


class RepositoryTest(_HelmTest):
    def test_a_directory_becomes_an_archive(self) -> None:
        self._answers("")
        self._helm().package("/src/c", "/store")
        self.assertEqual(
            "package /src/c --destination /store --kubeconfig /etc/kube",
            " ".join(self._noted("argv").splitlines()),
        )

    def test_archives_become_a_repository(self) -> None:
        self._answers("")
        self._helm().index("/srv/charts")
        self.assertEqual(
            "repo index /srv/charts --kubeconfig /etc/kube",
            " ".join(self._noted("argv").splitlines()),
        )


class VersionTest(_HelmTest):
    def test_it_is_what_helm_says(self) -> None:
        self._answers("v3.16.2\n")
        self.assertEqual("v3.16.2", self._helm().version())

    def test_a_helm_that_fails_is_an_error_of_helm(self) -> None:
        self._complains("Error: exec format error")
        self.assertRaises(exceptions.HelmError, self._helm().version)


class ProcessTest(_HelmTest):
    #: Half a second of the grace beyond helm's own time-out remains.
    HALF_A_SECOND = -29.5

    def test_the_deadline_ends_helm_and_all_that_it_started(self) -> None:
        self._stub("sleep 60 & echo $! > child; wait")
        began = time.monotonic()
        error = self.assertRaises(
            exceptions.HelmUnreachable,
            self._upgrade,
            self._helm(self.HALF_A_SECOND),
        )
        self.assertLess(time.monotonic() - began, 1)
        self.assertIn("helm upgrade did not end within", str(error))
        self.assertTrue(_ends(int(self._noted("child"))))

    def test_a_helm_that_was_killed_is_tried_again(self) -> None:
        self._stub("kill -KILL $$")
        error = self.assertRaises(exceptions.HelmUnreachable, self._upgrade)
        self.assertEqual("helm upgrade was killed (SIGKILL)", str(error))
        self.assertTrue(error.retriable)

    def test_helm_is_the_leader_of_its_own_session(self) -> None:
        self._stub(
            f"ps -o sid= -p $$ > sid; printf '%s' {shlex.quote(RELEASE)}"
        )
        self._upgrade()
        self.assertNotEqual(os.getsid(0), int(self._noted("sid")))

    def test_without_the_lease_none_is_started(self) -> None:
        self._stub("touch started")

        def refuse() -> None:
            raise exceptions.LeaseLost("demo-1")

        with fence.around(refuse):
            self.assertRaises(exceptions.LeaseLost, self._upgrade)
        self.assertFalse((self.home / "started").exists())

    def test_a_missing_helm_says_what_to_install(self) -> None:
        with mock.patch.dict(os.environ, {"PATH": str(self.bin)}):
            error = self.assertRaises(exceptions.NotConfigured, self._upgrade)
        self.assertIn("install helm", str(error))

    def test_a_missing_helm_beside_setpriv_says_so_as_well(self) -> None:
        setpriv = shutil.which("setpriv")
        if not setpriv:
            self.skipTest("no setpriv here")
        (self.bin / "setpriv").symlink_to(str(setpriv))
        with mock.patch.dict(os.environ, {"PATH": str(self.bin)}):
            error = self.assertRaises(exceptions.CapiHelmError, self._upgrade)
        self.assertIsInstance(error, exceptions.NotConfigured)


def _ends(pid: int) -> bool:
    """Whether a process ends within moments, if it has not yet."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 5)[0])
    finally:
        os.close(handle)
