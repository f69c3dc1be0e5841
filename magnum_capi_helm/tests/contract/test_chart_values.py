"""Every topic of the values reaches the objects."""

from typing import Any

from oslotest import base

from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.contract.test_chart import rendered


class ClusterTest(base.BaseTestCase):
    def test_cluster(self) -> None:
        cluster = rendered("rich").get("Cluster", "rel")
        self.assertEqual(
            {"example.org/owner": "demo"}, cluster["metadata"]["annotations"]
        )
        self.assertEqual(
            {
                "pods": {"cidrBlocks": ["10.100.0.0/16", "fd00:100::/56"]},
                "services": {"cidrBlocks": ["172.24.0.0/13"]},
                "serviceDomain": "cluster.local",
            },
            cluster["spec"]["clusterNetwork"],
        )

    def test_plain_infrastructure(self) -> None:
        self.assertEqual(
            {
                "identityRef": {
                    "name": "rel-cloud-credentials",
                    "cloudName": "openstack",
                },
                "managedSecurityGroups": {"allowAllInClusterTraffic": True},
                "managedSubnets": [{"cidr": "192.168.3.0/24"}],
                "apiServerLoadBalancer": {"enabled": True},
                "disableAPIServerFloatingIP": False,
                "apiServerPort": 6443,
                "controlPlaneOmitAvailabilityZone": True,
            },
            rendered("plain").get("OpenStackCluster", "rel")["spec"],
        )

    def test_rich_infrastructure(self) -> None:
        self.assertEqual(
            {
                "identityRef": {
                    "name": "rel-cloud-credentials",
                    "cloudName": "openstack",
                },
                "managedSecurityGroups": {"allowAllInClusterTraffic": True},
                "disableExternalNetwork": True,
                "network": {
                    "filter": {
                        "name": "internal",
                        "tags": ["a", "b"],
                        "projectID": "p1",
                    }
                },
                "subnets": [
                    {
                        "filter": {
                            "name": "internal-v4",
                            "gatewayIP": "10.0.0.1",
                        }
                    }
                ],
                "controlPlaneEndpoint": {"host": "192.0.2.5", "port": 8443},
                "apiServerLoadBalancer": {"enabled": False},
                "disableAPIServerFloatingIP": True,
                "apiServerFloatingIP": "192.0.2.5",
                "apiServerFixedIP": "10.0.0.5",
                "apiServerPort": 8443,
                "controlPlaneAvailabilityZones": ["az1", "az2"],
            },
            rendered("rich").get("OpenStackCluster", "rel")["spec"],
        )

    def test_ovn_load_balancer(self) -> None:
        spec = rendered("flatcar").get("OpenStackCluster", "rel")["spec"]
        self.assertEqual(
            {
                "enabled": True,
                "provider": "ovn",
                "allowedCIDRs": ["192.0.2.0/24"],
            },
            spec["apiServerLoadBalancer"],
        )
        rules = spec["managedSecurityGroups"]["workerNodesSecurityGroupRules"]
        self.assertEqual(
            [("tcp", 30000), ("udp", 30000), ("tcp", 22)],
            [(rule["protocol"], rule["portRangeMin"]) for rule in rules],
        )
        self.assertEqual(
            [{"cidr": "10.0.0.0/24", "dnsNameservers": ["8.8.8.8"]}],
            spec["managedSubnets"],
        )


