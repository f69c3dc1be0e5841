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

"""The installer of management clusters: every command that it runs."""

from __future__ import annotations

import stat

from oslotest import base

from magnum_capi_helm.tests.unit.tools import stubs

SCRIPT = str(stubs.ROOT / "tools" / "install-management-cluster.sh")

#: An empty management cluster, that has a token for whoever asks.
KUBECTL = """
case "$*" in
    *"data.token"*) echo -n secret-token | base64 ;;
    *"data.ca"*) echo Y2E= ;;
    *"--filename -") cat >/dev/null ;;
    *"config view"*) echo https://capi.example.org:6443 ;;
esac
"""
#: The same with what clusterctl installed.
INSTALLED = """
case "$*" in
    *"get crd"*) echo crd ;;
    *"get providers"*) printf '%s\\n' {} ;;
esac
"""

_KUBE = "kubectl --kubeconfig T/kubeconfig"
_CURL = (
    "curl --fail --silent --show-error --location --proto =https --retry 3 "
    "--connect-timeout 20 --max-time 900 --output T/cache"
)
_CAPI = "https://github.com/kubernetes-sigs/cluster-api/releases/download"
_CAPO = (
    "https://github.com/kubernetes-sigs/cluster-api-provider-openstack/"
    "releases/download"
)
_HELM = "https://get.helm.sh/helm-v3.17.3-linux-amd64.tar.gz"
_CERT_MANAGER = (
    "https://github.com/cert-manager/cert-manager/releases/download"
)
_ORC = (
    "https://github.com/k-orc/openstack-resource-controller/releases/download"
)
_AZIMUTH = "https://azimuth-cloud.github.io"

READY = [f"{_KUBE} get --raw /readyz"]
HELM = [
    f"{_CURL}/helm/helm-v3.17.3-linux-amd64.tar.gz.part {_HELM}",
    f"{_CURL}/helm/helm-v3.17.3-linux-amd64.tar.gz.sums {_HELM}.sha256sum",
    "tar --extract --gzip --file "
    "T/cache/helm/helm-v3.17.3-linux-amd64.tar.gz --directory "
    "T/cache/helm/v3.17.3 --strip-components 1 linux-amd64/helm",
]
CERT_MANAGER = [
    f"{_KUBE} get deployments --all-namespaces --output name --selector "
    "app.kubernetes.io/name=cert-manager\\,"
    "app.kubernetes.io/version\\!=v1.20.3",
    f"{_CURL}/cert-manager/v1.20.3/cert-manager.yaml.part "
    f"{_CERT_MANAGER}/v1.20.3/cert-manager.yaml",
    f"{_KUBE} apply --server-side --force-conflicts --filename "
    "T/cache/cert-manager/v1.20.3/cert-manager.yaml",
    f"{_KUBE} rollout status deployment/cert-manager --namespace "
    "cert-manager --timeout 10m",
    f"{_KUBE} rollout status deployment/cert-manager-cainjector --namespace "
    "cert-manager --timeout 10m",
    f"{_KUBE} rollout status deployment/cert-manager-webhook --namespace "
    "cert-manager --timeout 10m",
]
ORC = [
    f"{_CURL}/orc/v2.6.0/install.yaml.part {_ORC}/v2.6.0/install.yaml",
    f"{_KUBE} apply --server-side --force-conflicts --filename "
    "T/cache/orc/v2.6.0/install.yaml",
    f"{_KUBE} rollout status deployment/orc-controller-manager --namespace "
    "orc-system --timeout 10m",
]
PROVIDER_FILES = [
    f"{_CURL}/clusterctl/v1.13.3/clusterctl-linux-amd64.part "
    f"{_CAPI}/v1.13.3/clusterctl-linux-amd64",
    *(
        f"{_CURL}/providers/{directory}/v{version}/{file}.part "
        f"{base}/v{version}/{file}"
        for directory, version, base, role in (
            ("cluster-api", "1.13.3", _CAPI, "core"),
            ("bootstrap-kubeadm", "1.13.3", _CAPI, "bootstrap"),
            ("control-plane-kubeadm", "1.13.3", _CAPI, "control-plane"),
            ("infrastructure-openstack", "0.14.6", _CAPO, "infrastructure"),
        )
        for file in (f"{role}-components.yaml", "metadata.yaml")
    ),
    f"{_KUBE} get crd providers.clusterctl.cluster.x-k8s.io "
    "--ignore-not-found --output name",
]
NOBODYS = [
    f"{_KUBE} get crd clusters.cluster.x-k8s.io --ignore-not-found --output "
    "name",
]
_CLUSTERCTL_TAIL = (
    "--config T/cache/clusterctl-0.27.0.yaml --kubeconfig T/kubeconfig "
    "--wait-providers"
)
INIT = [
    "clusterctl-linux-amd64 init --core cluster-api:v1.13.3 --bootstrap "
    "kubeadm:v1.13.3 --control-plane kubeadm:v1.13.3 --infrastructure "
    f"openstack:v0.14.6 {_CLUSTERCTL_TAIL}",
]


