# SPDX-License-Identifier: Apache-2.0

"""The installer of management clusters: every command that it runs."""

from __future__ import annotations

import shlex
import stat

import yaml

from magnum_capi_helm.kubernetes import permissions
from tools.tests.tools import components
from tools.tests.tools import installer


class InstallTest(installer.InstallerTestCase):
    def test_an_empty_management_cluster_gets_everything(self) -> None:
        commands = self.install()
        self.assertEqual("", self.done.stderr)
        self.assertEqual(0, self.done.returncode)
        self.assertEqual(components.EVERYTHING, commands)
        self.assertIn("ignition=true", self.done.stdout)
        found = (self.path / "cache" / "clusterctl-0.27.0.yaml").read_text()
        base = "T/cache/providers"
        self.assertEqual(
            "providers:\n"
            "- name: cluster-api\n"
            "  type: CoreProvider\n"
            f"  url: {base}/cluster-api/v1.13.3/core-components.yaml\n"
            "- name: kubeadm\n"
            "  type: BootstrapProvider\n"
            f"  url: {base}/bootstrap-kubeadm/v1.13.3/"
            "bootstrap-components.yaml\n"
            "- name: kubeadm\n"
            "  type: ControlPlaneProvider\n"
            f"  url: {base}/control-plane-kubeadm/v1.13.3/"
            "control-plane-components.yaml\n"
            "- name: openstack\n"
            "  type: InfrastructureProvider\n"
            f"  url: {base}/infrastructure-openstack/v0.14.6/"
            "infrastructure-components.yaml\n",
            self.stubs.plain(found),
        )

    def test_older_ones_are_upgraded_missing_ones_added(self) -> None:
        tail = components.CLUSTERCTL_TAIL
        for versions, expected, said in (
            (
                "CoreProvider/cluster-api=v1.13.3 "
                "BootstrapProvider/kubeadm=v1.13.3 "
                "ControlPlaneProvider/kubeadm=v1.13.3 "
                "InfrastructureProvider/openstack=v0.14.6",
                [],
                "cluster-api 1.13.3 is there",
            ),
            # As a run leaves it that ended between the two.
            (
                "CoreProvider/cluster-api=v1.9.6 "
                "BootstrapProvider/kubeadm=v1.13.3 "
                "ControlPlaneProvider/kubeadm=v1.14.0",
                [
                    "clusterctl-linux-amd64 upgrade apply --core "
                    f"cluster-api:v1.13.3 {tail}",
                    "clusterctl-linux-amd64 init --infrastructure "
                    f"openstack:v0.14.6 {tail}",
                ],
                "control-plane-kubeadm is 1.14.0, which is newer: left as it "
                "is",
            ),
        ):
            self.stubs.answer("kubectl", installer.INSTALLED.format(versions))
            commands = self.install()
            self.assertEqual(0, self.done.returncode, self.done.stderr)
            self.assertEqual(
                expected, [e for e in commands if e.startswith("clusterctl")]
            )
            self.assertIn(said, self.done.stdout)

    def test_an_old_chart_needs_no_orc_and_may_do_without_janitor(
        self,
    ) -> None:
        commands = " ".join(
            self.install("--chart", "0.23.0", "--without-janitor")
        )
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        self.assertNotIn("orc-system", commands)
        self.assertNotIn("janitor", commands)
        self.assertIn("--core cluster-api:v1.10.4", commands)
        self.assertIn("--infrastructure openstack:v0.11.3", commands)

    def test_a_dry_run_reads_and_changes_nothing(self) -> None:
        commands = self.install(
            "--dry-run", "--driver-kubeconfig", f"{self.path}/driver"
        )
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        self.assertEqual(
            [
                *components.READY,
                *components.NOBODYS,
                *components.CERT_MANAGER[:2],
                components.ORC[0],
                components.ADDONS[0],
                components.JANITOR[0],
                components.DRIVER_USER[0],
            ],
            commands,
        )
        self.assertFalse((self.path / "cache").exists())
        self.assertFalse((self.path / "driver").exists())
        shown = self.stubs.plain(self.done.stdout)
        self.assertIn(f"would fetch: {components.HELM_URL}\n", shown)
        self.assertIn(f"would run: {components.ORC[2]}\n", shown)
        self.assertIn(
            f"would run: T/cache/helm/v3.17.3/{components.ADDONS[2]}\n", shown
        )

    def test_the_driver_gets_a_user_of_its_own(self) -> None:
        driver = self.path / "driver"
        commands = self.install("--driver-kubeconfig", str(driver))
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        self.assertEqual(components.DRIVER_USER, commands[-6:])
        text = driver.read_text()
        self.assertIn("server: https://capi.example.org:6443\n", text)
        self.assertIn("certificate-authority-data: Y2E=\n", text)
        self.assertIn("token: secret-token\n", text)
        self.assertEqual(0o600, stat.S_IMODE(driver.stat().st_mode))
        everything = " ".join([*commands, self.done.stdout, self.done.stderr])
        self.assertNotIn("secret-token", everything)

    def test_the_policy_keeps_its_prefixes_unless_others_are_given(
        self,
    ) -> None:
        applied = self.path / "applied"
        first = f'"--filename -") cat >>{applied} ;;\n    *"data.ca"'
        kubectl = installer.KUBECTL.replace('"data.ca"', first)
        user = ("--driver-kubeconfig", f"{self.path}/driver")
        for present, argv, expected in (
            ("", (), "magnum"),
            ("north|south", (), "north|south"),
            (
                "north",
                ("--namespace-prefix", "east", "--namespace-prefix", "west-2"),
                "east|west-2",
            ),
        ):
            with self.subTest(expected):
                applied.unlink(missing_ok=True)
                text = permissions.manifest(
                    present.split("|") if present else ()
                )
                policy = next(
                    each
                    for each in yaml.safe_load_all(text)
                    if each["kind"] == "ValidatingAdmissionPolicy"
                )
                [condition] = policy["spec"]["matchConditions"]
                answer = shlex.quote(condition["expression"])
                if present:
                    kubectl = kubectl.replace(
                        '*"config view"',
                        f'*" get validating"*) echo {answer} ;;\n    '
                        '*"config view"',
                    )
                self.stubs.answer("kubectl", kubectl)
                self.install(*user, *argv)
                self.assertEqual("", self.done.stderr)
                manifest, _, _ = applied.read_text().partition(
                    "apiVersion: v1\nkind: Secret\n"
                )
                self.assertEqual(
                    permissions.manifest(expected.split("|")), manifest
                )

    def test_bad_arguments_are_refused_before_anything(self) -> None:
        unread = "there is no file /nowhere that can be read"
        for argv, why in (
            ("--chart 0.99.0", "--chart '0.99.0' is not known: give one"),
            ("--chart", "--chart needs a value"),
            ("--cache --dry-run", "--cache needs a value"),
            ("--all", "--all is no option: see --help"),
            (
                "--namespace-prefix a|b",
                "--namespace-prefix a|b: allowed are lowercase letters",
            ),
            ("--kubeconfig /nowhere", unread),
            ("--checksums /nowhere", unread),
        ):
            self.assertIn(f"error: {why}", self.refusal(*argv.split()))

    def test_strange_surroundings_are_refused(self) -> None:
        for program, answer, why in (
            (
                "kubectl",
                '[[ $* != *"get crd clusters.cluster"* ]] || echo crd',
                "Cluster API is on the management cluster, and clusterctl did "
                "not install it: whoever did, has to upgrade it",
            ),
            (
                "kubectl",
                "exit 1",
                "the management cluster of T/kubeconfig does not answer, or "
                "is not ready",
            ),
            (
                "uname",
                "echo riscv64",
                "riscv64 is no architecture that is known: only x86_64 and "
                "aarch64 are",
            ),
        ):
            self.stubs.answer("kubectl", installer.KUBECTL)
            self.stubs.answer(program, answer)
            self.assertIn(f"error: {why}\n", self.refusal())
