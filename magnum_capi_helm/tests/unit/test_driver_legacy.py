# SPDX-License-Identifier: Apache-2.0

"""Clusters that magnum-capi-helm 1.4.0 made, taken over as they are.

Some have labels and names that no new one could have.
"""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import rollout
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import helm
from magnum_capi_helm.tests.unit.lifecycle import base

RELEASE = "web-x7fj2kq9dm4w"
CREDENTIALS = f"{RELEASE}-cloud-credentials"
CHART = "0.16.0"


class LegacyTestCase(base.FlowTestCase):
    """A cluster of 1.4.0: a release and Secrets, and nothing of version 2."""

    release = RELEASE

    def setUp(self) -> None:
        super().setUp()
        self.saved(
            stack_id=self.release,
            status="CREATE_COMPLETE",
            labels=self.labels(),
        )
        self.capi = self.plane.cluster_api(base.NAMESPACE, self.release)
        self.values = self.legacy_values()
        namespace = {"metadata": {"name": base.NAMESPACE}}
        self.server.create(kinds.NAMESPACE, namespace)
        self.apply_values()
        self.write_secrets()
        self.capi.settle()
        self.helm.upgrades.clear()

    def apply_values(self) -> None:
        chart = f"/store/openstack-cluster-{CHART}.tgz"
        self.helm.upgrade(self.release, base.NAMESPACE, chart, self.values)

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """The next image, and no trace of the cluster's own."""
        new = cluster_spec.Image("i-31", "ubuntu-1.31", "1.31.5", "ubuntu")
        found = super().catalogue(session)
        found.images = {"ubuntu-1.31": new}
        return found

    def labels(self) -> dict[str, str]:
        return {"kube_tag": "v1.30.1"}

    def legacy_values(self) -> dict[str, Any]:
        group = {"machineFlavor": "old.2", "machineCount": 2}
        return {
            "kubernetesVersion": "1.30.1",
            "machineImageId": "an-image-that-is-gone",
            "cloudCredentialsSecretName": f"{self.release}-cloud-credentials",
            "apiServer": {"allowedCidrs": ["192.0.2.0/24"]},
            "controlPlane": {"machineFlavor": "old.1", "machineCount": 1},
            "nodeGroups": [{"name": "default-worker", **group}],
            "addons": {"kubernetesDashboard": {"enabled": True}},
        }

    def write_secrets(self) -> None:
        """1.4.0's Secrets: the owner in a label, the id in clouds.yaml."""
        made = "0a1b2c"
        self.openstack.credentials[made] = {
            "id": made,
            "name": f"magnum-{base.UUID}-0a1b2c3d",
            "user_id": "fake_user",
        }
        clouds = f"""
    clouds:
      openstack:
        identity_api_version: 3
        region_name: RegionOne
        interface: public
        verify: true
        auth_type: v3applicationcredential
        auth:
          auth_url: http://keystone.test/v3
          application_credential_id: {made}
          application_credential_secret: s3cr3t
    """
        labels = {
            "magnum.openstack.org/project-id": "fake_project",
            "magnum.openstack.org/user-id": "fake_user",
            "magnum.openstack.org/cluster-uuid": base.UUID,
        }
        data = {"clouds.yaml": base64.b64encode(clouds.encode()).decode()}
        for name in ("cloud-credentials", "ca", "etcd", "proxy", "sa"):
            meta = {"name": f"{self.release}-{name}", "labels": labels}
            meta["namespace"] = base.NAMESPACE
            self.server.create(kinds.SECRET, {"metadata": meta, "data": data})

    def secret(self, name: str) -> Any:
        return self.server.get(kinds.SECRET, base.NAMESPACE, name)

    def replicas(self, group: str = "default-worker") -> int:
        found = self.live(kinds.MACHINE_DEPLOYMENT, f"{self.release}-{group}")
        return int(found["spec"]["replicas"])


