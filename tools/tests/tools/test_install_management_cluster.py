# SPDX-License-Identifier: Apache-2.0

"""The installer of management clusters: the commands that it runs."""

from __future__ import annotations

import shlex
import stat

import yaml

from magnum_capi_helm.kubernetes import permissions
from tools.tests.tools import stubs

_SCRIPT = str(stubs.ROOT / "tools" / "install-management-cluster.sh")
#: An empty management cluster, that has a token for whoever asks.
_KUBECTL = """
case "$*" in
    *"data.token"*) echo -n secret-token | base64 ;;
    *"data.ca"*) echo Y2E= ;;
    *"--filename -") cat >>"$STUBS/applied" ;;
    *"config view"*) echo https://capi.example.org:6443 ;;
    *" get validating"*) cat "$STUBS/expression" 2>/dev/null || true ;;
esac
"""
#: The same with what clusterctl installed.
_INSTALLED = """
case "$*" in
    *"get crd"*) echo crd ;;
    *"get providers"*) printf '%s\\n' {} ;;
esac
"""
_HELM_URL = "https://get.helm.sh/helm-v3.17.3-linux-amd64.tar.gz"
_GITHUB = "https://github.com"
_CAPI = f"{_GITHUB}/kubernetes-sigs/cluster-api/releases/download/v1.13.3"
_CAPO = (
    f"{_GITHUB}/kubernetes-sigs/cluster-api-provider-openstack/releases/"
    "download/v0.14.6"
)
_CERT_MANAGER = (
    f"{_GITHUB}/cert-manager/cert-manager/releases/download/v1.20.3/"
    "cert-manager.yaml"
)
_ORC = (
    f"{_GITHUB}/k-orc/openstack-resource-controller/releases/download/v2.6.0/"
    "install.yaml"
)
_APPLY = "apply --server-side --force-conflicts"
#: Directory and type of each provider, its name, and where its files are.
_PROVIDERS = (
    ("cluster-api/v1.13.3/core", "Core", "cluster-api", _CAPI),
    ("bootstrap-kubeadm/v1.13.3/bootstrap", "Bootstrap", "kubeadm", _CAPI),
    (
        "control-plane-kubeadm/v1.13.3/control-plane",
        "ControlPlane",
        "kubeadm",
        _CAPI,
    ),
    (
        "infrastructure-openstack/v0.14.6/infrastructure",
        "Infrastructure",
        "openstack",
        _CAPO,
    ),
)


def _chart(name: str, version: str, namespace: str) -> tuple[str, str]:
    """Return texts of the commands that install a chart."""
    file = f"{name}-{version}.tgz"
    return (
        f"https://azimuth-cloud.github.io/{name}/{file}",
        f"helm upgrade --install {name} T/cache/charts/{file} --kubeconfig "
        f"T/kubeconfig --namespace {namespace} --create-namespace --wait",
    )


