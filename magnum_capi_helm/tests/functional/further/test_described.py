# SPDX-License-Identifier: Apache-2.0

"""What users ask for is in the live objects.

Through Magnum's API, then read back from the management cluster, where
Cluster API's and its OpenStack provider's webhooks have accepted it.
"""

from __future__ import annotations

import base64
from typing import Any

from keystoneauth1 import adapter

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import project
from magnum_capi_helm.tests.functional import test_resize

_PROFILE = """
nodeGroupDefaults:
  nodeDrainTimeout: 7m0s
controlPlane:
  nodeDrainTimeout: 7m0s
"""
_LABELS = {
    "api_master_lb_allowed_cidrs": "192.0.2.0/24",
    "audit_log_enabled": "true",
    "auto_scaling_enabled": "true",
    "availability_zone": "nova",
    "boot_volume_size": "30",
    "boot_volume_type": "ssd",
    "etcd_encryption_enabled": "true",
    "max_node_count": "3",
    "min_node_count": "1",
    "node_drain_timeout": "1h",
    "node_labels": "example.org/disk=fast",
    "node_taints": "example.org/only=me:PreferNoSchedule",
    "oidc_client_id": "kubernetes",
    "oidc_issuer_url": "https://issuer.example.org",
    "registry_mirrors": "docker.io=https://mirror.example.org/v2/docker.io",
    "rollout_max_surge": "1",
    "server_group_policies": "soft-anti-affinity",
}