class MachineTest(base.BaseTestCase):
    def machine(self, name: str) -> Any:
        template = rendered("rich").get("OpenStackMachineTemplate", name)
        return template["spec"]["template"]["spec"]

    def test_control_plane(self) -> None:
        spec = self.machine("rel-control-plane-<hash>")
        nova = {"from": "Name", "name": "nova"}
        etcd = {"type": "ssd", "availabilityZone": nova}
        self.assertEqual(
            [
                {
                    "name": "etcd",
                    "sizeGiB": 10,
                    "storage": {"type": "Volume", "volume": etcd},
                }
            ],
            spec["additionalBlockDevices"],
        )
        self.assertEqual(
            {"sizeGiB": 20, "type": "ssd", "availabilityZone": nova},
            spec["rootVolume"],
        )
        group = "55555555-5555-5555-5555-555555555555"
        self.assertEqual({"id": group}, spec["serverGroup"])
        self.assertEqual({"filter": {"name": "ubuntu-1.34.2"}}, spec["image"])

    def test_group(self) -> None:
        spec = self.machine("rel-gpu-<hash>")
        image = "22222222-2222-2222-2222-222222222222"
        self.assertEqual({"id": image}, spec["image"])
        self.assertEqual(
            [{"key": "cluster", "value": "demo"}], spec["serverMetadata"]
        )
        docker = {"type": "ssd", "availabilityZone": {"from": "Machine"}}
        self.assertEqual(
            {
                "docker": {"type": "Volume", "volume": docker},
                "scratch": {"type": "Local"},
            },
            {i["name"]: i["storage"] for i in spec["additionalBlockDevices"]},
        )
        self.assertTrue(spec["configDrive"])

    def test_ports(self) -> None:
        network = "33333333-3333-3333-3333-333333333333"
        self.assertEqual(
            [
                {},
                {
                    "network": {"filter": {"name": "storage"}},
                    "vnicType": "direct",
                },
                {"network": {"id": network}, "disablePortSecurity": True},
            ],
            self.machine("rel-gpu-<hash>")["ports"],
        )

    def test_deployment(self) -> None:
        deployment = rendered("rich").get("MachineDeployment", "rel-gpu")
        rolling = {
            "deletePolicy": "Random",
            "maxSurge": 1,
            "maxUnavailable": "0%",
        }
        self.assertEqual(
            {"type": "RollingUpdate", "rollingUpdate": rolling},
            deployment["spec"]["strategy"],
        )
        spec = deployment["spec"]["template"]["spec"]
        self.assertEqual("v1.33.5", spec["version"])
        self.assertEqual("az1", spec["failureDomain"])

    def test_autoscaled_group(self) -> None:
        deployment = rendered("plain").get("MachineDeployment", "rel-scaled")
        self.assertNotIn("replicas", deployment["spec"])
        prefix = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
        self.assertEqual(
            {f"{prefix}-min-size": "0", f"{prefix}-max-size": "5"},
            deployment["metadata"]["annotations"],
        )

    def test_empty_group(self) -> None:
        values = rendering.load_values("plain")
        values["nodeGroups"][0]["machineCount"] = 0
        objects = rendering.render(values)
        deployment = objects.get("MachineDeployment", "rel-default-worker")
        self.assertEqual(0, deployment["spec"]["replicas"])


class AddonsTest(base.BaseTestCase):
    def test_storage_classes(self) -> None:
        addon = rendered("rich").get(
            "Manifests", "rel-csi-cinder-storageclass"
        )
        (source,) = addon["spec"]["manifestSources"]
        classes = rendering.load(source["template"])
        self.assertEqual(
            [
                ("csi-cinder", {"availability": "nova"}),
                ("fast", {"type": "nvme"}),
            ],
            [(i["metadata"]["name"], i["parameters"]) for i in classes],
        )

    def test_cloud_config(self) -> None:
        addon = rendered("rich").get("Manifests", "rel-cloud-config")
        text = addon["spec"]["manifestSources"][0]["template"]
        self.assertIn("lb-provider=ovn", text)
        self.assertIn("ignore-volume-az=true", text)
        # [Global] is the chart's alone.
        self.assertNotIn("cloud=other", text)

    def test_what_users_give_is_not_a_template(self) -> None:
        secret = rendered("rich").get("Secret", "rel-tool-config")
        raw, values, end = secret["stringData"]["values"].splitlines()
        self.assertEqual("{% raw %}", raw)
        self.assertEqual("greeting: '{{ hello }}'", values)
        self.assertEqual("{% endraw %}", end)

    def test_version_of_etcd_defrag_is_the_charts(self) -> None:
        addon = rendered("plain").get("HelmRelease", "rel-etcd-defrag")
        self.assertEqual("0.27.0", addon["spec"]["chart"]["version"])

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
