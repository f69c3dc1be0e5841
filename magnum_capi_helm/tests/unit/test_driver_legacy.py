# SPDX-License-Identifier: Apache-2.0

"""A cluster that magnum-capi-helm 1.4.0 made, taken over as it is."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
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
        self.server.create(
            kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
        )
        self.helm.upgrade(
            self.release,
            base.NAMESPACE,
            f"/store/openstack-cluster-{CHART}.tgz",
            self.values,
        )
        self.write_secrets()
        self.capi.settle()
        self.helm.upgrades.clear()

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """The next image, and no trace of the cluster's own."""
        new = cluster_spec.Image("i-31", "ubuntu-1.31", "1.31.5", "ubuntu")
        found = super().catalogue(session)
        found.images = {"ubuntu-1.31": new}
        return found

    def labels(self) -> dict[str, str]:
        """Labels of the cluster."""
        return {"kube_tag": "v1.30.1"}

    def legacy_values(self) -> dict[str, Any]:
        """What 1.4.0 sent."""
        return {
            "kubernetesVersion": "1.30.1",
            "machineImageId": "an-image-that-is-gone",
            "cloudCredentialsSecretName": f"{self.release}-cloud-credentials",
            "apiServer": {"allowedCidrs": ["192.0.2.0/24"]},
            "controlPlane": {"machineFlavor": "old.1", "machineCount": 1},
            "nodeGroups": [
                {
                    "name": "default-worker",
                    "machineFlavor": "old.2",
                    "machineCount": 2,
                }
            ],
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
        entry = {
            "identity_api_version": 3,
            "region_name": "RegionOne",
            "interface": "public",
            "verify": True,
            "auth_type": "v3applicationcredential",
            "auth": {
                "auth_url": "http://keystone.test/v3",
                "application_credential_id": made,
                "application_credential_secret": "s3cr3t",
            },
        }
        clouds = yaml.safe_dump({"clouds": {"openstack": entry}})
        labels = {
            "magnum.openstack.org/project-id": "fake_project",
            "magnum.openstack.org/user-id": "fake_user",
            "magnum.openstack.org/cluster-uuid": base.UUID,
        }
        for name in ("cloud-credentials", "ca", "etcd", "proxy", "sa"):
            encoded = base64.b64encode(clouds.encode()).decode()
            self.server.create(
                kinds.SECRET,
                {
                    "metadata": {
                        "name": f"{self.release}-{name}",
                        "namespace": base.NAMESPACE,
                        "labels": labels,
                    },
                    "data": {"clouds.yaml": encoded},
                },
            )

    def secret(self, name: str) -> Any:
        return self.server.get(kinds.SECRET, base.NAMESPACE, name)

    def replicas(self, group: str = "default-worker") -> int:
        found = self.server.get(
            kinds.MACHINE_DEPLOYMENT, base.NAMESPACE, f"{self.release}-{group}"
        )
        assert found is not None
        return int(found["spec"]["replicas"])


class LegacyTest(LegacyTestCase):
    """It lives on as it is."""

    def test_a_poll_changes_nothing(self) -> None:
        self.driver.update_cluster_status(self.admin, self.row())
        row = self.row()
        self.assertEqual({"CREATE_COMPLETE"}, self.statuses())
        self.assertEqual("https://203.0.113.10:6443", row.api_address)
        self.assertEqual([], self.helm.upgrades)
        self.assertEqual(RELEASE, row.stack_id)

    def test_a_legacy_cluster_is_healthy(self) -> None:
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
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
        self.assertEqual(3, self.replicas())

    def test_a_resize_in_progress_at_the_swap_is_finished(self) -> None:
        group = self.groups()["default-worker"]
        group.node_count = 4
        group.save()
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
        self.poll()
        self.assertEqual(4, self.replicas())
        self.capi.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_an_update_that_1_4_0_applied_is_not_applied_again(self) -> None:
        row = self.row()
        row.status = "UPDATE_IN_PROGRESS"
        row.save()
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
        row = self.row()
        row.api_address = "https://192.0.2.1:6443"
        row.save()
        for kind in {*kinds.ALL} - {kinds.NAMESPACE, *kept}:
            for name in self.server.names(kind):
                self.server.delete(kind, base.NAMESPACE, name)
                self.server.release(kind, base.NAMESPACE, name)

    def test_its_deletion_concludes_nothing_from_an_older_backup(self) -> None:
        """No poll of version 2 has seen it yet."""
        self.restore()
        self.delete()
        self.poll()
        self.assertIn("neither the Cluster nor", self.row().status_reason)
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
        broken = {**self.values, "kubernetesVersion": "9.9.9"}
        self.assertRaises(
            errors.HelmError,
            self.helm.upgrade,
            RELEASE,
            base.NAMESPACE,
            "/store/openstack-cluster-0.99.0.tgz",
            broken,
        )
        self.resize(3)
        call = self.helm.upgrades[-1]
        self.assertEqual(CHART, call.chart_version)
        self.assertEqual("1.30.1", call.values["kubernetesVersion"])


class UpgradeTest(LegacyTestCase):
    """To a template of this driver."""

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
        self.helm.upgrade(
            RELEASE,
            base.NAMESPACE,
            f"/store/openstack-cluster-{CHART}.tgz",
            self.values,
        )
        self.capi.settle()

    def test_an_upgrade_pins_the_group_that_stays(self) -> None:
        new = self.template(
            image_id="ubuntu-1.31",
            labels={"capi_helm_chart_version": "0.16.1"},
        )
        self.handler.cluster_upgrade(
            self.context, self.row(), new, 1, self.groups()["default-worker"]
        )
        self.capi.settle()
        self.poll()
        self.assertEqual({"UPDATE_COMPLETE"}, {self.row().status})
        told = self.helm.upgrades[-1]
        self.assertEqual("0.16.1", told.chart_version)
        self.assertEqual(
            [
                ("default-worker", "1.31.5", "i-31"),
                ("more", "1.30.1", "an-image-that-is-gone"),
            ],
            [
                (
                    each["name"],
                    each["kubernetesVersion"],
                    each["machineImageId"],
                )
                for each in told.values["nodeGroups"]
            ],
        )
        self.assertEqual(new.uuid, self.row().cluster_template_id)
