# SPDX-License-Identifier: Apache-2.0

"""Rules of upgrades: refusals, charts, and fields that stay, as tables."""

from __future__ import annotations

from collections.abc import Callable
import copy
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors


def _chart(version: str) -> cluster_spec.Chart:
    return cluster_spec.Chart("chart", version, "https://charts.test")


#: A rule, what it is asked, and whether it refuses.
_RULES: tuple[tuple[Any, ...], ...] = (
    (upgrade_rules.check_kubernetes, "1.34.2", "1.34.2", False),
    (upgrade_rules.check_kubernetes, "1.34.2", "1.34.3", False),
    (upgrade_rules.check_kubernetes, "v1.34.2", "1.35.0", False),
    (upgrade_rules.check_kubernetes, "1.34.2", "1.36.0", False),
    (upgrade_rules.check_kubernetes, "1.34.2", "1.34.1", True),
    (upgrade_rules.check_kubernetes, "1.34.2", "1.33.9", True),
    (upgrade_rules.check_kubernetes, "1.9.0", "1.10.0", False),
    (upgrade_rules.check_kubernetes, "", "1.30.0", False),
    # Kubelets that stay, and the new control plane.
    (upgrade_rules.check_kept, "g", "1.35.0", "1.35.1", False),
    (upgrade_rules.check_kept, "g", "1.32.9", "1.35.0", False),
    (upgrade_rules.check_kept, "g", "1.31.0", "1.35.0", True),
    (upgrade_rules.check_kept, "g", "1.36.0", "1.35.0", True),
    (upgrade_rules.check_kept, "g", "", "1.35.0", False),
    # An untested pair of chart and Kubernetes; nobody knows the last one.
    (upgrade_rules.check_pair, "0.27.0", "1.36.0", False),
    (upgrade_rules.check_pair, "0.27.0", "1.37.0", True),
    (upgrade_rules.check_pair, "0.27.0", "1.32.0", True),
    (upgrade_rules.check_pair, "0.10.1", "1.31.0", False),
    (upgrade_rules.check_pair, "0.99.0", "1.50.0", False),
    # Installed Cluster API, and Kubernetes.
    (upgrade_rules.check_cluster_api, "1.10.4", "1.35.9", False),
    (upgrade_rules.check_cluster_api, "1.10.4", "1.36.0", True),
    (upgrade_rules.check_cluster_api, "1.12.7", "1.36.0", True),
    (upgrade_rules.check_cluster_api, "1.12.8", "1.36.0", False),
    (upgrade_rules.check_cluster_api, "1.13.0", "1.36.0", True),
    (upgrade_rules.check_cluster_api, "1.13.1", "1.37.0", False),
    (upgrade_rules.check_cluster_api, "1.14.0", "1.36.0", False),
    (upgrade_rules.check_cluster_api, "image capi", "1.36.0", False),
    (upgrade_rules.check_chart, "0.27.0", "0.9.0", True),
    (upgrade_rules.check_chart, "0.9.0", "0.27.0", False),
)


