# SPDX-License-Identifier: Apache-2.0

"""Fields of rendered objects for which a chart has no value."""

from __future__ import annotations

import functools
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.chart import patches
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import healing
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

_SERVER = {
    "allowedCIDRs": ["192.0.2.0/24"],
    "loadBalancerFlavor": "ha",
    "loadBalancerAvailabilityZone": "az1",
    "loadBalancerNetwork": {"id": "net-1"},
    "loadBalancerMonitor": {"delay": 2},
}
_FIELD = "spec.apiServerLoadBalancer"

#: Version of the chart -> fields of the load balancer that are patched.
_PATCHED = {
    "0.10.1": (),
    "0.11.0": ("allowedCIDRs", "availabilityZone", "network"),
    "0.11.2": ("allowedCIDRs", "availabilityZone", "network"),
    "0.12.0": ("allowedCIDRs", "flavor", "availabilityZone", "network"),
    "0.23.0": ("allowedCIDRs", "flavor", "availabilityZone", "network"),
    "0.24.0": ("flavor", "availabilityZone", "network", "monitor"),
    "0.27.0": ("flavor", "availabilityZone", "network", "monitor"),
}


def _cluster(balancer: Any) -> dict[str, Any]:
    return {
        "kind": "OpenStackCluster",
        "spec": {"apiServerLoadBalancer": balancer, "tags": ["a"]},
    }


def _patch(field: str, value: object) -> patches.Patch:
    return patches.Patch("OpenStackCluster", field, value)


def _secret(part: str, text: str | None) -> dict[str, Any]:
    return {
        "kind": "Secret",
        "metadata": {"labels": {"part": part}},
        "stringData": {"defaults": text},
    }


class TextTest(base.BaseTestCase):
    replacing = patches.Patch(
        "Secret", "stringData.defaults", "b", "part=cni", "a"
    )

    def test_only_the_part_in_the_object_with_the_label_changes(self) -> None:
        self.assertEqual(
            (_secret("other", "a: 1"), _secret("cni", "b: 1")),
            patches.applied(
                [_secret("other", "a: 1"), _secret("cni", "a: 1")],
                [self.replacing],
            ),
        )

    def test_without_the_object_or_the_part_it_is_refused(self) -> None:
        for obj, why in (
            (_secret("other", "a: 1"), "such object"),
            (_secret("cni", "c: 1"), "a"),
            (_secret("cni", None), "a"),
        ):
            error = self.assertRaises(
                errors.Unconvertible, patches.applied, [obj], [self.replacing]
            )
            self.assertEqual(
                "Secret can't get stringData.defaults: the chart renders no "
                f"{why}",
                str(error),
            )


class PatchesTest(base.BaseTestCase):
    def test_each_version_gets_what_it_does_not_read(self) -> None:
        for version, fields in _PATCHED.items():
            found = patches.wanted({"apiServer": _SERVER}, version)
            self.assertEqual(
                [f"{_FIELD}.{each}" for each in fields],
                [each.field for each in found],
                version,
            )

    def test_an_api_server_without_these_values_gets_no_patch(self) -> None:
        rows: tuple[Any, ...] = (None, {}, {"allowedCIDRs": []}, {"port": 1})
        for server in rows:
            self.assertEqual(
                (), patches.wanted({"apiServer": server}, "0.20.0")
            )

    def test_a_label_is_allowed_where_its_value_applies(self) -> None:
        for label in (
            api_server.LB_FLAVOR,
            api_server.LB_ZONE,
            api_server.LB_NETWORK,
            healing.DAYS,
        ):
            [row] = [
                each
                for each in patches.table()
                if label.becomes[0].startswith(each.value)
            ]
            for version in versions.known_charts():
                self.assertEqual(
                    version in row.charts,
                    versions.applies(label.charts, version),
                    f"{label.name} {version}",
                )

    def test_chart_0_26_0_gets_the_rules_under_a_name_of_capo(self) -> None:
        wrong, right = (
            f"worker{nodes}SecurityGroupRules" for nodes in ("Node", "Nodes")
        )
        rules = [{"protocol": each} for each in ("tcp", "udp")]
        others = {"allowAllInClusterTraffic": True}
        for provider, before, after in (
            ("ovn", {wrong: rules}, {right: rules}),
            ("ovn", {**others, wrong: rules}, {**others, right: rules}),
            ("amphora", others, others),
            ("amphora", None, None),
        ):
            old, new = (
                {"kind": "OpenStackCluster", "spec": spec}
                for spec in (
                    {} if each is None else {"managedSecurityGroups": each}
                    for each in (before, after)
                )
            )
            values = {"apiServer": {"loadBalancerProvider": provider}}
            patch = patches.wanted(values, "0.26.0")
            self.assertEqual((new,), patches.applied([old], patch))
        # Charts beside it spell the rules right.
        values = {"apiServer": {"loadBalancerProvider": "ovn"}}
        known = versions.known_charts()
        patched = [each for each in known if patches.wanted(values, each)]
        self.assertEqual(["0.26.0"], patched)

    def test_cluster_api_learns_the_days_from_every_chart(self) -> None:
        plane = {"kind": "KubeadmControlPlane", "spec": {"replicas": 3}}
        before = {"rolloutBefore": {"certificatesExpiryDays": 60}}
        for version in (*versions.known_charts(), "0.28.0"):
            for days, expected in ((60, before), (0, {})):
                patch = patches.wanted(
                    {"controlPlane": {"certificatesExpiryDays": days}}, version
                )
                self.assertEqual(
                    ({**plane, "spec": {"replicas": 3, **expected}},),
                    patches.applied([plane], patch),
                )

    def test_only_objects_of_the_kind_change(self) -> None:
        others = {"kind": "Cluster", "spec": {"apiServerLoadBalancer": {}}}
        given = {"enabled": True, "allowedCIDRs": ["10.0.0.0/8"]}
        before = _cluster({**given})
        cidrs = ["192.0.2.0/24"]
        after = {"enabled": True, "flavor": "ha", "allowedCIDRs": cidrs}
        patch = [
            _patch(f"{_FIELD}.flavor", "ha"),
            _patch(f"{_FIELD}.allowedCIDRs", cidrs),
        ]
        self.assertEqual(
            (others, _cluster(after)), patches.applied([others, before], patch)
        )
        # The object that was given is another one.
        self.assertEqual(_cluster(given), before)

    def test_a_patch_without_its_object_is_refused(self) -> None:
        patch = _patch(f"{_FIELD}.flavor", "ha")
        for objects, why in (
            ([], "the chart renders no such object"),
            ([{"kind": "Cluster"}], "the chart renders no such object"),
            ([{"kind": "OpenStackCluster"}], f"the chart renders no {_FIELD}"),
            ([_cluster(None)], f"the chart renders no {_FIELD}"),
        ):
            error = self.assertRaises(
                errors.Unconvertible, patches.applied, objects, [patch]
            )
            self.assertEqual(
                f"OpenStackCluster can't get {_FIELD}.flavor: {why}",
                str(error),
            )


