# SPDX-License-Identifier: Apache-2.0

"""1.4.0 is swapped for this driver under living clusters, and back.

1.4.0 is the real one, from PyPI, in the lab's own Magnum.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any

import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import project

_PREDECESSOR = "1.4.0"

#: What 1.4.0 takes: many a label, one with a value that this driver refuses
#: for new clusters, one that means nothing to either.
_LABELS = {
    "api_master_lb_allowed_cidrs": "192.0.2.0/24",
    "boot_volume_size": "30",
    "boot_volume_type": "ssd",
    "etcd_blockdevice_size": "10",
    "etcd_blockdevice_volume_type": "ssd",
    "keystone_auth_enabled": "true",
    "kube_tag": "v1.34.2",
    "octavia_lb_healthcheck": "yup",
}

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
        "fixed_subnet_cidr": "10.99.0.0/24",
        "kube_dashboard_enabled": "false",
        "octavia_provider": "ovn",
    },
}


class AdoptionCase(base.LabCase):
    """One cluster, and what was there of it before the swap."""

    uuid: str
    release: str
    old_machines: set[str]
    old_made_from: dict[str, Any]
    old_values: dict[str, Any]
    old_secrets: dict[str, Any]

    def add(self, name: str) -> None:
        """A nodegroup; its row comes a moment later."""
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        path = f"/clusters/{self.uuid}/nodegroups"
        self.magnum.call("POST", path, body)
        self.until(lambda: name in self.magnum.nodegroups(self.uuid), 30)

    def until_updated(self) -> None:
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED")
        )
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))

    def owned(self, kind: kinds.Kind) -> list[client.Object]:
        selector = f"cluster.x-k8s.io/cluster-name={self.release}"
        return self.plane.list(kind, self.namespace, selector)

    def machines(self) -> set[str]:
        """UIDs of the machines: a new one has another."""
        return {each["metadata"]["uid"] for each in self.owned(kinds.MACHINE)}

    def made_from(self) -> dict[str, Any]:
        """What machines are made from, the names of templates included."""
        found = {
            each["metadata"]["name"]: each["spec"]["template"]["spec"]
            for each in self.owned(kinds.MACHINE_DEPLOYMENT)
        }
        for each in self.owned(kinds.CONTROL_PLANE):
            found[each["metadata"]["name"]] = {
                key: each["spec"][key]
                for key in ("kubeadmConfigSpec", "machineTemplate", "version")
            }
        return found

    def assert_one_more_machine(self) -> None:
        """All are there that were, made from what they were made from."""
        machines = self.machines()
        self.assertLess(self.old_machines, machines)
        self.assertEqual(len(self.old_machines) + 1, len(machines))
        self.assertEqual(self.old_made_from, self.made_from())

    def secrets(self) -> dict[str, Any]:
        """What 1.4.0's Secrets hold."""
        found = {}
        for component in ("cloud-credentials", "ca", "etcd", "proxy", "sa"):
            name = f"{self.release}-{component}"
            secret = self.plane.get(kinds.SECRET, self.namespace, name)
            assert secret is not None, name
            found[component] = secret["data"]
        return found

    def assert_release_has_one_more_machine(self, group: str) -> None:
        """And nothing else is new in it, not even the chart."""
        self.assertEqual("openstack-cluster-0.27.0", self.listed()["chart"])
        values = self.values()
        stamp = values.pop("clusterAnnotations")
        self.assertEqual(["magnum.openstack.org/intent"], list(stamp))
        (grown,) = (
            each for each in values["nodeGroups"] if each["name"] == group
        )
        grown["machineCount"] -= 1
        self.assertEqual(self.old_values, values)

    def values(self) -> dict[str, Any]:
        """The values that the release was installed with."""
        words = ("get", "values", self.release, "--output", "json")
        return dict(json.loads(self.helm(*words)))

    def listed(self) -> dict[str, str]:
        """The release in ``helm list``."""
        words = ("list", "--all", "--filter", self.release, "-o", "json")
        (found,) = json.loads(self.helm(*words))
        return dict(found)

    def revision(self) -> str:
        """The newest revision, once it is deployed."""
        found = self.listed()
        return found["revision"] if found["status"] == "deployed" else ""

    def helm(self, *words: str) -> str:
        """What the lab's helm prints."""
        return subprocess.run(
            [programs.LAB / "bin" / "helm", *words, "-n", self.namespace],
            env={**os.environ, "KUBECONFIG": str(programs.LAB / "kubeconfig")},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout


class AdoptionTest(AdoptionCase):
    """One Magnum, one database, one driver after the other."""

    swapped = False
    #: A network that all machines are in as well.
    extra = ""

    def test_a_cluster_of_1_4_0_lives_on_and_another_goes_back(self) -> None:
        self._make_with_predecessor()
        self._swap()
        new = self._begin_another()
        self._assert_finished()
        found = programs.command("diff", self.uuid, "-f", "json")
        self.assertEqual([], json.loads(found))
        self._resize_the_group_that_1_4_0_made()
        self._assert_healthy()
        self._upgrade()
        self._delete()
        self._swap_back(new)

    # 1.4.0

    def _make_with_predecessor(self) -> None:
        """A cluster to which 1.4.0 has just begun to add a group."""
        # Before the clusters' own clean-up, and therefore after it.
        self.addCleanup(self._restore)
        programs.lab("restart", "magnum", "--driver", _PREDECESSOR)
        self.extra = self.unique("extra")
        project.Project(self).network(self.extra, enable_dhcp=False)
        self.uuid = self.cluster(
            self.template(name=self.unique("Old")),
            name=self.unique("Old_Web"),
            labels={**_LABELS, "extra_network_names": self.extra},
        )
        made = self.until_status(
            self.uuid, ("CREATE_COMPLETE", "CREATE_FAILED")
        )
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        # None of the driver under test: it takes these from the UUID.
        self.assertFalse(made["stack_id"].endswith(self.uuid[-12:]))
        self.release = str(made["stack_id"])
        self.fields = made
        self.add("worker_b")
        self.until(lambda: self.revision() == "2", 60)

    def _restore(self) -> None:
        """This driver, where no other options are taken back anyway."""
        if not self.swapped:
            programs.lab("restart", "magnum")

    def _swap_back(self, new: str) -> None:
        """1.4.0 polls and deletes what this driver made."""
        made = self.until_status(new, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        body = {"node_count": 2}
        self.magnum.call("POST", f"/clusters/{new}/actions/resize", body)
        self.until_status(new, ("UPDATE_IN_PROGRESS",), 120)
        programs.lab("restart", "magnum", "--driver", _PREDECESSOR)
        done = self.until_status(new, ("UPDATE_COMPLETE", "UPDATE_FAILED"))
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
        self.delete(new)
        # The Lease is what 1.4.0 knows nothing of, and leaves.
        release = made["stack_id"]
        self.assertEqual([f"Lease {release}"], self.left_of(release))
        self.assertEqual([], self.credentials_of(new))
        self.plane.delete(kinds.LEASE, self.namespace, release)

    # This driver

    def _swap(self) -> None:
        """Start this driver on the options of 1.4.0, with no chart stored."""
        self.admit()
        self.old_secrets = self.secrets()
        self.old_values = self.values()
        self.old_made_from = self.made_from()
        self.old_machines = self.machines()
        store = tempfile.mkdtemp(prefix="charts-")
        self.addCleanup(shutil.rmtree, store)
        # A former name of the label.
        changes = {
            "capi_helm": {"chart_store": store},
            "capi_helm_cluster_labels": {"extra_network_name": self.extra},
        }
        self.swapped = True
        self.configure_sections(
            {
                name: {**options, **changes.get(name, {})}
                for name, options in _OPTIONS.items()
            }
        )

    def _begin_another(self) -> str:
        """A cluster of this driver; the options are heard by those."""
        template = self.template(labels={"capi_helm_chart_version": "0.27.0"})
        values = yaml.safe_load(
            programs.command("values", "--template", template)
        )
        self.assertEqual(
            {"size": 20, "type": "Volume", "volumeType": "ssd"},
            values["etcd"]["blockDevice"],
        )
        csi = values["addons"]["openstack"]["csiCinder"]
        given = csi["defaultStorageClass"]
        self.assertEqual("xfs", given["fstype"])
        self.assertEqual("Delete", given["reclaimPolicy"])
        self.assertIn(self.extra, str(values["nodeGroups"]))
        return self.cluster(template)

    def _assert_finished(self) -> None:
        """The change that 1.4.0 began is complete without another helm."""
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED")
        )
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
        self.assertEqual("v1.34.2", done["coe_version"])
        groups = self.magnum.nodegroups(self.uuid)
        self.assertEqual(
            {"default-master", "default-worker", "worker_b"}, set(groups)
        )
        for group in groups.values():
            self.assertEqual("CREATE_COMPLETE", group["status"])
            self.assertEqual(1, len(group["node_addresses"]))
        self.assertEqual("2", self.revision())
        self.old_machines |= self.machines()
        self.assertEqual(3, len(self.old_machines))

    def _resize_the_group_that_1_4_0_made(self) -> None:
        self.resize(self.uuid, 2, "worker_b")
        self.assert_one_more_machine()
        self.assertEqual(self.old_secrets, self.secrets())
        self.assert_release_has_one_more_machine("worker-b")

    def _assert_healthy(self) -> None:
        """The health poll likes it; nothing else of the row has changed."""

        def healthy() -> dict[str, Any] | None:
            found = self.magnum.find(self.uuid) or {}
            return found if found["health_status"] == "HEALTHY" else None

        found = self.until(healthy, 120)
        self.assertEqual("ok", found["health_status_reason"]["api"])
        changing = {
            "container_version",
            "health_status",
            "health_status_reason",
            "master_addresses",
            "node_addresses",
            "node_count",
            "status",
            "updated_at",
        }
        self.assertEqual(
            {k: v for k, v in self.fields.items() if k not in changing},
            {k: v for k, v in found.items() if k not in changing},
        )

    def _upgrade(self) -> None:
        """All machines are replaced, by those of another template."""
        machines = self.machines()
        new = self.template(
            image_id="ubuntu-v1.35.1",
            labels={"capi_helm_chart_version": "0.27.0"},
        )
        self.magnum.call(
            "POST",
            f"/clusters/{self.uuid}/actions/upgrade",
            {"cluster_template": new, "max_batch_size": 1},
        )
        self.until_updated()
        found = self.magnum.find(self.uuid) or {}
        self.assertEqual("v1.35.1", found["coe_version"])
        self.assertEqual(new, found["cluster_template_id"])
        self.assertEqual(len(machines), len(self.machines()))
        self.assertEqual(set(), machines & self.machines())

    def _delete(self) -> None:
        """No trace is left, in any service."""
        references = database.references(self.uuid)
        self.assertEqual(4, len(database.stored(references)))
        self.assertNotEqual([], self.credentials_of(self.uuid))
        self.delete(self.uuid)
        self.assert_all_gone(self.release)
        self.assertEqual([], self.credentials_of(self.uuid))
        self.assertEqual([], database.stored(references))
