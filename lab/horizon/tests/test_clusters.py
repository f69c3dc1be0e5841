# SPDX-License-Identifier: Apache-2.0

"""Clusters as users of Horizon make them, watch them and let them go."""

from __future__ import annotations

from collections.abc import Callable
import re

from lab.horizon.tests import case

# What a user reads, and how long it may take to be read.
_MINUTES = 6 * 60
_CREATED = re.compile(r"Success: Cluster (\S+) was successfully created\.")
_LIST = "hz-resource-table"
_TABLE = f"{_LIST} table"


class _ClusterCase(case.HorizonCase):
    def create(self, template: str, **texts: str) -> str:
        """Make a cluster by the dialog, and only fill in what it wants.

        :param texts: fields of its step "Size"
        :returns: the cluster's name
        """
        name = self.unique("shop")
        self.horizon.open_clusters()
        self.horizon.open_creation()
        self.horizon.fill("name", name)
        self.horizon.choose("cluster_template_id", self.name_of(template))
        self.horizon.choose("availability_zone", "az1")
        self.assertEqual("demo", self.horizon.chosen("keypair"))
        self.horizon.tick_one_of("cert-manager")
        self.horizon.step("Size")
        for field, text in {"master_count": "1", **texts}.items():
            self.horizon.fill(field, text)
        self.horizon.step("Network")
        self.horizon.choose("ingress_controller", "Traefik")
        self.shot("network", ".modal-content")
        told = " ".join(self.horizon.submit())
        made = _CREATED.search(told)
        if made is None:
            self.fail(told)
        self.uuid = made[1]
        self.made(self.uuid)
        return name

    def name_of(self, template: str) -> str:
        """What a template is called in the dialog."""
        found = self.magnum.call("GET", f"/clustertemplates/{template}")
        return str(found["name"])

    def read(
        self, name: str, wanted: Callable[[dict[str, str]], bool], what: str
    ) -> dict[str, str]:
        """Look at the list again and again, until a cluster's row is right.

        :param what: is waited for
        """
        last: dict[str, str] = {}

        def right() -> bool:
            last.clear()
            last.update(self.horizon.clusters().get(name, {}))
            return wanted(last)

        self.until(right, _MINUTES, lambda: f"{what}: {last}")
        return dict(last)

    def read_status(self, name: str, status: str) -> dict[str, str]:
        """Wait until the list has a status."""
        return self.read(name, lambda row: row.get("Status") == status, status)

    def read_reason(self, name: str, text: str) -> dict[str, str]:
        """Wait until the reason below the row has a text."""
        last: dict[str, str] = {}

        def told() -> bool:
            self.horizon.open_clusters()
            last.update(self.horizon.expand(name))
            return text in last["Status Reason"]

        self.until(told, _MINUTES, lambda: f"{text}: {last}")
        return last


