# SPDX-License-Identifier: Apache-2.0

"""Frozen paths, as a table: stored value, new value, what comes of it."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.chart import upgrade_rules

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
    def test_a_protected_field_keeps_its_stored_value(self) -> None:
        for path, old, new in _ROWS:
            self.assertEqual(
                _nested(path, old),
                upgrade_rules.keep_fields(
                    _nested(path, new), _nested(path, old), _NEWEST, None
                ),
                path,
            )

    def test_a_free_field_takes_its_new_value(self) -> None:
        for path, old, new in _FREE:
            self.assertEqual(
                _nested(path, new),
                upgrade_rules.keep_fields(
                    _nested(path, new), _nested(path, old), _NEWEST, None
                ),
                path,
            )

    def test_keep_fields_changes_no_argument(self) -> None:
        new = {"apiServer": {"port": 1}}
        upgrade_rules.keep_fields(
            new, {"apiServer": {"port": 2}}, _NEWEST, None
        )
        self.assertEqual({"apiServer": {"port": 1}}, new)


class NameServersTest(base.BaseTestCase):
    """Since CAPO 0.13 they may change; before, the live object decides."""

    def kept(self, version: str, live: list[str] | None) -> dict[str, Any]:
        """A template that wants others, with such a chart."""
        subnet = {"cidr": "10.0.0.0/24"}
        if live:
            subnet["dnsNameservers"] = live  # type: ignore[assignment]
        return upgrade_rules.keep_fields(
            {
                "clusterNetworking": {
                    "internalNetwork": {"dnsNameservers": ["8.8.8.8"]}
                }
            },
            {},
            version,
            {"spec": {"managedSubnets": [subnet]}},
        )

    def test_the_chart_decides_about_name_servers(self) -> None:
        internal = {"internalNetwork": {"dnsNameservers": ["1.1.1.1"]}}
        wanted = {"internalNetwork": {"dnsNameservers": ["8.8.8.8"]}}
        for version, live, expected in (
            ("0.10.1", ["1.1.1.1"], internal),
            ("0.15.0", ["1.1.1.1"], None),
            ("0.16.0", ["1.1.1.1"], internal),
            ("0.16.0", None, None),
            ("0.24.0", ["1.1.1.1"], wanted),
        ):
            self.assertEqual(
                {"clusterNetworking": expected} if expected else {},
                self.kept(version, live),
                version,
            )


class StorageClassesTest(base.BaseTestCase):
    """Kubernetes lets one field of a class change."""

    def csi(self, **fields: Any) -> dict[str, Any]:
        """Values of the driver for Cinder."""
        return {"addons": {"openstack": {"csiCinder": fields}}}

    def test_classes_stay_and_new_ones_follow(self) -> None:
        old = self.csi(
            defaultStorageClass={"name": "slow", "fstype": "ext4"},
            additionalStorageClasses=[{"name": "fast", "fstype": "ext4"}],
        )
        new = self.csi(
            defaultStorageClass={
                "name": "best",
                "fstype": "xfs",
                "isClusterDefault": True,
            },
            additionalStorageClasses=[{"name": "fast", "fstype": "xfs"}],
        )
        self.assertEqual(
            self.csi(
                defaultStorageClass={"name": "slow", "fstype": "ext4"},
                additionalStorageClasses=[
                    {"name": "fast", "fstype": "ext4"},
                    {
                        "name": "best",
                        "fstype": "xfs",
                        "isClusterDefault": False,
                    },
                ],
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

        self.assertEqual(
            classes("ext4", expands=True),
            upgrade_rules.keep_fields(
                classes("xfs", expands=True),
                classes("ext4", expands=False),
                _NEWEST,
                None,
            ),
        )

    def test_without_the_driver_there_is_nothing_to_keep(self) -> None:
        on = self.csi(defaultStorageClass={"name": "slow"})
        off = self.csi(enabled=False)
        self.assertEqual(
            off, upgrade_rules.keep_fields(off, on, _NEWEST, None)
        )
        self.assertEqual(on, upgrade_rules.keep_fields(on, off, _NEWEST, None))
