# SPDX-License-Identifier: Apache-2.0
"""The autoscaler: bounds of groups, its version and its arguments."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

from oslotest import base

from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.features import specs

ON = {"auto_scaling_enabled": "true"}
OLD_CHART = specs.chart("0.25.1")
NEW_CHART = specs.chart("0.26.0")

DEFAULT = True
OTHER = False


def resolved(
    given: dict[str, str],
    default: bool,
    count: int,
    minimum: int | None,
    maximum: int | None,
    role: str = "worker",
) -> cluster_spec.NodeGroup:
    """A group of Magnum's, with the bounds that its row has."""
    row = types.SimpleNamespace(
        name="pool",
        role=role,
        node_count=count,
        min_node_count=minimum,
        max_node_count=maximum,
        is_default=default,
        flavor_id="m1.small",
        image_id="ubuntu",
        docker_volume_size=None,
        labels={},
    )
    cluster = types.SimpleNamespace(
        labels=given,
        cluster_template=types.SimpleNamespace(labels={}),
        docker_volume_size=None,
    )
    known: Any = fake_cloud.FakeCloud(
        images={"ubuntu": specs.IMAGE}, flavors={"m1.small": "m1.small"}
    )
    return groups.resolve(
        cluster,
        row,
        known,
        dataclasses.replace(
            specs.cluster(), labels=requested_labels.cluster_labels(cluster)
        ),
    )


def bounds(given: dict[str, str], *row: Any) -> tuple[int, int | None]:
    group = resolved({**ON, **given}, *row)
    return group.minimum, group.maximum


class BoundsTest(base.BaseTestCase):
    def test_labels_and_row_give_the_bounds_of_a_group(self) -> None:
        # Magnum saves a minimum of 0 where nobody gave one.
        least = {"min_node_count": "1"}
        most = {"max_node_count": "5"}
        zero = {"min_node_count": "0"}
        rows: list[tuple[tuple[Any, ...], tuple[int, int | None]]] = [
            # labels, default worker?, count and bounds of the row
            (({}, DEFAULT, 2, 0, None), (2, 3)),
            (({}, DEFAULT, 2, None, None), (2, 3)),
            (({}, DEFAULT, 0, None, None), (0, 1)),
            (({"min_node_count": "2"}, DEFAULT, 2, 0, None), (2, 3)),
            (({"max_node_count": "2"}, DEFAULT, 2, 0, None), (2, 2)),
            (({}, DEFAULT, 2, 2, 2), (2, 2)),
            (({}, DEFAULT, 2, 1, 4), (1, 4)),
            ((least, DEFAULT, 2, 0, None), (1, 2)),
            ((most, DEFAULT, 2, 0, None), (2, 5)),
            # Magnum copies the label, and an update comes after it.
            ((least | most, DEFAULT, 2, 1, None), (1, 5)),
            ((least | most, DEFAULT, 2, 2, None), (2, 5)),
            ((least | most, DEFAULT, 2, 0, 9), (1, 9)),
            ((least | most, DEFAULT, 2, 2, 3), (2, 3)),
            ((least | most, DEFAULT, 0, 0, 0), (0, 0)),
            ((zero | most, DEFAULT, 2, 0, None), (0, 5)),
            # The labels are those of the default worker alone.
            ((least | most, OTHER, 2, 0, None), (2, 2)),
            (({}, OTHER, 2, 0, 4), (0, 4)),
            (({}, OTHER, 2, 1, 4), (1, 4)),
            (({}, OTHER, 2, 1, None), (1, 2)),
            (({}, OTHER, 0, 0, 3), (0, 3)),
            (({}, OTHER, 0, 0, None), (0, 0)),
        ]
        self.assertEqual(rows, [(row, bounds(*row)) for row, _ in rows])

    def test_the_control_plane_and_a_cluster_without_it_have_none(
        self,
    ) -> None:
        self.assertEqual(
            (0, None),
            bounds({"max_node_count": "5"}, DEFAULT, 3, 0, 9, "master"),
        )
        off = resolved({"max_node_count": "1"}, DEFAULT, 3, 1, 9)
        self.assertEqual((1, None), (off.minimum, off.maximum))

    def test_bounds_that_leave_the_count_out_are_refused(self) -> None:
        above = (
            "node_count 2 is above max_node_count 1: resize the nodegroup "
            "first"
        )
        below = "node_count 2 is below min_node_count 3"
        crossed = "min_node_count 5 is above max_node_count 3"
        rows: list[tuple[tuple[Any, ...], str]] = [
            (({"min_node_count": "3"}, DEFAULT, 2, 0, 5), below),
            (({"min_node_count": "3"}, DEFAULT, 2, 0, None), below),
            (({"max_node_count": "1"}, DEFAULT, 2, 0, None), above),
            (({}, OTHER, 2, 0, 1), above),
            (({}, OTHER, 2, 5, 3), crossed),
        ]
        for row, wrong in rows:
            self.assertEqual(
                f"{wrong}. The nodegroup is 'pool'",
                specs.refusal(bounds, *row),
            )


