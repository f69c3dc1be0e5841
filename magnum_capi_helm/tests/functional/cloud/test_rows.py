# SPDX-License-Identifier: Apache-2.0

"""Each setting of ``settings.py`` is in OpenStack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keystoneauth1 import adapter

from lab.cloud import rows
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import project
from magnum_capi_helm.tests.functional.cloud import cluster_rows
from magnum_capi_helm.tests.functional.cloud import settings


class RowsTest(base.LabCase):
    """Two clusters with every setting."""

    def setUp(self) -> None:
        super().setUp()
        self.project = project.Project(self)
        self.words: dict[str, str] = {}
        self.seen: list[tuple[cluster_rows.Row, Any]] = []

    def test_each_setting_is_in_openstack(self) -> None:
        """Every row of the tables, and nothing is left afterwards."""
        managed, address = self._managed()
        own = self._own()
        made = [
            self.until_status(each, ("CREATE_COMPLETE", "CREATE_FAILED"), 600)
            for each in (managed, own)
        ]
        self.assertEqual(
            ["CREATE_COMPLETE"] * 2,
            [each["status"] for each in made],
            str(made),
        )
        self._add_group(own)
        wrong = self._compare(made[0], settings.MANAGED) + self._compare(
            made[1], settings.OWN
        )
        volumes = [self.project.volume(each["stack_id"]) for each in made]

        self.delete(managed, own)
        wrong += self._compare(made[0], settings.MANAGED_DELETED)
        wrong += self._compare(made[1], settings.OWN_DELETED)
        cluster_rows.keep("clusters", self.seen)
        self.assertEqual([], wrong)
        self.assert_all_gone(made[0]["stack_id"], [volumes[0]["id"]])
        self.assert_all_gone(made[1]["stack_id"])
        self.assertTrue(self.project.there(*project.ADDRESSES, address))

    def _managed(self) -> tuple[str, Any]:
        """Return the first cluster, and the user's floating IP."""
        address = self.project.address("of the user")
        ip = address["floating_ip_address"]
        self.words[ip] = "ADDRESS"
        labels = {**settings.MANAGED_LABELS, "api_server_floating_ip": ip}
        template = self.template(**settings.MANAGED_TEMPLATE, labels=labels)
        return self.cluster(template, **settings.MANAGED_CLUSTER), address

    def _own(self) -> str:
        """Return the second cluster."""
        network, subnet = self._network("NETWORK", settings.OWN_CIDR)
        self.words[subnet["name"]] = "SUBNET"
        self.extra, _ = self._network("EXTRA", "10.77.9.0/24")
        template = self.template(
            **{
                **settings.OWN_TEMPLATE,
                "fixed_network": network,
                "fixed_subnet": subnet["id"],
            },
            master_flavor_id=self._flavor(),
            labels={**settings.OWN_LABELS, "extra_network_names": self.extra},
        )
        return self.cluster(template, **settings.OWN_CLUSTER)

    def _network(self, word: str, cidr: str) -> tuple[str, Any]:
        """Return the ID of a new network, and its subnet."""
        name = self.unique("rows")
        self.words[name] = word
        # Neutron's DHCP has no addresses on loopback.
        subnet = self.project.network(name, cidr=cidr, enable_dhcp=False)
        return str(subnet["network_id"]), subnet

    def _flavor(self) -> str:
        """Return the name of a flavor with a disk for a local etcd."""
        nova = adapter.Adapter(
            magnum_api.keystone_session("admin"), service_type="compute"
        )
        flavor = {
            "name": self.unique("m1.local"),
            "vcpus": 2,
            "ram": 4096,
            "disk": 20,
            "OS-FLV-EXT-DATA:ephemeral": 2,
        }
        made = nova.post("/flavors", json={"flavor": flavor}).json()["flavor"]
        self.addCleanup(nova.delete, f"/flavors/{made['id']}")
        return str(flavor["name"])

    def _add_group(self, cluster: str) -> None:
        labels = {
            **settings.OWN_GROUP_LABELS,
            "extra_network_names": self.extra,
        }
        body = {
            "name": settings.EXTRA,
            "merge_labels": True,
            "labels": labels,
            **settings.OWN_GROUP,
        }
        path = f"/clusters/{cluster}/nodegroups"
        self.magnum.call("POST", path, body)
        self.until(
            lambda: (
                self.magnum.nodegroups(cluster)
                .get(settings.EXTRA, {})
                .get("status")
                == "CREATE_COMPLETE"
            ),
            360,
            lambda: str(self.magnum.nodegroups(cluster)),
        )

    def _compare(
        self, cluster: Mapping[str, Any], table: Sequence[cluster_rows.Row]
    ) -> list[str]:
        """Return the rows of a table that differ, and keep all."""
        release, uuid = cluster["stack_id"], cluster["uuid"]
        words = {
            **self.words,
            **_of_cluster(self.openstack, release),
            cluster["uuid"]: "UUID",
            cluster["name"]: "NAME",
            self._template_name(cluster): "TEMPLATE",
        }
        read = cluster_rows.ClusterRows(self.openstack, release, uuid, words)
        wrong = []
        for row in table:
            value = read.read(row)
            self.seen.append((row, value))
            if value != row.expected:
                wrong.append(f"{row}: {value}")
        return wrong

    def _template_name(self, cluster: Mapping[str, Any]) -> str:
        path = f"/clustertemplates/{cluster['cluster_template_id']}"
        return str(self.magnum.call("GET", path)["name"])


def _of_cluster(cloud: rows.Cloud, release: str) -> dict[str, str]:
    """Return words for what CAPO names or addresses by itself."""
    words = {}
    for kind in rows.KINDS:
        if kind.name not in ("routers", "security groups"):
            continue
        for row in cloud.rows(kind):
            if not rows.mentions(row, release):
                continue
            if kind.name == "routers":
                for each in row["external_gateway_info"]["external_fixed_ips"]:
                    words[each["ip_address"]] = "ROUTER"
            else:
                end = row["name"].rpartition("-")[2]
                words[row["name"]] = f"CAPO's group {end}"
    return words