class RulesTest(base.BaseTestCase):
    def refuses(self, rule: Callable[..., Any], *args: Any) -> bool:
        try:
            rule(*args)
        except errors.CapiHelmError:
            return True
        return False

    def test_each_rule_refuses_its_versions_alone(self) -> None:
        for rule, *words, refused in _RULES:
            found = self.refuses(rule, *words)
            self.assertEqual(refused, found, f"{rule.__name__} {words}")

    def test_each_step_has_a_chart_for_its_version(self) -> None:
        for new, old, version, expected in (
            ("0.27.0", "0.23.0", "1.34.0", "0.27.0"),
            # The new chart takes 1.33 and later.
            ("0.27.0", "0.23.0", "1.32.9", "0.23.0"),
            ("0.99.0", "0.23.0", "1.32.9", "0.99.0"),
        ):
            actual = upgrade_rules.chart_of_hop(
                _chart(new), _chart(old), version
            )
            self.assertEqual(expected, actual.version)
        error = self.assertRaises(
            errors.NotSupported,
            upgrade_rules.chart_of_hop,
            *(_chart("0.27.0"), _chart("0.14.1"), "1.32.9"),
        )
        self.assertEqual(
            "no chart takes a Kubernetes version on the way: choose a "
            "template with another label capi_helm_chart_version first. Chart "
            "0.27.0 takes 1.33 to 1.36, chart 0.14.1 takes 1.29 to 1.31, and "
            "the version is v1.32.9",
            str(error),
        )

    def test_the_newer_one_of_two_charts_is_found(self) -> None:
        self.assertEqual(
            "0.27.0", upgrade_rules.newer_chart("0.27.0", "0.9.0")
        )
        self.assertEqual(
            "0.27.0", upgrade_rules.newer_chart("0.9.0", "0.27.0")
        )

    def test_an_older_network_plugin_is_refused(self) -> None:
        for cni, old, new, refused in (
            ("calico", "v3.31.5", "v3.31.5", False),
            ("calico", "v3.31.5", "v3.32.0", False),
            ("calico", "v3.31.5", "v3.31.4", True),
            ("cilium", "1.19.3", "1.9.9", True),
            # The chart's version is not known here.
            ("calico", "v3.31.5", None, False),
            ("calico", None, "v3.28.0", False),
        ):
            before, after = (
                {"addons": {"cni": {cni: {"chart": {"version": each}}}}}
                for each in (old, new)
            )
            self.assertEqual(
                refused,
                self.refuses(upgrade_rules.check_cni_version, before, after),
                f"{old} {new}",
            )

    def test_a_batch_size_becomes_the_rollout_strategy(self) -> None:
        update = {"maxSurge": 1, "maxUnavailable": "0%"}
        own, rolling = (
            {"rolloutStrategy": {"rollingUpdate": each}}
            for each in (update, {"maxUnavailable": 2})
        )
        surge = {"machineCount": 3, **own}
        for item, size, expected in (
            (surge, 2, surge),
            (surge, None, surge),
            ({"machineCount": 3}, 2, {"machineCount": 3, **rolling}),
            ({"machineCount": 2}, 9, {"machineCount": 2, **rolling}),
            ({"machineCount": 1}, 9, {"machineCount": 1}),
            ({"machineCount": 0}, 9, {"machineCount": 0}),
            ({"machineCount": 3, **rolling}, 1, {"machineCount": 3}),
            ({"machineCount": 3, **rolling}, None, {"machineCount": 3}),
            ({"machineCountMax": 2}, 9, {"machineCountMax": 2, **rolling}),
        ):
            self.assertEqual(expected, upgrade_rules.batched(item, size))

    def test_groups_of_1_4_0_are_pinned_to_what_all_had(self) -> None:
        values = {"kubernetesVersion": "1.30.0", "machineImageId": "i-1"}
        for own in (
            {"name": "a"},
            {"machineImageId": "i-2"},
            {"kubernetesVersion": "1.29.0"},
        ):
            self.assertEqual(
                {**values, **own}, upgrade_rules.pinned(own, values)
            )


_NEWEST = "0.27.0"


def _nested(path: str, value: Any) -> dict[str, Any]:
    """``{"a": {"b": value}}`` of ``a.b``; nothing of None."""
    if value is None:
        return {}
    found = value
    for key in reversed(path.split(".")):
        found = {key: found}
    return dict(found)


#: Path, stored, new. What is stored wins; what is not, is left out.
_ROWS: tuple[tuple[str, Any, Any], ...] = (
    ("addons.cni.type", "calico", "cilium"),
    ("addons.cni.type", "flannel", "calico"),
    ("apiServer.associateFloatingIP", True, False),
    ("apiServer.associateFloatingIP", False, True),
    ("apiServer.enableLoadBalancer", True, False),
    ("apiServer.fixedIP", None, "10.0.0.9"),
    ("apiServer.floatingIP", "203.0.113.7", None),
    ("apiServer.loadBalancerProvider", "amphora", "ovn"),
    ("apiServer.loadBalancerProvider", None, "ovn"),
    ("apiServer.port", None, 8443),
    ("apiServer.port", 8443, 6443),
    ("clusterNetworking.disableExternalNetwork", None, True),
    ("apiServer.loadBalancerAvailabilityZone", None, "az1"),
    ("apiServer.loadBalancerFlavor", "small", "ha"),
    ("apiServer.loadBalancerNetwork", {"id": "a"}, {"id": "b"}),
    ("clusterNetworking.externalNetworkId", "net-1", "net-2"),
    ("clusterNetworking.internalNetwork.networkFilter", {"id": "a"}, None),
    ("clusterNetworking.internalNetwork.nodeCidr", "10.0.0.0/24", None),
    ("clusterNetworking.internalNetwork.nodeCidr", None, "10.9.0.0/24"),
    ("clusterNetworking.internalNetwork.subnetFilter", None, {"id": "b"}),
    ("clusterNetworking.manageSecurityGroups", False, True),
    (
        "controlPlane.kubeadmConfigSpec.initConfiguration.localAPIEndpoint",
        None,
        {"bindPort": 8443},
    ),
    ("controlPlaneEndpoint", {"host": "a"}, {"host": "b"}),
    ("kubeNetwork", {"pods": {"cidrBlocks": ["10.1.0.0/16"]}}, None),
    ("kubeNetwork", None, {"serviceDomain": "other.local"}),
    ("machineMetadata", {"magnum_template_name": "a"}, {"b": "c"}),
    ("machineMetadata", None, {"magnum_template_name": "b"}),
)