_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"
_LABELED = "capi.stackhpc.com"
_RULE = {
    "apiGroups": ["infrastructure.cluster.x-k8s.io"],
    "resources": ["openstackmachinetemplates"],
    "verbs": ["get", "list", "watch"],
}
#: Items of nodeGroups; the autoscaler owns the first two.
_BURST = yaml.safe_load("""
name: burst
autoscale: true
capacity: {cpu: '4', memory: 8192Mi, ephemeral-disk: 20Gi}
machineFlavor: m1.large
failureDomain: az1
nodeLabels: {pool: burst, empty: ''}
kubeadmConfigSpec:
  joinConfiguration:
    nodeRegistration:
      kubeletExtraArgs: {max-pods: '50'}
      taints:
      - {key: gpu, value: 'yes', effect: NoSchedule}
      - {key: spot, effect: NoExecute}
""")
_OLD = {"name": "old", "autoscale": True}
_FIXED = {"name": "fixed", "machineCount": 2, "capacity": {"cpu": "4"}}
_NOTES = {
    f"{_CAPACITY}/cpu": "4",
    f"{_CAPACITY}/memory": "8192Mi",
    f"{_CAPACITY}/ephemeral-disk": "20Gi",
    f"{_CAPACITY}/maxPods": "50",
    f"{_CAPACITY}/labels": "capi.stackhpc.com/node-group=burst,empty=,"
    "node.kubernetes.io/instance-type=m1.large,pool=burst,"
    "topology.kubernetes.io/zone=az1",
    f"{_CAPACITY}/taints": "gpu=yes:NoSchedule,spot:NoExecute",
}


def _labeled(kind: str, key: str, value: str, **fields: Any) -> Any:
    labels = {f"{_LABELED}/{key}": value}
    return {"kind": kind, "metadata": {"labels": labels}, **fields}


class AutoscalerTest(base.BaseTestCase):
    """A group without a node tells the autoscaler what a node has."""

    def _deployment(self, name: str, **notes: str) -> Any:
        found = _labeled("MachineDeployment", "node-group", name)
        found["metadata"]["annotations"] = {"max-size": "5", **notes}
        return found

    def test_only_groups_of_the_autoscaler_are_described(self) -> None:
        role = functools.partial(_labeled, "Role", "component")
        rest = [self._deployment("old"), self._deployment("fixed")]
        other = role("other", rules=[])
        objects = (
            role("autoscaler", rules=[{"a": 1}]),
            *(other, self._deployment("burst"), *rest),
        )
        groups = {"nodeGroups": [_BURST, _OLD, _FIXED]}
        self.assertEqual(
            (
                role("autoscaler", rules=[{"a": 1}, _RULE]),
                *(other, self._deployment("burst", **_NOTES), *rest),
            ),
            patches.applied(objects, patches.wanted(groups, "0.27.0")),
        )
        for without in ([_FIXED], [], None):
            found = patches.wanted({"nodeGroups": without}, "0.27.0")
            self.assertEqual((), found)

    def test_a_count_is_set_in_its_group_alone(self) -> None:
        for count in (0, 3):
            objects = [self._deployment("burst"), self._deployment("old")]
            for each in objects:
                each["spec"] = {"clusterName": "web"}
            patch = patches.wanted(
                {"nodeGroups": [_BURST, _OLD]}, "0.27.0", {"old": count}
            )
            of_groups = [e for e in patch if e.kind == "MachineDeployment"]
            burst, old = patches.applied(objects, of_groups)
            self.assertEqual({"clusterName": "web"}, burst["spec"])
            self.assertEqual(
                {"clusterName": "web", "replicas": count}, old["spec"]
            )

    def test_the_autoscaler_decides_within_its_bounds_alone(self) -> None:
        rows: tuple[tuple[int, int, int | None, int | None], ...] = (
            # minimum, asked, live, set
            (2, 3, None, 3),
            (2, 1, None, 2),
            (2, 9, None, 4),
            (2, 3, 2, None),
            (2, 2, 4, None),
            (2, 3, 0, 2),
            (2, 3, 1, 2),
            (2, 2, 5, 4),
            (0, 0, None, 0),
        )
        for least, asked, live, count in rows:
            bounds = {"machineCountMin": least, "machineCountMax": 4}
            found = patches.set_count(bounds, asked, live)
            self.assertEqual(count, found, f"{least} {asked} {live}")
