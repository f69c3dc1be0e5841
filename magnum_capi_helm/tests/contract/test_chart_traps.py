"""Ways of the chart, shared with the public one, that a driver must know."""

import collections
import shutil
from typing import Any

import fixtures
from oslotest import base

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.chart import patches
from magnum_capi_helm.tests.contract import rendering


class TrapsCase(base.BaseTestCase):
    """Values to be spoilt."""

    def setUp(self) -> None:
        super().setUp()
        self.values = rendering.load_values("plain")
        self.group = self.values["nodeGroups"][0]

    def assert_refused(self, text: str) -> None:
        refused = self.assertRaises(
            rendering.RefusedError, rendering.render, self.values
        )
        self.assertIn(text, str(refused))


class TrapsTest(TrapsCase):
    """Values that do something else than they seem to."""

    def test_an_unknown_cni_is_no_cni(self) -> None:
        self.values["addons"] = {"cni": {"type": "flannel"}}
        releases = rendering.render(self.values).names("HelmRelease")
        self.assertEqual(set(), {n for n in releases if "-cni-" in n})

    def test_a_group_cannot_say_false(self) -> None:
        self.group["healthCheck"] = {"enabled": False}
        self.group["rolloutStrategy"] = {
            "rollingUpdate": {"maxUnavailable": 0}
        }
        objects = rendering.render(self.values)
        name = "rel-default-worker"
        self.assertIn(name, objects.names("MachineHealthCheck"))
        spec = objects.get("MachineDeployment", name)["spec"]
        rolling = spec["strategy"]["rollingUpdate"]
        self.assertEqual(1, rolling["maxUnavailable"])
        # The defaults can.
        self.values["nodeGroupDefaults"] = {"healthCheck": {"enabled": False}}
        del self.group["healthCheck"]
        objects = rendering.render(self.values)
        checks = objects.names("MachineHealthCheck")
        self.assertEqual({"rel-control-plane"}, checks)

    def test_names_of_groups_are_refused_or_collide(self) -> None:
        for name in ("ab", "1st", "Big", "under_score", "end-"):
            self.group["name"] = name
            self.assert_refused(f'node group name "{name}"')
        self.group["name"] = "control-plane"
        rows = rendering.render(self.values).inventory()
        row = ("MachineHealthCheck", "rel-control-plane")
        self.assertEqual(2, rows.count(row))

    def test_names_are_cut_before_the_hash(self) -> None:
        release = "r" * 52
        self.group["name"] = "workers-abcdefgh"
        objects = rendering.render(self.values, release)
        cut = f"{release}-workers-ab"
        self.assertIn(cut, objects.names("MachineDeployment"))
        for kind in rendering.HASHED:
            found = [n for n in objects.names(kind) if n.startswith(cut)]
            self.assertEqual([72], [len(name) for name in found])
        # A dash at the end is cut, too.
        release = "r" * 53
        self.group["name"] = "workers1-x"
        objects = rendering.render(self.values, release)
        names = objects.names("MachineDeployment")
        self.assertIn(f"{release}-workers1", names)

    def test_old_spelling_of_allowed_cidrs_is_ignored(self) -> None:
        self.values["apiServer"] = {"allowedCidrs": ["192.0.2.0/24"]}
        cluster = rendering.render(self.values).get("OpenStackCluster", "rel")
        balancer = cluster["spec"]["apiServerLoadBalancer"]
        self.assertEqual({"enabled": True}, balancer)
        # Values of living clusters have it, and those of today have not.
        before = rendering.render(self.values).objects
        del self.values["apiServer"]
        self.assertEqual(before, rendering.render(self.values).objects)

    def test_a_long_release_has_two_addons_of_one_name(self) -> None:
        """Releases of 1.4.0 have up to 43 characters, those of today 27."""
        addons = {
            each: {"enabled": True}
            for each in (
                "monitoring",
                "ingress",
                "nodeFeatureDiscovery",
                "nvidiaGPUOperator",
                "mellanoxNetworkOperator",
                "amdGPUOperator",
                "intelDevicePlugin",
                "certManager",
                "nodeProblemDetector",
                "metricsServer",
                "etcdDefrag",
                "reloader",
            )
        }
        self.values["addons"] = addons
        monitoring = ("Manifests", "-kube-prometheus-sta")
        intel = {
            (kind, "-intel-device-plugin")
            for kind in ("HelmRelease", "Secret")
        }
        for length, expected in (
            (39, set()),
            (41, {monitoring}),
            (43, {monitoring, *intel}),
        ):
            rows = rendering.render(self.values, "r" * length).inventory()
            found = {
                (kind, name[length:][:20])
                for (kind, name), times in collections.Counter(rows).items()
                if times > 1
            }
            self.assertEqual(expected, found, str(length))

    def test_volume_type_without_size_is_ignored(self) -> None:
        self.group["machineRootVolume"] = {"volumeType": "ssd"}
        objects = rendering.render(self.values)
        template = objects.get(
            "OpenStackMachineTemplate", "rel-default-worker-<hash>"
        )
        self.assertNotIn("rootVolume", template["spec"]["template"]["spec"])

    def test_any_text_switches_autoscaling_on(self) -> None:
        self.group.update(autoscale=True, machineCountMin="1")
        self.assert_refused("autoscale needs machineCountMin as a number")
        self.group.update(machineCountMin=3, machineCountMax=2)
        self.assert_refused("machineCountMax is below machineCountMin")
        self.group.update(
            autoscale="false", machineCountMin=1, machineCountMax=2
        )
        objects = rendering.render(self.values)
        deployment = objects.get("MachineDeployment", "rel-default-worker")
        self.assertNotIn("replicas", deployment["spec"])