class GroupTest(base.BaseTestCase):
    def _group(
        self, chart: cluster_spec.Chart, minimum: int, maximum: int | None
    ) -> tuple[Any, bool]:
        """The topic's values, and whether the count is the user's."""
        cluster = specs.cluster(ON, chart=chart)
        group = specs.group(minimum=minimum, maximum=maximum)
        return (
            autoscaling.TOPIC.group(cluster, group),
            "machineCount" in nodes.TOPIC.group(cluster, group),
        )

    def test_zero_is_sent_to_charts_that_can_do_it(self) -> None:
        scaled = {"autoscale": True, "machineCountMax": 5}
        rows = [
            (NEW_CHART, 0, {**scaled, "machineCountMin": 0}),
            (OLD_CHART, 0, {**scaled, "machineCountMin": 1}),
            (OLD_CHART, 2, {**scaled, "machineCountMin": 2}),
        ]
        for chart, minimum, expected in rows:
            self.assertEqual((expected, False), self._group(chart, minimum, 5))

    def test_equal_bounds_leave_the_count_to_the_user(self) -> None:
        rows = [(NEW_CHART, 2, 2), (OLD_CHART, 0, 1), (NEW_CHART, 0, None)]
        self.assertEqual(
            [({}, True)] * len(rows), [self._group(*row) for row in rows]
        )


class CapacityTest(base.BaseTestCase):
    """What a node has, for a group without a node."""

    def _capacity(self, given: dict[str, str], disk: int | None = None) -> Any:
        group = specs.group(
            {**given},
            machine=cluster_spec.Flavor("m1.small", 4, 8192, 20),
            boot_disk=cluster_spec.Disk(disk),
        )
        values = autoscaling.TOPIC.group(specs.cluster(given), group)
        return values.get("capacity")

    def test_capacity_follows_the_flavor_and_the_boot_volume(self) -> None:
        size = {"cpu": "4", "memory": "8192Mi", "ephemeral-disk": "20Gi"}
        self.assertIsNone(self._capacity({}))
        self.assertEqual(size, self._capacity(ON))
        self.assertEqual(
            {**size, "ephemeral-disk": "60Gi"}, self._capacity(ON, 60)
        )
        # A change of bounds looks no flavor up.
        found = autoscaling.TOPIC.group(specs.cluster(ON), specs.group())
        self.assertEqual({}, found)

    def test_zero_by_the_label_needs_a_chart_that_can_do_it(self) -> None:
        one, zero = ({"min_node_count": each} for each in "10")
        for given, chart, wrong in (
            (
                {**ON, **zero},
                OLD_CHART,
                "label min_node_count: give 1 or more.*'0'; .*0.26.0.*0.25.1",
            ),
            ({**ON, **zero}, NEW_CHART, ""),
            (zero, OLD_CHART, ""),
            ({**ON, **one}, OLD_CHART, ""),
            (ON, OLD_CHART, ""),
        ):
            cluster = specs.cluster(given, chart=chart)
            said = specs.refusal(autoscaling.TOPIC.check, cluster)
            self.assertRegex(said, f"^{wrong}$")


class AutoscalerTest(base.BaseTestCase):
    def _values(
        self, given: dict[str, str], kube_version: str = "1.34.2"
    ) -> Any:
        cluster = specs.cluster(given)
        image = dataclasses.replace(specs.IMAGE, kube_version=kube_version)
        return autoscaling.TOPIC.cluster(
            dataclasses.replace(
                cluster,
                control_plane=dataclasses.replace(
                    cluster.control_plane, image=image
                ),
            )
        )

    def test_a_disabled_autoscaler_has_no_values(self) -> None:
        given = {
            "autoscaler_tag": "v1.34.1",
            "auto_scaling_unneeded_time": "30m",
            "auto_scaling_utilization_threshold": "0.7",
        }
        self.assertEqual({}, self._values(given))

    def test_its_version_fits_kubernetes(self) -> None:
        tags = {
            "1.29.15": "v1.29.5",
            "1.30.14": "v1.30.7",
            "1.31.14": "v1.31.5",
            "1.32.13": "v1.32.7",
            "1.33.9": "v1.33.6",
            "1.34.2": "v1.34.5",
            # 1.35.0 does not start beside a provider without v1beta2.
            "1.35.4": "v1.34.5",
            "1.36.1": "v1.36.1",
            # Newer than any that is known.
            "1.41.0": "v1.36.1",
        }
        found = {version: self._values(ON, version) for version in tags}
        self.assertEqual(
            {
                k: {"autoscaler": {"image": {"tag": v}}}
                for k, v in tags.items()
            },
            found,
        )
        for version in ("1.28.15", ""):
            self.assertEqual({}, self._values(ON, version))
        self.assertEqual(
            {"autoscaler": {"image": {"tag": "v1.35.2"}}},
            self._values({**ON, "autoscaler_tag": "v1.35.2"}),
        )