#: Paths that the webhook lets change: the new value wins.
_FREE: tuple[tuple[str, Any, Any], ...] = (
    ("apiServer.allowedCIDRs", ["10.0.0.0/8"], ["10.1.0.0/16"]),
    ("apiServer.allowedCIDRs", ["10.0.0.0/8"], None),
    ("apiServer.logLevel", 2, 4),
    ("clusterNetworking.workerNodesSecurityGroupRules", None, [{"a": 1}]),
    ("controlPlane.failureDomains", ["a"], ["b"]),
    ("cloudCredentialsSecretName", "a", "b"),
    (
        "controlPlane.kubeadmConfigSpec.initConfiguration.nodeRegistration",
        None,
        {"name": "x"},
    ),
)


class PathsTest(base.BaseTestCase):
    def test_protected_fields_stay_and_free_ones_change(self) -> None:
        rows = [(path, old, new, old) for path, old, new in _ROWS]
        rows += [(path, old, new, new) for path, old, new in _FREE]
        for path, old, new, expected in rows:
            before, after = _nested(path, old), _nested(path, new)
            given = copy.deepcopy(after)
            kept = upgrade_rules.keep_fields(after, before, _NEWEST, None)
            self.assertEqual(_nested(path, expected), kept, path)
            self.assertEqual(given, after, "arguments stay")


class NameServersTest(base.BaseTestCase):
    """Since CAPO 0.13 they may change; before, the live object decides."""

    def test_the_chart_decides_about_name_servers(self) -> None:
        internal, wanted = (
            {"internalNetwork": {"dnsNameservers": [each]}}
            for each in ("1.1.1.1", "8.8.8.8")
        )
        for version, live, expected in (
            ("0.10.1", ["1.1.1.1"], internal),
            ("0.15.0", ["1.1.1.1"], None),
            ("0.16.0", ["1.1.1.1"], internal),
            ("0.16.0", None, None),
            ("0.24.0", ["1.1.1.1"], wanted),
        ):
            subnet: dict[str, Any] = {"cidr": "10.0.0.0/24"}
            if live:
                subnet["dnsNameservers"] = live
            found = upgrade_rules.keep_fields(
                {"clusterNetworking": wanted},
                {},
                version,
                {"spec": {"managedSubnets": [subnet]}},
            )
            kept = {"clusterNetworking": expected} if expected else {}
            self.assertEqual(kept, found, version)


class StorageClassesTest(base.BaseTestCase):
    """Kubernetes lets one field of a class change."""

    def csi(self, **fields: Any) -> dict[str, Any]:
        return {"addons": {"openstack": {"csiCinder": fields}}}

    def test_classes_stay_and_new_ones_follow(self) -> None:
        slow, fast = ({"name": e, "fstype": "ext4"} for e in ("slow", "fast"))
        best = {"name": "best", "fstype": "xfs"}
        old = self.csi(
            defaultStorageClass=slow, additionalStorageClasses=[fast]
        )
        new = self.csi(
            defaultStorageClass={**best, "isClusterDefault": True},
            additionalStorageClasses=[{"name": "fast", "fstype": "xfs"}],
        )
        further = {**best, "isClusterDefault": False}
        self.assertEqual(
            self.csi(
                defaultStorageClass=slow,
                additionalStorageClasses=[fast, further],
            ),
            upgrade_rules.keep_fields(new, old, _NEWEST, None),
        )

    def test_expansion_of_volumes_changes(self) -> None:
        def classes(fstype: str, *, expands: bool) -> dict[str, Any]:
            settings = {"fstype": fstype, "allowVolumeExpansion": expands}
            return self.csi(
                defaultStorageClass={"name": "slow", **settings},
                additionalStorageClasses=[{"name": "fast", **settings}],
            )

        new, old = classes("xfs", expands=True), classes("ext4", expands=False)
        kept = upgrade_rules.keep_fields(new, old, _NEWEST, None)
        self.assertEqual(classes("ext4", expands=True), kept)

    def test_without_the_driver_there_is_nothing_to_keep(self) -> None:
        on = self.csi(defaultStorageClass={"name": "slow"})
        off = self.csi(enabled=False)
        self.assertEqual(
            off, upgrade_rules.keep_fields(off, on, _NEWEST, None)
        )
        self.assertEqual(on, upgrade_rules.keep_fields(on, off, _NEWEST, None))
