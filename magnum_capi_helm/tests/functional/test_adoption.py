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


"""1.4.0 is swapped for this driver under a living cluster."""

from __future__ import annotations

import json
import shutil
import tempfile
from typing import Any

from keystoneauth1 import adapter
import yaml

from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import legacy

_CAPI = "cluster.x-k8s.io/v1beta1"
_PINNED = {
    "Cluster": {"api_version": _CAPI},
    "K8sControlPlane": {
        "api_version": f"controlplane.{_CAPI}",
        "plural_name": "kubeadmcontrolplanes",
    },
}

#: 1.4.0's configuration file, with other defaults than the cluster was made
#: with, and options in every place where 1.4.0 finds them.
_OPTIONS = {
    "capi_helm": {
        "api_resources": json.dumps(_PINNED),
        "app_cred_interface_type": "public",
        "csi_cinder_allowed_topologies": "elsewhere",
        "csi_cinder_default_volume_type": "ssd",
        "default_helm_chart_version": "0.10.1",
        "k8s_control_plane_resource_conditions": "MachinesReady,Ready",
        "minimum_flavor_ram": "1024",
        # Where these were before they became labels.
        "csi_cinder_allow_volume_expansion": "false",
        "csi_cinder_availability_zone": "elsewhere",
        "csi_cinder_fstype": "xfs",
        "csi_cinder_reclaim_policy": "Delete",
        "csi_cinder_volume_binding_mode": "Immediate",
        "etcd_volume_size": "20",
        "etcd_volume_type": "ssd",
    },
    "capi_helm_cluster_labels": {
        "auto_healing_enabled": "false",
        "boot_volume_size": "50",
        # A former name; and the one network that is there for everybody.
        "extra_network_name": "public",
        "fixed_subnet_cidr": "10.99.0.0/24",
        "kube_dashboard_enabled": "false",
        "octavia_provider": "ovn",
    },
}