#: A text of each command that asks for something, or installs it.
_READS = (
    "get --raw /readyz",
    "get crd providers.clusterctl.cluster.x-k8s.io ",
    "get crd clusters.cluster.x-k8s.io ",
)
_HELM = (
    f"helm-v3.17.3-linux-amd64.tar.gz.part {_HELM_URL}",
    f"{_HELM_URL}.sha256sum",
    "tar --extract --gzip --file T/cache/helm/helm-v3.17.3-linux-amd64.tar.gz",
)
#: Name on the management cluster -> what installs it, and how it is called.
_COMPONENTS = {
    "cert-manager": (
        _CERT_MANAGER,
        f"{_APPLY} --field-manager magnum-capi-helm --filename "
        "T/cache/cert-manager/v1.20.3/cert-manager.yaml",
        "rollout status deployment/cert-manager ",
        "rollout status deployment/cert-manager-cainjector ",
        "rollout status deployment/cert-manager-webhook ",
    ),
    "orc": (
        _ORC,
        f"{_APPLY} --filename T/cache/orc/v2.6.0/install.yaml",
        "rollout status deployment/orc-controller-manager ",
    ),
    "cluster-api-addon-provider": _chart(
        "cluster-api-addon-provider", "0.12.1", "capi-addon-system"
    ),
    "cluster-api-janitor-openstack": _chart(
        "cluster-api-janitor-openstack", "0.14.0", "capi-janitor-system"
    ),
}
_TAIL = (
    "--config T/cache/clusterctl-0.27.0.yaml --kubeconfig T/kubeconfig "
    "--wait-providers"
)
_CLUSTERCTL = (
    f"{_CAPI}/clusterctl-linux-amd64",
    *(
        f"{place.rpartition('/')[0]}/{file}.part {base}/{file}"
        for place, _, _, base in _PROVIDERS
        for file in (
            f"{place.rpartition('/')[2]}-components.yaml",
            "metadata.yaml",
        )
    ),
    "clusterctl-linux-amd64 init --core cluster-api:v1.13.3 --bootstrap "
    "kubeadm:v1.13.3 --control-plane kubeadm:v1.13.3 --infrastructure "
    f"openstack:v0.14.6 {_TAIL}",
)
_ASKED = {name: f"app.kubernetes.io/name={name} " for name in _COMPONENTS}
_DRIVER_USER = (
    "get validatingadmissionpolicy magnum-capi-helm ",
    "apply --filename -",
    "apply --filename -",
    "config view --minify --raw ",
    "get secret magnum-capi-helm-token --namespace magnum-capi-helm ",
    "get secret magnum-capi-helm-token --namespace magnum-capi-helm ",
)
_MANAGER = "cert-manager/cert-manager"
_OURS = f"{_MANAGER} magnum-capi-helm"
_IMAGE = "orc-system/orc quay.io/orc/openstack-resource-controller"
_ADDONS = "capi-addon-system/addons cluster-api-addon-provider-"
_JANITOR = "capi-janitor-system/janitor cluster-api-janitor-openstack-"
_UNCLEAR = "ORC is there, in a version that can't be told"
#: What runs: name, what its Deployments have, why it is left as it is; without
#: a reason it is upgraded, or in its version made whole.
_RUNNING = (
    ("cert-manager", f"{_MANAGER} v1.21.0", "is 1.21.0, which is newer"),
    ("orc", f"{_IMAGE}:v2.10.0", "ORC is 2.10.0, which is newer"),
    ("orc", f"{_IMAGE}:v2.7.0@sha256:1234", "ORC is 2.7.0, which is newer"),
    # Two of them: the newest counts.
    ("orc", f"{_IMAGE}:v2.4.0\n{_IMAGE}:v2.7.0", "ORC is 2.7.0, which is"),
    ("orc", f"{_IMAGE}:main", _UNCLEAR),
    ("orc", f"{_IMAGE}@sha256:123", _UNCLEAR),
    ("orc", "a/orc ", _UNCLEAR),
    ("cluster-api-addon-provider", f"{_ADDONS}0.12.10", "is 0.12.10, which"),
    ("cluster-api-janitor-openstack", f"{_JANITOR}1.0.0", "is 1.0.0, which"),
    ("cert-manager", f"{_MANAGER} v1.9.1", ""),
    ("cert-manager", f"{_MANAGER} v1.20.3", ""),
    ("orc", f"{_IMAGE}:v2.4.0", ""),
    ("cluster-api-addon-provider", f"{_ADDONS}0.9.0", ""),
    ("cluster-api-janitor-openstack", f"{_JANITOR}0.14.0", ""),
)
_UNREAD = "there is no file /nowhere that can be read"
#: Arguments, and why the installer refuses them.
_WRONG = {
    "--chart 0.99.0": "--chart '0.99.0' is not known: give one",
    "--chart": "--chart needs a value",
    "--cache --dry-run": "--cache needs a value",
    "--all": "--all is no option: see --help",
    "--namespace-prefix a|b": "--namespace-prefix a|b: allowed are lowercase",
    "--kubeconfig /nowhere": _UNREAD,
    "--checksums /nowhere": _UNREAD,
}
#: A program, what it does instead, why the installer refuses to go on.
_REFUSALS = (
    (
        "kubectl",
        '[[ $* != *"get crd clusters.cluster"* ]] || echo crd',
        "Cluster API is on the management cluster, and clusterctl did not "
        "install it: whoever did, has to upgrade it\n",
    ),
    (
        "kubectl",
        "exit 1",
        "the management cluster of T/kubeconfig does not answer, or is not "
        "ready\n",
    ),
    ("uname", "echo riscv64", "riscv64 is no architecture that is known"),
    (
        "curl",
        "exit 22",
        f"{_HELM_URL} can't be fetched; where there is no way out, put it "
        "into T/cache beforehand\n",
    ),
    (
        "curl",
        stubs.CURL.replace('echo "$base"', "echo x"),
        "T/cache/helm/helm-v3.17.3-linux-amd64.tar.gz.part has the checksum ",
    ),
)
_ANSWERS = {
    "clusterctl": "",
    "clusterctl-linux-amd64": (
        "echo ignition=$EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION"
    ),
    "curl": stubs.CURL,
    "helm": "",
    "kubectl": _KUBECTL,
    "tar": stubs.TAR,
    "uname": "echo x86_64",
}


