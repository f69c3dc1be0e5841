# SPDX-License-Identifier: Apache-2.0

"""Fields of rendered objects for which a chart has no value."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.chart import patches
from magnum_capi_helm.features import api_server
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

_SERVER = {
    "allowedCIDRs": ["192.0.2.0/24"],
    "loadBalancerFlavor": "ha",
    "loadBalancerAvailabilityZone": "az1",
    "loadBalancerNetwork": {"id": "net-1"},
}
_FIELD = "spec.apiServerLoadBalancer"

#: Version of the chart -> fields of the load balancer that are patched.
_PATCHED = {
    "0.10.1": (),
    "0.11.0": ("allowedCIDRs", "availabilityZone", "network"),
    "0.11.2": ("allowedCIDRs", "availabilityZone", "network"),
    "0.12.0": ("allowedCIDRs", "flavor", "availabilityZone", "network"),
    "0.23.0": ("allowedCIDRs", "flavor", "availabilityZone", "network"),
    "0.24.0": ("flavor", "availabilityZone", "network"),
    "0.27.0": ("flavor", "availabilityZone", "network"),
}


def _cluster(balancer: Any) -> dict[str, Any]:
    return {
        "kind": "OpenStackCluster",
        "spec": {"apiServerLoadBalancer": balancer, "tags": ["a"]},
    }


def _patch(field: str, value: object) -> patches.Patch:
    return patches.Patch("OpenStackCluster", field, value)


def _secret(name: str, text: str | None) -> dict[str, Any]:
    return {
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"defaults": text},
    }


class TextTest(base.BaseTestCase):
    """A part of a text in one of several objects of a kind."""

    replacing = patches.Patch(
        "Secret", "stringData.defaults", "b", "-cni", "a"
    )

    def test_only_the_part_in_the_object_of_that_name_changes(self) -> None:
        self.assertEqual(
            (_secret("rel-other", "a: 1"), _secret("rel-cni", "b: 1")),
            patches.applied(
                [_secret("rel-other", "a: 1"), _secret("rel-cni", "a: 1")],
                [self.replacing],
            ),
        )

    def test_without_the_object_or_the_part_it_is_refused(self) -> None:
        for obj, why in (
            (_secret("rel-other", "a: 1"), "such object"),
            (_secret("rel-cni", "c: 1"), "a"),
            (_secret("rel-cni", None), "a"),
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

    def test_nothing_is_patched_without_a_value(self) -> None:
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

    def test_only_objects_of_the_kind_change(self) -> None:
        others = {"kind": "Cluster", "spec": {"apiServerLoadBalancer": {}}}
        before = _cluster({"enabled": True, "allowedCIDRs": ["10.0.0.0/8"]})
        self.assertEqual(
            (
                others,
                _cluster(
                    {
                        "enabled": True,
                        "flavor": "ha",
                        "allowedCIDRs": ["192.0.2.0/24"],
                    }
                ),
            ),
            patches.applied(
                [others, before],
                [
                    _patch(f"{_FIELD}.flavor", "ha"),
                    _patch(f"{_FIELD}.allowedCIDRs", ["192.0.2.0/24"]),
                ],
            ),
        )
        # The object that was given is another one.
        self.assertEqual(
            _cluster({"enabled": True, "allowedCIDRs": ["10.0.0.0/8"]}), before
        )

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