class LegacyTest(LegacyTestCase):
    def test_a_poll_changes_nothing_and_it_is_healthy(self) -> None:
        self.driver.update_cluster_status(self.admin, self.row())
        row = self.row()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertEqual("https://203.0.113.10:6443", row.api_address)
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(RELEASE, row.stack_id)
        self.assertEqual("HEALTHY", self.health_poll().health_status)

    def test_a_resize_keeps_its_chart_and_its_values(self) -> None:
        identity = self.secret(CREDENTIALS)
        self.resize(3)
        [call] = self.helm.upgrades
        self.assertEqual(CHART, call.chart_version)
        expected = dict(self.values)
        expected["nodeGroups"] = [
            {**self.values["nodeGroups"][0], "machineCount": 3}
        ]
        values = {**call.values}
        del values["clusterAnnotations"]
        self.assertEqual(expected, values)
        self.assertEqual(identity, self.secret(CREDENTIALS))

        self.poll()
        self.assertEqual("UPDATE_IN_PROGRESS", self.row().status)
        self.assert_updated()
        self.assertEqual(3, self.replicas())

    def test_a_resize_in_progress_at_the_swap_is_finished(self) -> None:
        self.save(self.groups()["default-worker"], node_count=4)
        self.save(status="UPDATE_IN_PROGRESS")
        self.poll()
        self.assertEqual(4, self.replicas())
        self.assert_updated()

    def test_an_update_that_1_4_0_applied_is_not_applied_again(self) -> None:
        self.save(status="UPDATE_IN_PROGRESS")
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual([], self.helm.upgrades)

    def test_a_legacy_cluster_is_deleted_with_its_credential(self) -> None:
        self.delete()
        self.poll()
        self.capi.finish()
        self.poll()
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual([], self.server.names(kinds.LEASE))
        self.assertEqual([], self.server.names(kinds.CLUSTER))

    def restore(self, *kept: kinds.Kind) -> None:
        """The management cluster is restored, with these kinds alone."""
        self.save(api_address="https://192.0.2.1:6443")
        for kind in {*kinds.ALL} - {kinds.NAMESPACE, *kept}:
            for name in self.server.names(kind):
                self.server.delete(kind, base.NAMESPACE, name)
                self.server.release(kind, base.NAMESPACE, name)

    def test_its_deletion_concludes_nothing_from_an_older_backup(self) -> None:
        """No poll of version 2 has seen it yet."""
        self.restore()
        self.delete()
        self.poll()
        self.assertIn("neither the Cluster nor", self.why())
        self.assertEqual(1, len(self.openstack.credentials))

    def test_a_deletion_that_1_4_0_began_goes_on(self) -> None:
        self.restore(kinds.SECRET)
        self.helm.uninstall(RELEASE, base.NAMESPACE)
        self.delete()
        self.poll()
        self.assertEqual({}, self.openstack.credentials)
        self.assertEqual([], self.server.names(kinds.SECRET))

    def test_a_credential_that_is_gone_counts_as_deleted(self) -> None:
        self.openstack.credentials.clear()
        self.test_a_legacy_cluster_is_deleted_with_its_credential()

    def test_the_newest_deployed_revision_counts(self) -> None:
        self.helm.outcomes = [helm.Outcome.REFUSED]
        self.values = {**self.values, "kubernetesVersion": "9.9.9"}
        self.assertRaises(errors.HelmError, self.apply_values)
        self.resize(3)
        call = self.helm.upgrades[-1]
        self.assertEqual(CHART, call.chart_version)
        self.assertEqual("1.30.1", call.values["kubernetesVersion"])


