"""What the values make of the nodes' kubeadm configuration."""

from typing import Any

from oslotest import base

from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.contract.test_chart import rendered

CONTROL_PLANE = "rel-control-plane"


def control_plane(objects: rendering.Rendered) -> Any:
    spec = objects.get("KubeadmControlPlane", CONTROL_PLANE)["spec"]
    return spec["kubeadmConfigSpec"]


def worker(objects: rendering.Rendered, group: str) -> Any:
    template = objects.get("KubeadmConfigTemplate", f"rel-{group}-<hash>")
    return template["spec"]["template"]["spec"]


def files(spec: Any) -> dict[str, Any]:
    """Path -> content or reference to a Secret."""
    return {
        item["path"]: item.get("content", item.get("contentFrom"))
        for item in spec["files"]
    }


class ControlPlaneTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.spec = control_plane(rendered("rich"))

    def test_api_server(self) -> None:
        api_server = self.spec["clusterConfiguration"]["apiServer"]
        self.assertEqual(["api.example.org"], api_server["certSANs"])
        self.assertEqual(
            {
                "admission-control-config-file": (
                    "/etc/kubernetes/admission/configuration.yaml"
                ),
                "authorization-config": (
                    "/etc/kubernetes/webhooks/authorization.yaml"
                ),
                "oidc-client-id": "magnum",
                "oidc-groups-claim": "groups",
                "oidc-groups-prefix": "oidc:",
                "oidc-issuer-url": "https://issuer.example.org",
                "oidc-signing-algs": "RS256",
                "oidc-username-claim": "sub",
                "oidc-username-prefix": "oidc:",
                "profiling": "false",
                "v": "4",
            },
            api_server["extraArgs"],
        )

    def test_admission_configuration(self) -> None:
        secret = rendered("rich").get("Secret", "rel-admission-configuration")
        text = secret["stringData"]["admission-configuration.yaml"]
        configuration = {"defaults": {"enforce": "baseline"}}
        self.assertEqual(
            [{"name": "PodSecurity", "configuration": configuration}],
            rendering.load(text)[0]["plugins"],
        )

    def test_etcd_disk(self) -> None:
        self.assertEqual(
            [["LABEL=etcd_disk", "/var/lib/etcd"]], self.spec["mounts"]
        )
        for phase in ("initConfiguration", "joinConfiguration"):
            self.assertEqual(
                ["diravailable--var-lib-etcd"],
                self.spec[phase]["nodeRegistration"]["ignorePreflightErrors"],
            )

    def test_node_labels(self) -> None:
        for phase in ("initConfiguration", "joinConfiguration"):
            arguments = self.spec[phase]["nodeRegistration"]
            self.assertEqual(
                "example.org/role=control",
                arguments["kubeletExtraArgs"]["node-labels"],
            )

    def test_what_the_values_have_goes_first(self) -> None:
        # A proxy has to be set before anything is fetched.
        self.assertEqual("/etc/proxy", self.spec["files"][0]["path"])
        self.assertEqual("echo first", self.spec["preKubeadmCommands"][0])

    def test_files_of_every_topic(self) -> None:
        found = files(self.spec)
        for path in (
            "/usr/local/share/ca-certificates/example.crt",
            "/etc/containerd/certs.d/quay.io/hosts.toml",
            "/etc/kubernetes/patches/kube-apiserver0+strategic.yaml",
            "/run/kubeadm/kube-proxy-configuration.yaml",
        ):
            self.assertIn(path, found)
        self.assertEqual(
            {"secret": {"name": "rel-containerd-auth", "key": "auth.toml"}},
            found["/etc/containerd/conf.d/auth.toml"],
        )


class WorkerTest(base.BaseTestCase):
    def test_labels_and_taints(self) -> None:
        spec = worker(rendered("rich"), "gpu")
        node = spec["joinConfiguration"]["nodeRegistration"]
        self.assertEqual(
            "capi.stackhpc.com/node-group=gpu,example.org/gpu=true",
            node["kubeletExtraArgs"]["node-labels"],
        )
        self.assertEqual(
            [{"key": "gpu", "value": "true", "effect": "NoSchedule"}],
            node["taints"],
        )
        self.assertEqual("{{ local_hostname }}", node["name"])

    def test_registry_mirror(self) -> None:
        found = files(worker(rendered("rich"), "gpu"))
        self.assertEqual(
            [
                'server = "https://quay.example.org"',
                '[host."https://mirror.example.org"]',
                'capabilities = ["pull","resolve"]',
                "skip_verify = true",
                "override_path = true",
            ],
            found["/etc/containerd/certs.d/quay.io/hosts.toml"].splitlines(),
        )

    def test_commands(self) -> None:
        commands = worker(rendered("rich"), "gpu")["preKubeadmCommands"]
        self.assertIn("update-ca-certificates", commands)
        self.assertIn("apt install -y nfs-common", commands)

    def test_null_takes_the_default_mirrors_away(self) -> None:
        values = rendering.load_values("plain")
        values["registryMirrors"] = None
        spec = worker(rendering.render(values), "scaled")
        self.assertEqual([], [p for p in files(spec) if "hosts.toml" in p])
        self.assertNotIn("preKubeadmCommands", spec)


class FlatcarTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.spec = control_plane(rendered("flatcar"))

    def test_ignition(self) -> None:
        self.assertEqual("ignition", self.spec["format"])
        for phase in ("initConfiguration", "joinConfiguration"):
            node = self.spec[phase]["nodeRegistration"]
            self.assertEqual("${COREOS_OPENSTACK_HOSTNAME}", node["name"])
        self.assertIn("/etc/kube-proxy-configuration.yaml", files(self.spec))

    def test_cilium_replaces_kube_proxy(self) -> None:
        phases = self.spec["initConfiguration"]["skipPhases"]
        self.assertEqual(["addon/kube-proxy"], phases)

    def test_keystone_webhook(self) -> None:
        self.assertIn(
            "/etc/kubernetes/webhooks/keystone_webhook_config.yaml",
            files(self.spec),
        )
        # Only when kubeadm is done, for the webhook is a pod itself.
        self.assertEqual(
            ["cp", "kubectl"],
            [i.split()[0] for i in self.spec["postKubeadmCommands"]],
        )
        arguments = self.spec["clusterConfiguration"]["apiServer"]["extraArgs"]
        self.assertNotIn("authorization-mode", arguments)
