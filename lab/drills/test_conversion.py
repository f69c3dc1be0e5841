# SPDX-License-Identifier: Apache-2.0

"""Cluster API stops serving v1beta1 below eleven clusters.

``CONVERSION_HELM=PROGRAM``: with another helm than the lab's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
import os
import time
from typing import Any

from lab.drills import planes
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests.functional import programs

_BEFORE, _AFTER = "1.13", "v1beta2-only"
_REASON = "Cluster API stops serving v1beta1"
_THAW = ("management-cluster", "thaw", "--apply")
#: Seconds; building may be among what the command does.
_LONGEST = 1500
_COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
_FAILED = ("CREATE_FAILED", "UPDATE_FAILED")

#: Cluster -> labels, other fields of its template, fields of the cluster.
CLUSTERS: Mapping[
    str, tuple[dict[str, str], dict[str, Any], dict[str, Any]]
] = {
    "plain": ({}, {}, {}),
    "older": ({"capi_helm_chart_version": "0.26.1"}, {}, {}),
    "three": ({}, {}, {"master_count": 3}),
    "volumes": (
        {
            "boot_volume_size": "21",
            "boot_volume_type": "ssd",
            "etcd_blockdevice_size": "4",
            "etcd_blockdevice_type": "volume",
        },
        {"docker_volume_size": 3},
        {},
    ),
    "zones": (
        {
            "availability_zone": "az2",
            "control_plane_availability_zones": "az1,az2",
            "server_group_policies": "soft-anti-affinity",
        },
        {},
        {},
    ),
    "listener": (
        {
            "api_master_lb_allowed_cidrs": "192.0.2.0/24,127.0.0.0/8",
            "octavia_lb_algorithm": "LEAST_CONNECTIONS",
            "fixed_subnet_cidr": "10.77.8.0/24",
        },
        {"dns_nameserver": "192.0.2.53"},
        {},
    ),
    "scaled": (
        {
            "auto_scaling_enabled": "true",
            "min_node_count": "1",
            "max_node_count": "3",
        },
        {},
        {},
    ),
    "unhealed": ({"auto_healing_enabled": "false"}, {}, {}),
    "monitored": ({"monitoring_enabled": "true"}, {}, {}),
    "grouped": ({}, {}, {}),
    "adopted": ({}, {}, {}),
}
_PREDECESSOR = "1.4.0"


class ConversionTest(planes.PlaneCase):
    """Eleven clusters of all kinds, made while v1beta1 was served."""

    helm = os.environ.get("CONVERSION_HELM")
    record = "conversion-other-helm" if helm else "conversion"

    def setUp(self) -> None:
        super().setUp()
        if self.helm:
            self.addCleanup(programs.lab, "restart", "magnum")
        # Last of all, when no cluster is left.
        self.addCleanup(self._managers, _BEFORE)

    def test_every_operation_afterwards(self) -> None:
        self._make()
        self._change_the_plane()
        self._resize()
        self._upgrade_to_the_same()
        self._upgrade_kubernetes()
        self._change_nodegroups()
        self._make_another()
        self._go_back()
        self._delete()

    # Before

    def _make(self) -> None:
        self.newer = self.template(image_id="ubuntu-v1.35.1")
        self.templates = {
            name: self.template(labels=labels, **fields)
            for name, (labels, fields, _) in CLUSTERS.items()
        }
        began = time.monotonic()
        self.admit()
        programs.lab("restart", "magnum", "--driver", _PREDECESSOR)
        self.clusters = {"adopted": self._made("adopted")}
        self._settled(self.clusters)
        self._start_this_driver()
        self.clusters |= {
            name: self._made(name)
            for name in CLUSTERS
            if name not in self.clusters
        }
        self._settled(self.clusters)
        self._nodegroup("grouped", "POST", "")
        self.until(lambda: self._has_group("grouped"), 240)
        self._tell(
            f"eleven clusters are complete: {', '.join(CLUSTERS)}", began
        )
        self.tell(f"  adopted: made by magnum-capi-helm {_PREDECESSOR}")
        self.before = self._machines()

    def _made(self, name: str) -> str:
        *_, fields = CLUSTERS[name]
        template = self.templates[name]
        return self.cluster(template, name=self.unique(name), **fields)

    def _start_this_driver(self) -> None:
        helm = ("--helm", self.helm) if self.helm else ()
        programs.lab("restart", "magnum", *helm)
        if self.helm:
            version = programs.run(self.helm, "version", "--short").strip()
            self.tell(f"helm {version}")

    def _change_the_plane(self) -> None:
        words = ("freeze", "--reason", _REASON, "--apply")
        self.addCleanup(programs.command, *_THAW)
        programs.command("management-cluster", *words, seconds=600)
        self.tell(
            f'$ magnum-capi-helm management-cluster freeze --reason "{_REASON}'
            '" --apply'
        )
        self._managers(_AFTER)
        programs.command(*_THAW)
        for kind in (kinds.CLUSTER, kinds.CONTROL_PLANE):
            served = self.plane.served(kind.group)[kind.name]
            self.assertEqual({"v1beta2"}, served)
        self.tell("Cluster API 1.14 takes the place of 1.13, and its CRDs")
        self.tell("  serve v1beta2 alone (the lab's, not clusterctl upgrade)")
        self.tell("$ magnum-capi-helm management-cluster thaw --apply")
        self.until(self._are_healthy, 240)
        self.assertEqual(self.before, self._machines())
        self.tell("all eleven are HEALTHY, with the machines of before")

    # Afterwards

    def _resize(self) -> None:
        """Resize; the machines stay, and each cluster has one more."""
        names = [name for name in CLUSTERS if name != "scaled"]
        self._done("resize CLUSTER 2", names, lambda each: self.ask(each, 2))
        now = self._machines()
        for name in names:
            self.assertLess(self.before[name].items(), now[name].items(), name)
            self.assertEqual(len(self.before[name]) + 1, len(now[name]), name)
        self.assertEqual(self.before["scaled"], now["scaled"])
        self.tell("  no machine was replaced; each cluster has one more, but")
        self.tell("  scaled, whose count the autoscaler has")
        self.before = now

    def _upgrade_to_the_same(self) -> None:
        """Upgrade clusters to their templates; no machine is replaced.

        The first upgrade of a cluster of 1.4.0 replaces its machines.
        """
        self._done(
            "upgrade CLUSTER TEMPLATE, to its own, of ten",
            [name for name in CLUSTERS if name != "adopted"],
            lambda each: self.upgrade(each, self._template_of(each)),
        )
        self.assertEqual(self.before, self._machines())
        self.tell("  no machine was replaced")

    def _template_of(self, cluster: str) -> str:
        return str(self.row(cluster)["cluster_template_id"])

    def _upgrade_kubernetes(self) -> None:
        names = ["plain", "older", "adopted"]
        self._done(
            "upgrade CLUSTER TEMPLATE, to 1.35.1",
            names,
            lambda each: self.upgrade(each, self.newer),
        )
        for name in names:
            row = self.row(self.clusters[name])
            self.assertEqual("v1.35.1", row["coe_version"])
            now = self.machines(self.clusters[name])
            self.assertEqual(set(), self.before[name].keys() & now.keys())
            self.assertEqual(len(self.before[name]), len(now))
        self.tell(f"  {', '.join(names)}: all machines are new")
        self.before = self._machines()

    def _change_nodegroups(self) -> None:
        began = time.monotonic()
        self._nodegroup("grouped", "DELETE", "/more")
        self._nodegroup("plain", "POST", "")
        self.until(lambda: self._has_group("plain"), 240)
        self.until(lambda: self._group("grouped") is None, 240)
        now = self._machines()
        self.assertLess(now["grouped"].items(), self.before["grouped"].items())
        self.assertLess(self.before["plain"].items(), now["plain"].items())
        self._tell("$ openstack coe nodegroup delete grouped more", began)
        self._tell("$ openstack coe nodegroup create plain more", began)
        self.before = now

    def _group(self, name: str) -> dict[str, Any] | None:
        return self.magnum.nodegroups(self.clusters[name]).get("more")

    def _has_group(self, name: str) -> bool:
        """Return whether the nodegroup of a cluster is complete."""
        found = self._group(name) or {}
        self.assertNotEqual("CREATE_FAILED", found.get("status"), str(found))
        return found.get("status") == "CREATE_COMPLETE"

    def _make_another(self) -> None:
        began = time.monotonic()
        template = self.templates["plain"]
        self.clusters["new"] = self.cluster(template, name=self.unique("new"))
        self._settled(["new"])
        self._tell("$ openstack coe cluster create new: complete", began)
        self.before = self._machines()

    def _go_back(self) -> None:
        """Serve v1beta1 again, and resize clusters that name v1beta2."""
        self._managers(_BEFORE)
        self.until(self._serves_v1beta1, 120)
        self.tell("Cluster API 1.13 is back, and serves v1beta1 too")
        names = ["three", "new"]
        self._done("resize CLUSTER 3", names, lambda each: self.ask(each, 3))
        now = self._machines()
        for name in names:
            self.assertLess(self.before[name].items(), now[name].items(), name)
        self.tell("  no machine was replaced")
        self._managers(_AFTER)

    def _serves_v1beta1(self) -> bool:
        return "v1beta1" in self.plane.served(kinds.CLUSTER.group)["Cluster"]

    def _delete(self) -> None:
        began = time.monotonic()
        releases = {
            name: self.release(each) for name, each in self.clusters.items()
        }
        self.tells_history(releases["plain"])
        for each in self.clusters.values():
            self.magnum.call("DELETE", f"/clusters/{each}")
        for name, each in self.clusters.items():
            self.delete(each)
            self.assertEqual([], self.left_of(releases[name]), name)
        self._tell("$ openstack coe cluster delete: all are gone", began)
        self.tell("  nothing of them is left")

    # Below

    def _done(
        self, title: str, names: Collection[str], ask: Callable[[str], None]
    ) -> None:
        """Ask for one operation on each of some clusters, and wait.

        A row is complete before it as well; helm has a revision more.
        """
        began = time.monotonic()
        before = {name: self._revision(name) for name in names}
        for name in names:
            ask(self.clusters[name])
        self.until(
            lambda: all(self._revision(name) > before[name] for name in names),
            600,
        )
        self._settled(names)
        self._tell(f"$ openstack coe cluster {title}: complete", began)

    def _revision(self, name: str) -> int:
        release = self.release(self.clusters[name])
        found = helm_records.revisions(self.plane, self.namespace, release)
        return found[-1].version

    def _settled(self, names: Iterable[str]) -> None:
        for name in names:
            row = self.until_status(
                self.clusters[name], (*_COMPLETE, *_FAILED), 900
            )
            self.assertIn(row["status"], _COMPLETE, str(row))

    def _nodegroup(self, name: str, method: str, path: str) -> None:
        body = {"name": "more", "node_count": 1, "flavor_id": "m1.worker"}
        self.magnum.call(
            method,
            f"/clusters/{self.clusters[name]}/nodegroups{path}",
            *([body] if method == "POST" else []),
        )

    def _machines(self) -> dict[str, dict[str, str]]:
        """Return UID and name of each machine, by cluster."""
        return {n: self.machines(each) for n, each in self.clusters.items()}

    def _are_healthy(self) -> bool:
        rows = map(self.row, self.clusters.values())
        return {row["health_status"] for row in rows} == {"HEALTHY"}

    def _managers(self, release: str) -> None:
        """Run the managers of a release, after its CRDs."""
        programs.lab("up", "--cluster-api", release, seconds=_LONGEST)
        if self.helm:
            # It has started Magnum anew, with the lab's own.
            programs.lab("restart", "magnum", "--helm", self.helm)

    def _tell(self, text: str, began: float) -> None:
        self.tell(f"{text}, after {time.monotonic() - began:.0f} s")