class UpgradeTest(LegacyTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.nodegroup(
            self.row(),
            name="more",
            image_id="an-image-of-its-own",
            stack_id=RELEASE,
            status="CREATE_COMPLETE",
        )
        more = {"name": "more", "machineFlavor": "x", "machineCount": 1}
        self.values["nodeGroups"].append(more)
        self.apply_values()
        self.capi.settle()

    def test_an_upgrade_pins_the_group_that_stays(self) -> None:
        labels = {"capi_helm_chart_version": "0.16.1"}
        new = self.template(image_id="ubuntu-1.31", labels=labels)
        self.handler.cluster_upgrade(
            self.context, self.row(), new, 1, self.groups()["default-worker"]
        )
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, {self.row().status})
        told = self.helm.upgrades[-1]
        self.assertEqual("0.16.1", told.chart_version)
        fields = ("name", "kubernetesVersion", "machineImageId")
        self.assertEqual(
            [
                ["default-worker", "1.31.5", "i-31"],
                ["more", "1.30.1", "an-image-that-is-gone"],
            ],
            [[each[f] for f in fields] for each in told.values["nodeGroups"]],
        )
        self.assertEqual(new.uuid, self.row().cluster_template_id)


class OddLabelTest(LegacyTest):
    """1.4.0 took any value of a label; a living cluster keeps working."""

    def labels(self) -> dict[str, str]:
        return {"octavia_lb_healthcheck": "yup", "boot_volume_size": "big"}

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        old = cluster_spec.Image("i-0", "ubuntu-1.30", "1.30.1", "ubuntu")
        return dataclasses.replace(found, images={old.name: old})

    def test_a_nodegroup_is_added_unless_its_own_value_is_wrong(self) -> None:
        own = {**self.labels(), "boot_volume_size": "huge"}
        refused = self.error_of(self.add, "own", labels=own)
        self.assertIn("label boot_volume_size: ", refused)
        self.assertIn("It is 'huge'", refused)
        self.add("more", labels=self.labels(), image_id="ubuntu-1.30")
        [*_, made] = self.helm.upgrades[-1].values["nodeGroups"]
        self.assertEqual("more", made["name"])
        self.assertNotIn("machineRootVolume", made)


class OddGroupTest(LegacyTestCase):
    """A group that 1.4.0 made under its own spelling of the name."""

    def setUp(self) -> None:
        super().setUp()
        self.nodegroup(
            self.row(),
            name="GPU_1",
            status="CREATE_COMPLETE",
            stack_id=RELEASE,
        )

    def legacy_values(self) -> dict[str, Any]:
        values = super().legacy_values()
        values["nodeGroups"].append(
            {"name": "gpu-1", "machineFlavor": "gpu", "machineCount": 1}
        )
        return values

    def test_a_resize_keeps_its_chart_and_its_values(self) -> None:
        self.resize(2, "GPU_1")
        self.assertEqual(1, len(self.helm.upgrades))
        counts = {
            each["name"]: each["machineCount"] for each in self.node_groups()
        }
        self.assertEqual({"default-worker": 2, "gpu-1": 2}, counts)
        self.assert_updated()

    def test_a_deleted_legacy_group_does_not_come_back(self) -> None:
        for _ in range(2):
            self.remove("GPU_1")
        self.resize(3)
        names = [each["name"] for each in self.node_groups()]
        self.assertEqual(["default-worker"], names)
        self.capi.remove_group("gpu-1")
        self.settle()
        self.assertNotIn("GPU_1", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)


class LongNameTest(LegacyTestCase):
    """A release of 43 characters, in which the chart cuts more names."""

    release = f"{'w' * 30}-x7fj2kq9dm4w"

    def test_an_addon_with_two_parts_is_refused(self) -> None:
        name = "intel_device_plugin_enabled"
        given = {name: "true", "capi_helm_chart_version": "0.16.1"}
        new = self.template(image_id="ubuntu-1.31", labels=given)
        group = self.groups()["default-worker"]
        upgrade = self.error_of(
            self.handler.cluster_upgrade,
            *(self.context, self.row(), new, 1, group),
        )
        apply = self.assertRaises(
            errors.LabelError,
            rollout.plan,
            cluster_release.Release(self.admin, self.row(), runtime.get()),
            rollout.Order(labels={name: "true"}),
        )
        text = (
            f"label {name}: give false: release {self.release} has more than "
            "41 characters, so the chart would make two addons of one name. "
            "It is 'true'"
        )
        self.assertIn(text, upgrade)
        self.assertEqual(text, str(apply))
        self.assertEqual([], self.helm.upgrades)