class DescribedTest(test_resize.ResizeCase):
    """One cluster that asks for as much as goes together."""

    def test_what_a_template_says_is_in_the_live_objects(self) -> None:
        profile = self._profile(_PROFILE)
        network, subnet = self._network()
        cluster = self.cluster(
            self.template(
                fixed_network=network,
                fixed_subnet=subnet,
                labels=_LABELS | {"capi_helm_values_profiles": profile},
            ),
            node_count=2,
        )
        made = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        self.release = made["stack_id"]
        self._assert_network(network, subnet)
        self._assert_control_plane()
        self._assert_workers()
        self._assert_machines(cluster, made["name"])
        self._assert_key()
        self.assertEqual(2, len(self._server_groups()))
        self._resizes_within_the_autoscalers_bounds(cluster)

        self.delete(cluster)
        self.assertEqual([], self._server_groups())
        self.assert_all_gone(self.release)

    def _resizes_within_the_autoscalers_bounds(self, cluster: str) -> None:
        self.uuid = cluster
        self.ask(3)
        self.complete()
        self.assertEqual(3, len(self.machines()))
        self.ask(4)
        self.refused("keeps nodegroup 'default-worker' between 1 and 3 nodes")
        self.assertEqual(3, len(self.machines()))

    # Making

    def _profile(self, text: str) -> str:
        """The name of a new profile."""
        name = self.unique("patient")
        path = programs.LAB / "profiles" / f"{name}.yaml"
        path.write_text(text)
        self.addCleanup(path.unlink)
        return name

    def _network(self) -> tuple[str, str]:
        """A network of the project behind a router, and its subnet."""
        cloud = project.Project(self)
        name = self.unique("net")
        subnet = cloud.network(name)
        cloud.router(name, subnet)
        return str(subnet["network_id"]), str(subnet["id"])

    # Looking

    def _live(self, kind: kinds.Kind, component: str = "") -> client.Object:
        name = f"{self.release}-{component}" if component else self.release
        found = self.plane.get(kind, self.namespace, name)
        assert found is not None, f"{kind.name} {name}"
        return found

    def _template(self, reference: dict[str, Any]) -> Any:
        """The spec of the template that a reference means."""
        kind = {
            each.name: each
            for each in (
                kinds.CONFIG_TEMPLATE,
                kinds.OPENSTACK_MACHINE_TEMPLATE,
            )
        }[reference["kind"]]
        found = self.plane.get(kind, self.namespace, reference["name"])
        assert found is not None
        return found["spec"]["template"]["spec"]

    def _server_groups(self) -> list[str]:
        nova = adapter.Adapter(
            self.magnum.session,
            service_type="compute",
            default_microversion="2.64",
        )
        listed = nova.get("/os-server-groups").json()["server_groups"]
        return [
            each["name"]
            for each in listed
            if each["name"].startswith(self.release)
        ]

    def _assert_network(self, network: str, subnet: str) -> None:
        spec = self._live(kinds.OPENSTACK_CLUSTER)["spec"]
        self.assertEqual({"id": network}, spec["network"])
        self.assertEqual([{"id": subnet}], spec["subnets"])
        self.assertEqual(
            ["192.0.2.0/24"], spec["apiServerLoadBalancer"]["allowedCIDRs"]
        )
        self.assertEqual(["nova"], spec["controlPlaneAvailabilityZones"])

    def _assert_control_plane(self) -> None:
        spec = self._live(kinds.CONTROL_PLANE, "control-plane")["spec"]
        kubeadm = spec["kubeadmConfigSpec"]
        arguments = kubeadm["clusterConfiguration"]["apiServer"]["extraArgs"]
        given = _arguments(arguments)
        self.assertEqual(
            "https://issuer.example.org", given["oidc-issuer-url"]
        )
        self.assertEqual("kubernetes", given["oidc-client-id"])
        self.assertIn("audit-policy-file", given)
        self.assertIn("encryption-provider-config", given)
        paths = [each["path"] for each in kubeadm["files"]]
        self.assertEqual(sorted(set(paths)), sorted(paths))
        self.assertIn("/etc/containerd/certs.d/docker.io/hosts.toml", paths)

    def _assert_workers(self) -> None:
        group = self._live(kinds.MACHINE_DEPLOYMENT, "default-worker")
        prefix = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
        annotations = group["metadata"]["annotations"]
        self.assertEqual("1", annotations[f"{prefix}-min-size"])
        self.assertEqual("3", annotations[f"{prefix}-max-size"])
        machine = group["spec"]["template"]["spec"]
        self.assertEqual("nova", machine["failureDomain"])
        self._assert_replacement(group["spec"], machine)
        kubeadm = self._template(machine["bootstrap"]["configRef"])
        node = kubeadm["joinConfiguration"]["nodeRegistration"]
        self.assertEqual(
            [
                {
                    "key": "example.org/only",
                    "value": "me",
                    "effect": "PreferNoSchedule",
                }
            ],
            node["taints"],
        )
        self.assertIn(
            "example.org/disk=fast",
            _arguments(node["kubeletExtraArgs"])["node-labels"].split(","),
        )
        mirror = next(
            each["content"]
            for each in kubeadm["files"]
            if each["path"].endswith("certs.d/docker.io/hosts.toml")
        )
        self.assertIn("https://mirror.example.org/v2/docker.io", mirror)

    def _assert_replacement(self, group: Any, machine: Any) -> None:
        """A label wins over the profile; in either version of the API."""
        if "deletion" in machine:
            drain = machine["deletion"]["nodeDrainTimeoutSeconds"]
            strategy = group["rollout"]["strategy"]
        else:
            drain, strategy = machine["nodeDrainTimeout"], group["strategy"]
        self.assertIn(drain, (3600, "1h0m0s", "1h"))
        rolling = strategy["rollingUpdate"]
        self.assertEqual(
            (1, "0%"), (rolling["maxSurge"], rolling["maxUnavailable"])
        )

    def _assert_machines(self, cluster: str, name: str) -> None:
        group = self._live(kinds.MACHINE_DEPLOYMENT, "default-worker")
        machine = group["spec"]["template"]["spec"]
        server = self._template(machine["infrastructureRef"])
        self.assertEqual(30, server["rootVolume"]["sizeGiB"])
        self.assertEqual("ssd", server["rootVolume"]["type"])
        self.assertTrue(server["serverGroup"]["id"])
        metadata = {
            each["key"]: each["value"] for each in server["serverMetadata"]
        }
        self.assertIn(cluster, metadata.values())
        self.assertIn(name, metadata.values())

    def _assert_key(self) -> None:
        secret = self.plane.get(
            kinds.SECRET, self.namespace, f"{self.release}-etcd-key"
        )
        assert secret is not None
        self.assertEqual(32, len(base64.b64decode(secret["data"]["key"])))


def _arguments(given: Any) -> dict[str, str]:
    """Arguments of a component, in either version of the API."""
    if isinstance(given, list):
        return {each["name"]: each["value"] for each in given}
    return dict(given)