class LifeTest(_ClusterCase):
    """One cluster for all: making one takes most of the time."""

    def test_a_cluster_from_the_dialog_to_its_deletion(self) -> None:
        old = self.template(labels={"kube_tag": "v1.34.2"})
        self.new = self.template(
            image_id="ubuntu-v1.35.1", labels={"kube_tag": "v1.35.1"}
        )
        self.cluster_name = self.create(old, node_count="1")
        self.it_becomes_complete_and_healthy()
        self.what_the_dialog_sent_is_what_the_cluster_is()
        self.it_is_resized()
        self.a_refused_upgrade_is_told_in_red_beside_green()
        self.it_is_upgraded()
        self.it_is_deleted()

    def it_becomes_complete_and_healthy(self) -> None:
        self.read_status(self.cluster_name, "CREATE_COMPLETE")
        row = self.read(
            self.cluster_name,
            lambda row: row.get("Health Status") == "HEALTHY",
            "healthy",
        )
        self.assertEqual("v1.34.2", row["Kubernetes Version"])
        below = self.horizon.expand(self.cluster_name)
        self.shot("healthy", _LIST)
        self.assertEqual("", below["Status Reason"])
        self.assertIn('"api": "ok"', below["Health Status Reason"])
        self.assertTrue(below["Node Addresses"])

    def what_the_dialog_sent_is_what_the_cluster_is(self) -> None:
        page = self.horizon.details(self.cluster_name)
        for label, value in {
            "availability_zone": "az1",
            "auto_healing_enabled": "False",
            "auto_scaling_enabled": "False",
            "cert_manager_enabled": "true",
            "ingress_controller": "traefik",
            "master_lb_floating_ip_enabled": "False",
            "kube_tag": "v1.34.2",
        }.items():
            self.assertEqual(value, page[label], label)

    def it_is_resized(self) -> None:
        self.horizon.open_clusters()
        self.horizon.act(self.cluster_name, "Resize Cluster")
        self.horizon.fill("node_count", "2")
        self.assertEqual(
            ["Success: Cluster is being resized."], self.horizon.submit()
        )
        self.read_status(self.cluster_name, "UPDATE_IN_PROGRESS")
        row = self.read_status(self.cluster_name, "UPDATE_COMPLETE")
        self.assertEqual("2", row["Node Count"])

    def a_refused_upgrade_is_told_in_red_beside_green(self) -> None:
        other = self.template(
            image_id="ubuntu-v1.35.1", labels={"kube_tag": "v1.35.9"}
        )
        self.assertEqual(
            [
                "Error: Unable to perform rolling upgrade.",
                "Success: Cluster is being upgraded to the new Cluster"
                " template",
            ],
            self.upgrade(other),
        )
        self.assertIn(f"{self.uuid}/upgrade", self.complaint())
        row = self.horizon.clusters()[self.cluster_name]
        self.assertEqual("UPDATE_COMPLETE", row["Status"])
        self.assertEqual("v1.34.2", row["Kubernetes Version"])

    def it_is_upgraded(self) -> None:
        self.assertEqual(
            ["Success: Cluster is being upgraded to the new Cluster template"],
            self.upgrade(self.new),
        )
        self.read_reason(self.cluster_name, "nodegroup default-worker:")
        self.shot("upgrading", _TABLE)
        row = self.read_status(self.cluster_name, "UPDATE_COMPLETE")
        self.assertEqual("v1.35.1", row["Kubernetes Version"])

    def upgrade(self, template: str) -> list[str]:
        """Ask for it by the dialog; all that Horizon says."""
        self.horizon.open_clusters()
        self.horizon.act(self.cluster_name, "Rolling Cluster Upgrade")
        self.horizon.choose("cluster_template_id", self.name_of(template))
        return self.horizon.submit()

    def it_is_deleted(self) -> None:
        self.horizon.act(self.cluster_name, "Delete Cluster")
        self.assertIn(
            f"Success: Deleted cluster: {self.cluster_name}.",
            self.horizon.confirm(),
        )
        self.read(self.cluster_name, lambda row: not row, "gone")
        self.assertTrue(self.gone(self.uuid))


class ReasonTest(_ClusterCase):
    def test_what_is_in_the_way_is_read_below_its_row(self) -> None:
        template = self.template(flavor_id="m1.worker.nohost")
        name = self.create(template, node_count="1")
        below = self.read_reason(name, "No valid host was found")
        self.shot("failing", _TABLE)
        self.assertRegex(
            below["Status Reason"],
            r"^nodegroup default-worker: machine shop-\S+:"
            " No valid host was found",
        )

    def test_why_it_was_refused_is_read_on_its_page(self) -> None:
        template = self.template(image_id="ubuntu-no-version")
        name = self.create(template, node_count="1")
        self.read_status(name, "CREATE_FAILED")
        page = self.horizon.details(name)
        self.assertIn(
            "image_id: the image has no property kube_version",
            page["Status Reason"],
        )