class RefusalTest(TrapsCase):
    """Values that helm never turns into objects."""

    def test_each_needed_value_is_asked_for(self) -> None:
        for key, text in (
            ("kubernetesVersion", "kubernetesVersion is needed"),
            ("machineImageId", "machineImageId is needed"),
            ("cloudCredentialsSecretName", "or clouds is needed"),
            ("controlPlane", "machineFlavor is needed"),
        ):
            kept = self.values.pop(key)
            self.assert_refused(text)
            self.values[key] = kept

    def test_values_that_do_not_go_together_are_refused(self) -> None:
        on = {"enabled": True}
        rows: dict[str, dict[str, Any]] = {
            "nginx and traefik are both enabled": {
                "addons": {"ingress": {**on, "nginx": on}}
            },
            "are needed without csi.cephfs": {
                "addons": {"openstack": {"csiManila": on}}
            },
            "needs the Secret rel-etcd-key": {"etcd": {"encryption": on}},
            "controlPlaneNodesSecurityGroupRules": {
                "clusterNetworking": {
                    "controlPlaneNodesSecurityGroupRules": [{"name": "x"}]
                }
            },
            "oidc.clientId is needed": {
                "oidc": {"issuerUrl": "https://issuer.example.org"}
            },
        }
        for text, values in rows.items():
            self.values = {**rendering.load_values("plain"), **values}
            self.assert_refused(text)


class MisspeltRulesTest(base.BaseTestCase):
    """Chart 0.26.0, which names the rules of the node ports wrongly."""

    def test_the_driver_opens_the_node_ports_in_both_versions(self) -> None:
        chart = f"{self.useFixture(fixtures.TempDir()).path}/openstack-cluster"
        shutil.copytree(rendering.CHART, chart)
        path = f"{chart}/templates/_cluster-openstack.tpl"
        with open(path) as stream:
            text = stream.read()
        with open(path, "w") as stream:
            # The only line that begins like this.
            stream.write(
                text.replace(
                    "\nworkerNodesSecurityGroupRules:",
                    "\nworkerNodeSecurityGroupRules:",
                )
            )
        values = rendering.load_values("flatcar")
        cluster = rendering.render(values, chart=chart).get(
            "OpenStackCluster", "rel"
        )
        right = rendering.render(values).get("OpenStackCluster", "rel")
        self.assertNotEqual(right, cluster)
        [patched] = patches.applied(
            [cluster], patches.wanted(values, "0.26.0")
        )
        self.assertEqual(right, patched)
        self.assertEqual(
            conversion.convert(right), conversion.convert(patched)
        )
        # A record that helm wrote before the driver corrected it.
        conversion.convert(cluster)