class AdoptionTest(base.LabCase):
    """1.4.0 ended while it added a nodegroup to a cluster."""

    def test_a_cluster_of_1_4_0_lives_on_and_goes_without_a_trace(
        self,
    ) -> None:
        self._configure()
        template = self.template()
        self._assert_options_are_heard(template)
        cluster = self._left_behind(template)
        secrets = self._secrets()
        self._assert_finished(cluster)
        made_from, machines = self._made_from(), self._machines()
        self.assertEqual(3, len(machines))
        self.assertEqual(
            [], json.loads(base.command("diff", cluster, "-f", "json"))
        )

        self._resize(cluster, "worker_b", 2)
        self.assertEqual(made_from, self._made_from())
        self.assertLess(machines, self._machines())
        self.assertEqual(4, len(self._machines()))
        self.assertEqual(secrets, self._secrets())
        self._assert_release_has_one_more_machine("worker-b")
        self._assert_healthy(cluster)

        self.delete(cluster)
        self.assertEqual([], self.left_of(self.left.release))
        self.assertEqual([], self.credentials_of(cluster))

    # Making

    def _configure(self) -> None:
        """Start Magnum on 1.4.0's configuration, with no charts in store."""
        store = tempfile.mkdtemp(prefix="charts-")
        self.addCleanup(shutil.rmtree, store)
        ours = {"chart_store": store}
        self.configure_sections(
            {**_OPTIONS, "capi_helm": _OPTIONS["capi_helm"] | ours}
        )

    def _left_behind(self, template: str) -> str:
        """UUID of a cluster as 1.4.0 leaves it.

        This driver refuses its label, which 1.4.0 takes: there are Magnum's
        rows and certificates, and nothing of the driver's.
        """
        name = self.unique("Old_Web")
        release = legacy.release_of(name)
        # Before the cluster's own clean-up, and therefore after it.
        self.addCleanup(self._remove, release)
        cluster = self.cluster(
            template, name=name, labels={"octavia_lb_healthcheck": "yup"}
        )
        refused = self.until_status(cluster, ("CREATE_FAILED",), 60)
        self.assertIsNone(refused["stack_id"])
        self.left = legacy.Remains(
            cluster=cluster,
            project=refused["project_id"],
            user=refused["user_id"],
            namespace=self.namespace,
            release=release,
        )
        self.plane.apply(
            kinds.NAMESPACE, {"metadata": {"name": self.namespace}}
        )
        for secret in self.left.secrets(self._credential()):
            self.plane.apply(kinds.SECRET, secret)
        self.values = self.left.install(
            image=self._find("image", "/v2/images", "ubuntu-v1.34.2"),
            external=self._find("network", "/v2.0/networks", "public"),
        )
        self.left.write_rows()
        return cluster

    def _find(self, service: str, path: str, name: str) -> str:
        """UUID of something in Glance or Neutron."""
        api = adapter.Adapter(self.magnum.session, service_type=service)
        listed = api.get(path, params={"name": name}).json()
        (found,) = listed[path.rsplit("/", 1)[-1]]
        return str(found["id"])

    def _credential(self) -> dict[str, Any]:
        """The cluster's application credential; no other place names it."""
        keystone = adapter.Adapter(
            self.magnum.session, service_type="identity"
        )
        path = f"/users/{self.left.user}/application_credentials"
        body = {"name": self.unique(f"magnum-{self.left.cluster}")}
        answer = keystone.post(path, json={"application_credential": body})
        made: dict[str, Any] = answer.json()["application_credential"]
        self.addCleanup(
            keystone.delete, f"{path}/{made['id']}", raise_exc=False
        )
        return made

    def _remove(self, release: str) -> None:
        """Remove what nothing in Magnum points to when the test failed."""
        legacy.helm(self.namespace, "uninstall", release, "--ignore-not-found")
        self.until(
            lambda: (
                self.plane.get(kinds.CLUSTER, self.namespace, release) is None
            ),
            180,
        )
        for kind in (kinds.SECRET, kinds.LEASE):
            for each in self._owned(kind, release):
                name = each["metadata"]["name"]
                self.plane.delete(kind, self.namespace, name)

    def _resize(self, cluster: str, group: str, count: int) -> None:
        self.magnum.call(
            "POST",
            f"/clusters/{cluster}/actions/resize",
            {"node_count": count, "nodegroup": group},
        )
        self.until_status(cluster, ("UPDATE_IN_PROGRESS",), 30)
        done = self.until_status(cluster, ("UPDATE_COMPLETE", "UPDATE_FAILED"))
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))

    # Looking

    def _owned(self, kind: kinds.Kind, release: str) -> list[client.Object]:
        selector = f"cluster.x-k8s.io/cluster-name={release}"
        return self.plane.list(kind, self.namespace, selector)

    def _machines(self) -> set[str]:
        """UIDs of the machines: a new one has another."""
        return {
            each["metadata"]["uid"]
            for each in self._owned(kinds.MACHINE, self.left.release)
        }

    def _made_from(self) -> dict[str, Any]:
        """What machines are made from, the names of templates included."""
        release = self.left.release
        found = {
            each["metadata"]["name"]: each["spec"]["template"]["spec"]
            for each in self._owned(kinds.MACHINE_DEPLOYMENT, release)
        }
        for each in self._owned(kinds.CONTROL_PLANE, release):
            found[each["metadata"]["name"]] = {
                key: each["spec"][key]
                for key in ("kubeadmConfigSpec", "machineTemplate", "version")
            }
        self.assertEqual(
            {
                f"{release}-{component}"
                for component in (
                    "control-plane",
                    "default-worker",
                    "worker-b",
                )
            },
            set(found),
        )
        return found

    def _secrets(self) -> dict[str, Any]:
        """What 1.4.0's Secrets hold."""
        found = {}
        for component in ("cloud-credentials", "ca", "etcd", "proxy", "sa"):
            name = f"{self.left.release}-{component}"
            secret = self.plane.get(kinds.SECRET, self.namespace, name)
            assert secret is not None, name
            found[component] = secret["data"]
        return found

    def _listed(self) -> dict[str, str]:
        """The release in ``helm list``."""
        words = ("list", "--filter", self.left.release, "--output", "json")
        (found,) = json.loads(legacy.helm(self.namespace, *words))
        return dict(found)

    def _assert_options_are_heard(self, template: str) -> None:
        """By clusters to come, wherever 1.4.0 had them."""
        values = yaml.safe_load(base.command("values", "--template", template))
        self.assertEqual(
            {"size": 20, "type": "Volume", "volumeType": "ssd"},
            values["etcd"]["blockDevice"],
        )
        csi = values["addons"]["openstack"]["csiCinder"]
        given = csi["defaultStorageClass"]
        self.assertEqual("xfs", given["fstype"])
        self.assertEqual("Delete", given["reclaimPolicy"])
        self.assertIn("public", str(values["nodeGroups"]))

    def _assert_finished(self, cluster: str) -> None:
        """What 1.4.0 began is complete, and nothing was applied for it."""
        done = self.until_status(cluster, ("UPDATE_COMPLETE", "UPDATE_FAILED"))
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
        self.assertEqual("v1.34.2", done["coe_version"])
        groups = self.magnum.nodegroups(cluster)
        self.assertEqual(
            {"default-master", "default-worker", "worker_b"}, set(groups)
        )
        for group in groups.values():
            self.assertEqual("CREATE_COMPLETE", group["status"])
            self.assertEqual(1, len(group["node_addresses"]))
        self.assertEqual("1", self._listed()["revision"])

    def _assert_release_has_one_more_machine(self, group: str) -> None:
        """And nothing else is new in it, not even the chart."""
        self.assertEqual(
            f"openstack-cluster-{legacy.CHART}", self._listed()["chart"]
        )
        words = ("get", "values", self.left.release, "--output", "json")
        values = json.loads(legacy.helm(self.namespace, *words))
        stamp = values.pop("clusterAnnotations")
        self.assertEqual(["magnum.openstack.org/intent"], list(stamp))
        (grown,) = (
            each for each in values["nodeGroups"] if each["name"] == group
        )
        grown["machineCount"] -= 1
        self.assertEqual(self.values, values)

    def _assert_healthy(self, cluster: str) -> None:
        """The health poll likes it, and leaves its status alone."""

        def healthy() -> dict[str, Any] | None:
            found = self.magnum.find(cluster) or {}
            return found if found["health_status"] == "HEALTHY" else None

        found = self.until(healthy, 120)
        self.assertEqual("UPDATE_COMPLETE", found["status"])