class InstallTest(stubs.ScriptTestCase):
    answers = _ANSWERS

    def setUp(self) -> None:
        super().setUp()
        (self.path / "kubeconfig").touch()

    def install(self, *argv: str, code: int = 0) -> list[str]:
        """Run it; the commands without those that ask for the machine."""
        kubeconfig = ("--kubeconfig", f"{self.path}/kubeconfig")
        cache = ("--cache", f"{self.path}/cache")
        self.done = self.stubs.bash(_SCRIPT, *kubeconfig, *cache, *argv)
        self.assertEqual(code, self.done.returncode, self.done.stderr)
        commands = self.stubs.commands()
        for each in commands:
            if each.startswith("kubectl"):
                self.assertIn("kubectl --kubeconfig T/kubeconfig ", each)
            if each.startswith("curl"):
                self.assertIn("--fail ", each)
                self.assertIn("--proto =https ", each)
        return [each for each in commands if each != "uname -m"]

    def refusal(self, *argv: str) -> str:
        """The error of a run that changes nothing."""
        for each in self.install(*argv, code=1):
            self.assertNotIn(" apply ", each)
            self.assertFalse(each.startswith(("helm", "clusterctl")), each)
        return self.stubs.plain(self.done.stderr)

    def test_empty_management_cluster_gets_everything(self) -> None:
        commands = self.install()
        self.assertEqual("", self.done.stderr)
        manager, orc, addons, janitor = _COMPONENTS
        self.assert_commands(
            [
                *(*_READS, *_HELM, *([_ASKED[manager]] * 2)),
                *(*_COMPONENTS[manager], _ASKED[orc], *_COMPONENTS[orc]),
                *(*_CLUSTERCTL, _ASKED[addons], *_COMPONENTS[addons]),
                *(_ASKED[janitor], *_COMPONENTS[janitor]),
            ],
            commands,
        )
        self.assertIn("ignition=true", self.done.stdout)
        config = (self.path / "cache" / "clusterctl-0.27.0.yaml").read_text()
        url = "T/cache/providers/{}-components.yaml"
        self.assertEqual(
            [
                {
                    "name": name,
                    "type": f"{kind}Provider",
                    "url": url.format(at),
                }
                for at, kind, name, _ in _PROVIDERS
            ],
            yaml.safe_load(self.stubs.plain(config))["providers"],
        )

    def test_older_providers_are_upgraded_missing_ones_added(self) -> None:
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
                    f"upgrade apply --core cluster-api:v1.13.3 {_TAIL}",
                    f"init --infrastructure openstack:v0.14.6 {_TAIL}",
                ],
                "control-plane-kubeadm is 1.14.0, which is newer: left as it "
                "is",
            ),
        ):
            self.stubs.answer("kubectl", _INSTALLED.format(versions))
            commands = self.install()
            self.assert_commands(
                expected, [e for e in commands if e.startswith("clusterctl")]
            )
            self.assertIn(said, self.done.stdout)

    def running(self, name: str, found: str, owner: str = _OURS) -> list[str]:
        """The commands of a run where this runs already."""
        self.stubs.answer(
            "kubectl",
            f"""
case "$*" in
    *managedFields*) [[ {name} != cert-manager ]] || echo '{owner}' ;;
    *"/name={name} "*) echo '{found}' ;;
esac
""",
        )
        return [e for e in self.install() if not e.startswith("curl")]

    def test_newer_components_stay_and_older_ones_are_upgraded(self) -> None:
        for name, found, why in _RUNNING:
            commands = "\n".join(self.running(name, found))
            _, *changes = _COMPONENTS[name]
            done = [each for each in changes if each in commands]
            self.assertEqual([] if why else changes, done, found)
            if why:
                self.assertIn(why, self.done.stdout)
                self.assertIn(": left as it is\n", self.done.stdout)

    def test_foreign_cert_manager_is_not_touched(self) -> None:
        for owner in (
            *(f"{_MANAGER} ", f"{_MANAGER} argocd-controller"),
            "security/cert-manager magnum-capi-helm",
        ):
            commands = self.running("cert-manager", "", owner)
            self.assertNotIn("cert-manager.yaml", " ".join(commands))
            self.assertIn(
                "cert-manager is there, and somebody else's: left as it is\n",
                self.done.stdout,
            )

    def test_old_chart_needs_no_orc_and_may_do_without_janitor(self) -> None:
        words = ("--chart", "0.23.0", "--without-janitor")
        commands = " ".join(self.install(*words))
        self.assertNotIn("orc-system", commands)
        self.assertNotIn("janitor", commands)
        self.assertIn("--core cluster-api:v1.10.4", commands)
        self.assertIn("--infrastructure openstack:v0.11.3", commands)

    def test_dry_run_reads_and_changes_nothing(self) -> None:
        driver = self.path / "driver"
        words = ("--dry-run", "--driver-kubeconfig", str(driver))
        asked = [_ASKED["cert-manager"], *_ASKED.values()]
        self.assert_commands(
            [*_READS, *asked, _DRIVER_USER[0]], self.install(*words)
        )
        self.assertFalse((self.path / "cache").exists())
        self.assertFalse(driver.exists())
        shown = self.stubs.plain(self.done.stdout)
        self.assertIn(f"would fetch: {_HELM_URL}\n", shown)
        for change in (
            f"kubectl --kubeconfig T/kubeconfig {_COMPONENTS['orc'][1]}",
            f"T/cache/helm/v3.17.3/{[*_COMPONENTS.values()][2][1]}",
        ):
            self.assertIn(f"would run: {change}", shown)

    def test_driver_gets_a_user_of_its_own(self) -> None:
        driver = self.path / "driver"
        commands = self.install("--driver-kubeconfig", str(driver))
        self.assert_commands(_DRIVER_USER, commands[-6:])
        text = driver.read_text()
        self.assertIn("server: https://capi.example.org:6443\n", text)
        self.assertIn("certificate-authority-data: Y2E=\n", text)
        self.assertIn("token: secret-token\n", text)
        self.assertEqual(0o600, stat.S_IMODE(driver.stat().st_mode))
        everything = " ".join([*commands, self.done.stdout, self.done.stderr])
        self.assertNotIn("secret-token", everything)

    def test_policy_keeps_its_prefixes_unless_others_are_given(self) -> None:
        applied = self.path / "applied"
        for present, argv, expected in (
            ([], "", ["magnum"]),
            (["north", "south"], "", ["north", "south"]),
            (
                ["north"],
                "--namespace-prefix east --namespace-prefix west-2",
                ["east", "west-2"],
            ),
        ):
            applied.unlink(missing_ok=True)
            if present:
                [condition] = next(
                    each["spec"]["matchConditions"]
                    for each in yaml.safe_load_all(
                        permissions.manifest(present)
                    )
                    if each["kind"] == "ValidatingAdmissionPolicy"
                )
                place = self.path / "expression"
                place.write_text(condition["expression"])
            user = f"--driver-kubeconfig {shlex.quote(f'{self.path}/driver')}"
            self.install(*shlex.split(f"{user} {argv}"))
            self.assertEqual("", self.done.stderr)
            manifest = applied.read_text().partition(
                "apiVersion: v1\nkind: Secret\n"
            )[0]
            self.assertEqual(permissions.manifest(expected), manifest)

    def test_wrong_arguments_and_surroundings_are_refused(self) -> None:
        for argv, why in _WRONG.items():
            self.assertIn(f"error: {why}", self.refusal(*argv.split()))
        for program, answer, why in _REFUSALS:
            self.stubs.answer(program, answer)
            self.assertIn(f"error: {why}", self.refusal())
            self.stubs.answer(program, _ANSWERS[program])

    def test_download_that_changed_since_is_refused(self) -> None:
        self.install()
        helm = self.path / "cache" / "helm"
        (helm / "helm-v3.17.3-linux-amd64.tar.gz").write_text("other")
        error = self.refusal()
        self.assertIn("has the checksum", error)
        self.assertIn("remove it to fetch it anew", error)

    def test_checksums_of_the_operator_are_the_ones_that_count(self) -> None:
        sums = self.path / "sums"
        name = "cert-manager/v1.20.3/cert-manager.yaml"
        sums.write_text(f"{'0' * 64}  {name}\n")
        error = self.refusal("--checksums", str(sums))
        self.assertIn(f"and should have {'0' * 64}", error)
        self.assertFalse((self.path / "cache" / name).exists())

    def test_filled_cache_needs_no_way_out(self) -> None:
        self.install()
        (self.path / "cache" / "SHA256SUMS").unlink()
        self.stubs.answer("curl", "exit 22")
        self.assertNotIn("curl", " ".join(self.install()))