def chart(name: str, version: str, namespace: str) -> list[str]:
    """How a chart of azimuth-cloud is installed."""
    return [
        f"{_CURL}/charts/{name}-{version}.tgz.part "
        f"{_AZIMUTH}/{name}/{name}-{version}.tgz",
        f"helm upgrade --install {name} T/cache/charts/{name}-{version}.tgz "
        f"--kubeconfig T/kubeconfig --namespace {namespace} "
        "--create-namespace --wait --timeout 10m",
    ]


ADDONS = chart("cluster-api-addon-provider", "0.12.1", "capi-addon-system")
JANITOR = chart(
    "cluster-api-janitor-openstack", "0.14.0", "capi-janitor-system"
)


class InstallTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        names = ("clusterctl", "curl", "helm", "kubectl", "tar", "uname")
        self.stubs = self.useFixture(
            stubs.Stubs(
                names,
                {
                    "clusterctl-linux-amd64": (
                        "echo ignition=$EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION"
                    ),
                    "curl": stubs.CURL,
                    "kubectl": KUBECTL,
                    "tar": stubs.TAR,
                    "uname": "echo x86_64",
                },
            )
        )
        self.path = self.stubs.path
        (self.path / "kubeconfig").touch()

    def install(self, *argv: str) -> list[str]:
        """Run it; the commands without those that ask for the machine."""
        self.done = self.stubs.bash(
            SCRIPT,
            "--kubeconfig",
            f"{self.path}/kubeconfig",
            "--cache",
            f"{self.path}/cache",
            *argv,
        )
        return [each for each in self.stubs.commands() if each != "uname -m"]

    def refusal(self, *argv: str) -> str:
        """The error of a run that changes nothing."""
        commands = self.install(*argv)
        self.assertEqual(1, self.done.returncode, self.done.stdout)
        changes = [
            each
            for each in commands
            if " apply " in each or each.startswith(("helm", "clusterctl"))
        ]
        self.assertEqual([], changes)
        return self.stubs.plain(self.done.stderr)

    def test_an_empty_management_cluster_gets_everything(self) -> None:
        commands = self.install()
        self.assertEqual("", self.done.stderr)
        self.assertEqual(0, self.done.returncode)
        self.assertEqual(
            [
                *READY,
                *HELM,
                *CERT_MANAGER,
                *ORC,
                *PROVIDER_FILES,
                *NOBODYS,
                *INIT,
                *ADDONS,
                *JANITOR,
            ],
            commands,
        )
        self.assertIn("ignition=true", self.done.stdout)

    def test_clusterctl_is_told_where_each_provider_is(self) -> None:
        self.install()
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

    def test_a_second_run_fetches_nothing(self) -> None:
        self.install()
        fetched = [each for each in self.install() if "curl" in each]
        self.assertEqual([], fetched)
        self.assertEqual(0, self.done.returncode)

    def test_what_is_there_in_its_version_is_left_alone(self) -> None:
        self.stubs.answer(
            "kubectl",
            INSTALLED.format(
                "CoreProvider/cluster-api=v1.13.3 "
                "BootstrapProvider/kubeadm=v1.13.3 "
                "ControlPlaneProvider/kubeadm=v1.13.3 "
                "InfrastructureProvider/openstack=v0.14.6"
            ),
        )
        commands = self.install()
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        self.assertEqual(
            [], [each for each in commands if each.startswith("clusterctl")]
        )

    def test_older_ones_are_upgraded_missing_ones_added(self) -> None:
        # As a run leaves it that ended between the two.
        self.stubs.answer(
            "kubectl",
            INSTALLED.format(
                "CoreProvider/cluster-api=v1.9.6 "
                "BootstrapProvider/kubeadm=v1.13.3 "
                "ControlPlaneProvider/kubeadm=v1.14.0"
            ),
        )
        commands = self.install()
        self.assertEqual(
            [
                "clusterctl-linux-amd64 upgrade apply --core "
                f"cluster-api:v1.13.3 {_CLUSTERCTL_TAIL}",
                "clusterctl-linux-amd64 init --infrastructure "
                f"openstack:v0.14.6 {_CLUSTERCTL_TAIL}",
            ],
            [each for each in commands if each.startswith("clusterctl")],
        )
        self.assertIn(
            "control-plane-kubeadm is 1.14.0, which is newer: left as it is",
            self.done.stdout,
        )

    def test_somebody_elses_cluster_api_is_not_touched(self) -> None:
        self.stubs.answer(
            "kubectl",
            '[[ $* != *"get crd clusters.cluster"* ]] || echo crd',
        )
        commands = self.install()
        self.assertEqual(1, self.done.returncode)
        self.assertIn(
            "error: Cluster API is on the management cluster, and clusterctl "
            "did not install it: whoever did, has to upgrade it",
            self.done.stderr,
        )
        self.assertEqual(
            [], [each for each in commands if each.startswith("clusterctl")]
        )

    def test_somebody_elses_cert_manager_is_not_touched(self) -> None:
        self.stubs.answer(
            "kubectl",
            '[[ $* != *"get deployments"* ]] || echo deployment/cert-manager',
        )
        commands = self.install()
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        self.assertEqual(
            [],
            [each for each in commands if "cert-manager.yaml" in each],
        )

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
            [*READY, CERT_MANAGER[0], PROVIDER_FILES[-1], *NOBODYS], commands
        )
        self.assertFalse((self.path / "cache").exists())
        self.assertFalse((self.path / "driver").exists())
        shown = self.stubs.plain(self.done.stdout)
        self.assertIn(f"would fetch: {_HELM}\n", shown)
        self.assertIn(f"would run: {ORC[1]}\n", shown)
        self.assertIn(f"would run: T/cache/helm/v3.17.3/{ADDONS[1]}\n", shown)

    def test_the_driver_gets_a_user_of_its_own(self) -> None:
        driver = self.path / "driver"
        commands = self.install("--driver-kubeconfig", str(driver))
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        secret = (
            f"{_KUBE} get secret magnum-capi-helm-token --namespace "
            "magnum-capi-helm --output jsonpath="
        )
        self.assertEqual(
            [
                f"{_KUBE} apply --filename "
                "ROOT/magnum_capi_helm/management/permissions.yaml",
                f"{_KUBE} apply --filename -",
                f"{_KUBE} config view --minify --raw --output "
                "jsonpath=\\{.clusters\\[0\\].cluster.server\\}",
                f"{secret}\\{{.data.token\\}}",
                f"{secret}\\{{.data.ca\\\\.crt\\}}",
            ],
            commands[-5:],
        )
        text = driver.read_text()
        self.assertIn("server: https://capi.example.org:6443\n", text)
        self.assertIn("certificate-authority-data: Y2E=\n", text)
        self.assertIn("token: secret-token\n", text)
        self.assertEqual(0o600, stat.S_IMODE(driver.stat().st_mode))
        everything = " ".join([*commands, self.done.stdout, self.done.stderr])
        self.assertNotIn("secret-token", everything)

    def test_a_download_that_is_not_the_publishers_is_refused(self) -> None:
        self.stubs.answer("curl", stubs.CURL.replace('echo "$base"', "echo x"))
        error = self.refusal()
        self.assertIn(
            "error: T/cache/helm/helm-v3.17.3-linux-amd64.tar.gz.part has "
            "the checksum ",
            error,
        )
        self.assertIn("remove it to fetch it anew", error)

    def test_a_download_that_changed_since_is_refused(self) -> None:
        self.install()
        helm = self.path / "cache" / "helm"
        (helm / "helm-v3.17.3-linux-amd64.tar.gz").write_text("other")
        self.assertIn("has the checksum", self.refusal())

    def test_the_operators_checksums_are_the_ones_that_count(self) -> None:
        sums = self.path / "sums"
        name = "cert-manager/v1.20.3/cert-manager.yaml"
        sums.write_text(f"{'0' * 64}  {name}\n")
        error = self.refusal("--checksums", str(sums))
        self.assertIn(f"and should have {'0' * 64}", error)
        self.assertFalse((self.path / "cache" / name).exists())

    def test_what_can_not_be_fetched_is_named(self) -> None:
        self.stubs.answer("curl", "exit 22")
        self.assertEqual(
            f"error: {_HELM} can't be fetched; where there is no way out, "
            "put it into T/cache beforehand\n",
            self.refusal(),
        )

    def test_a_cache_that_is_filled_needs_no_way_out(self) -> None:
        self.install()
        (self.path / "cache" / "SHA256SUMS").unlink()
        self.stubs.answer("curl", "exit 22")
        self.install()
        self.assertEqual(0, self.done.returncode, self.done.stderr)

    def test_bad_arguments_are_refused_before_anything(self) -> None:
        for argv, why in (
            (("--chart", "0.99.0"), "--chart '0.99.0' is not known: give one"),
            (("--chart",), "--chart needs a value"),
            (("--cache", "--dry-run"), "--cache needs a value"),
            (("--all",), "--all is no option: see --help"),
            (
                ("--kubeconfig", "/nowhere"),
                "there is no file /nowhere that can be read",
            ),
            (
                ("--checksums", "/nowhere"),
                "there is no file /nowhere that can be read",
            ),
        ):
            with self.subTest(argv):
                self.assertIn(f"error: {why}", self.refusal(*argv))

    def test_a_management_cluster_that_is_not_ready_is_refused(self) -> None:
        self.stubs.answer("kubectl", "exit 1")
        self.assertEqual(
            "error: the management cluster of T/kubeconfig does not answer, "
            "or is not ready\n",
            self.refusal(),
        )

    def test_another_machine_is_refused(self) -> None:
        self.stubs.answer("uname", "echo riscv64")
        self.assertIn(
            "error: riscv64 is no architecture that is known: only x86_64 "
            "and aarch64 are",
            self.refusal(),
        )
