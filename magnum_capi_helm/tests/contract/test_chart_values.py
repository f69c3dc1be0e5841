# SPDX-License-Identifier: Apache-2.0

"""Every topic of the values reaches the objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslotest import base

from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.contract.test_chart import rendered

_NOVA = {"from": "Name", "name": "nova"}
_CREDENTIALS = {"name": "rel-cloud-credentials", "cloudName": "openstack"}
_GROUPS = {"allowAllInClusterTraffic": True}
_AUTOSCALER = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
_REGISTRATION = "joinConfiguration.nodeRegistration"
_ADMISSION = "/etc/kubernetes/admission/configuration.yaml"
#: Where the fields of these are that values are for.
_SPEC = {
    "KubeadmControlPlane": "spec.kubeadmConfigSpec",
    "KubeadmConfigTemplate": "spec.template.spec",
    "OpenStackMachineTemplate": "spec.template.spec",
}
#: File of values, kind and name of an object -> what its fields are.
OBJECTS: dict[tuple[str, str, str], Mapping[str, Any]] = {
    ("rich", "Cluster", "rel"): {
        "metadata.annotations": {"example.org/owner": "demo"},
        "spec.clusterNetwork": {
            "pods": {"cidrBlocks": ["10.100.0.0/16", "fd00:100::/56"]},
            "services": {"cidrBlocks": ["172.24.0.0/13"]},
            "serviceDomain": "cluster.local",
        },
    },
    ("plain", "OpenStackCluster", "rel"): {
        "spec": {
            "identityRef": _CREDENTIALS,
            "managedSecurityGroups": _GROUPS,
            "managedSubnets": [{"cidr": "192.168.3.0/24"}],
            "apiServerLoadBalancer": {"enabled": True},
            "disableAPIServerFloatingIP": False,
            "apiServerPort": 6443,
            "controlPlaneOmitAvailabilityZone": True,
        },
    },
    ("rich", "OpenStackCluster", "rel"): {
        "spec": {
            "identityRef": _CREDENTIALS,
            "managedSecurityGroups": _GROUPS,
            "disableExternalNetwork": True,
            "network": {
                "filter": {
                    "name": "internal",
                    "tags": ["a", "b"],
                    "projectID": "p1",
                }
            },
            "subnets": [
                {"filter": {"name": "internal-v4", "gatewayIP": "10.0.0.1"}}
            ],
            "controlPlaneEndpoint": {"host": "192.0.2.5", "port": 8443},
            "apiServerLoadBalancer": {"enabled": False},
            "disableAPIServerFloatingIP": True,
            "apiServerFloatingIP": "192.0.2.5",
            "apiServerFixedIP": "10.0.0.5",
            "apiServerPort": 8443,
            "controlPlaneAvailabilityZones": ["az1", "az2"],
        },
    },
    ("flatcar", "OpenStackCluster", "rel"): {
        "spec.apiServerLoadBalancer": {
            "enabled": True,
            "provider": "ovn",
            "allowedCIDRs": ["192.0.2.0/24"],
        },
        "spec.managedSubnets": [
            {"cidr": "10.0.0.0/24", "dnsNameservers": ["8.8.8.8"]}
        ],
    },
    ("rich", "OpenStackMachineTemplate", "rel-control-plane-<hash>"): {
        "additionalBlockDevices": [
            {
                "name": "etcd",
                "sizeGiB": 10,
                "storage": {
                    "type": "Volume",
                    "volume": {"type": "ssd", "availabilityZone": _NOVA},
                },
            }
        ],
        "rootVolume": {
            "sizeGiB": 20,
            "type": "ssd",
            "availabilityZone": _NOVA,
        },
        "serverGroup": {"id": "55555555-5555-5555-5555-555555555555"},
        "image": {"filter": {"name": "ubuntu-1.34.2"}},
    },
    ("rich", "OpenStackMachineTemplate", "rel-gpu-<hash>"): {
        "image": {"id": "22222222-2222-2222-2222-222222222222"},
        "serverMetadata": [{"key": "cluster", "value": "demo"}],
        "configDrive": True,
        "ports": [
            {},
            {"network": {"filter": {"name": "storage"}}, "vnicType": "direct"},
            {
                "network": {"id": "33333333-3333-3333-3333-333333333333"},
                "disablePortSecurity": True,
            },
        ],
    },
    ("rich", "MachineDeployment", "rel-gpu"): {
        "spec.strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {
                "deletePolicy": "Random",
                "maxSurge": 1,
                "maxUnavailable": "0%",
            },
        },
        "spec.template.spec.version": "v1.33.5",
        "spec.template.spec.failureDomain": "az1",
    },
    ("plain", "MachineDeployment", "rel-scaled"): {
        "spec.replicas": None,
        "metadata.annotations": {
            f"{_AUTOSCALER}-min-size": "0",
            f"{_AUTOSCALER}-max-size": "5",
        },
    },
    # The version of its own chart.
    ("plain", "HelmRelease", "rel-etcd-defrag"): {
        "spec.chart.version": "0.27.0"
    },
    ("rich", "KubeadmControlPlane", "rel-control-plane"): {
        "clusterConfiguration.apiServer.certSANs": ["api.example.org"],
        "clusterConfiguration.apiServer.extraArgs": {
            "admission-control-config-file": _ADMISSION,
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
        "mounts": [["LABEL=etcd_disk", "/var/lib/etcd"]],
        f"{_REGISTRATION}.ignorePreflightErrors": [
            "diravailable--var-lib-etcd"
        ],
        f"{_REGISTRATION}.kubeletExtraArgs.node-labels": (
            "example.org/role=control"
        ),
        # A proxy has to be set before anything is fetched.
        "files.0.path": "/etc/proxy",
        "preKubeadmCommands.0": "echo first",
    },
    ("rich", "KubeadmConfigTemplate", "rel-gpu-<hash>"): {
        f"{_REGISTRATION}.kubeletExtraArgs.node-labels": (
            "capi.stackhpc.com/node-group=gpu,example.org/gpu=true"
        ),
        f"{_REGISTRATION}.taints": [
            {"key": "gpu", "value": "true", "effect": "NoSchedule"}
        ],
        f"{_REGISTRATION}.name": "{{ local_hostname }}",
    },
    ("flatcar", "KubeadmControlPlane", "rel-control-plane"): {
        "format": "ignition",
        f"{_REGISTRATION}.name": "${COREOS_OPENSTACK_HOSTNAME}",
        # Cilium replaces kube-proxy.
        "initConfiguration.skipPhases": ["addon/kube-proxy"],
        "clusterConfiguration.apiServer.extraArgs.authorization-mode": None,
    },
}


def _at(obj: Any, path: str) -> Any:
    """Return the value at a path; None: there is none."""
    for key in path.split("."):
        found = obj[int(key)] if isinstance(obj, list) else obj.get(key)
        if found is None:
            return None
        obj = found
    return obj


def control_plane(objects: rendering.Rendered) -> Any:
    spec = objects.get("KubeadmControlPlane", "rel-control-plane")["spec"]
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


class ObjectsTest(base.BaseTestCase):
    maxDiff = None

    def test_each_object_has_what_the_values_say(self) -> None:
        for (name, kind, called), fields in OBJECTS.items():
            found = rendered(name).get(kind, called)
            spec = _at(found, _SPEC[kind]) if kind in _SPEC else found
            seen = {path: _at(spec, path) for path in fields}
            self.assertEqual(fields, seen, f"{name}: {kind} {called}")

    def test_block_devices_and_rules_have_their_kinds(self) -> None:
        spec = rendered("rich").get(
            "OpenStackMachineTemplate", "rel-gpu-<hash>"
        )["spec"]["template"]["spec"]
        docker = {"type": "ssd", "availabilityZone": {"from": "Machine"}}
        self.assertEqual(
            {
                "docker": {"type": "Volume", "volume": docker},
                "scratch": {"type": "Local"},
            },
            {i["name"]: i["storage"] for i in spec["additionalBlockDevices"]},
        )
        spec = rendered("flatcar").get("OpenStackCluster", "rel")["spec"]
        rules = spec["managedSecurityGroups"]["workerNodesSecurityGroupRules"]
        self.assertEqual(
            [("tcp", 30000), ("udp", 30000), ("tcp", 22)],
            [(rule["protocol"], rule["portRangeMin"]) for rule in rules],
        )

    def test_an_empty_group_has_no_machines(self) -> None:
        values = rendering.load_values("plain")
        values["nodeGroups"][0]["machineCount"] = 0
        objects = rendering.render(values)
        deployment = objects.get("MachineDeployment", "rel-default-worker")
        self.assertEqual(0, deployment["spec"]["replicas"])


class FilesTest(base.BaseTestCase):
    """Files and commands of machines."""

    def test_machines_have_the_files_of_every_topic(self) -> None:
        found = files(control_plane(rendered("rich")))
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
        spec = worker(rendered("rich"), "gpu")
        self.assertEqual(
            [
                'server = "https://quay.example.org"',
                '[host."https://mirror.example.org"]',
                'capabilities = ["pull","resolve"]',
                "skip_verify = true",
                "override_path = true",
            ],
            files(spec)[
                "/etc/containerd/certs.d/quay.io/hosts.toml"
            ].splitlines(),
        )
        for command in ("update-ca-certificates", "apt install -y nfs-common"):
            self.assertIn(command, spec["preKubeadmCommands"])

    def test_null_takes_the_default_mirrors_away(self) -> None:
        values = rendering.load_values("plain")
        values["registryMirrors"] = None
        spec = worker(rendering.render(values), "scaled")
        self.assertEqual([], [p for p in files(spec) if "hosts.toml" in p])
        self.assertNotIn("preKubeadmCommands", spec)

    def test_flatcar_has_the_webhook_of_keystone(self) -> None:
        spec = control_plane(rendered("flatcar"))
        for path in (
            "/etc/kube-proxy-configuration.yaml",
            "/etc/kubernetes/webhooks/keystone_webhook_config.yaml",
        ):
            self.assertIn(path, files(spec))
        # Only when kubeadm is done, for the webhook is a pod itself.
        self.assertEqual(
            ["cp", "kubectl"],
            [i.split()[0] for i in spec["postKubeadmCommands"]],
        )


class AddonsTest(base.BaseTestCase):
    def template(self, name: str) -> str:
        """The one manifest of an addon."""
        addon = rendered("rich").get("Manifests", name)
        (source,) = addon["spec"]["manifestSources"]
        return str(source["template"])

    def test_addons_have_what_the_values_say(self) -> None:
        classes = rendering.load(self.template("rel-csi-cinder-storageclass"))
        self.assertEqual(
            [
                ("csi-cinder", {"availability": "nova"}),
                ("fast", {"type": "nvme"}),
            ],
            [(i["metadata"]["name"], i["parameters"]) for i in classes],
        )
        text = self.template("rel-cloud-config")
        self.assertIn("lb-provider=ovn", text)
        self.assertIn("ignore-volume-az=true", text)
        # [Global] is the chart's alone.
        self.assertNotIn("cloud=other", text)
        secret = rendered("rich").get("Secret", "rel-admission-configuration")
        text = secret["stringData"]["admission-configuration.yaml"]
        configuration = {"defaults": {"enforce": "baseline"}}
        self.assertEqual(
            [{"name": "PodSecurity", "configuration": configuration}],
            rendering.load(text)[0]["plugins"],
        )

    def test_values_of_users_are_no_template(self) -> None:
        secret = rendered("rich").get("Secret", "rel-tool-config")
        raw, values, end = secret["stringData"]["values"].splitlines()
        self.assertEqual("{% raw %}", raw)
        self.assertEqual("greeting: '{{ hello }}'", values)
        self.assertEqual("{% endraw %}", end)

    def test_every_one_can_be_switched_off(self) -> None:
        self.assertEqual(
            {
                "rel-ccm-openstack",
                "rel-cni-cilium",
                "rel-csi-cinder",
                "rel-k8s-keystone-auth",
            },
            rendered("flatcar").names("HelmRelease"),
        )
        values = rendering.load_values("flatcar")
        values["addons"]["enabled"] = False
        objects = rendering.render(values)
        self.assertEqual(set(), objects.names("HelmRelease"))
        self.assertEqual(set(), objects.names("Manifests"))
