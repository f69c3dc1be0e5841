# SPDX-License-Identifier: Apache-2.0
"""Names: valid for every input, deterministic, injective."""

from __future__ import annotations

import re

import hypothesis
from hypothesis import strategies
from oslotest import base

from magnum_capi_helm.model import names

UUID = "9d0c3f7a-1b2c-4d5e-8f90-45f11a8de301"
#: A DNS label: what a namespace, and a label's value, may be.
DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
#: What the chart's schema accepts as the name of a node group.
CHART_GROUP = re.compile(r"[a-z][a-z0-9-]+[a-z0-9]")
#: Names that Magnum's API lets through, and worse.
STRANGE = (
    *("a", "A", "1", "9-lives", "worker_1", "worker-1", "Worker-1"),
    *("worker.1", "worker-1-", "-worker-1", "worker--1", "control-plane"),
    *("autoscaler", "Jürgen's group", "日本語", "---", "x" * 255),
    *("x" * 254 + "y", "a" * 60 + "_1", "a" * 60 + "_2"),
)


class ReleaseTest(base.BaseTestCase):
    def test_release_is_slug_and_end_of_the_uuid(self) -> None:
        rows = {
            "demo": "demo-45f11a8de301",
            "My_Cluster.1": "my-cluster-1-45f11a8de301",
            "A-very-long-name-of-a-cluster": "a-very-long-na-45f11a8de301",
            "ends-here-now-x": "ends-here-now-45f11a8de301",
            "日本": "cluster-45f11a8de301",
            "": "cluster-45f11a8de301",
            None: "cluster-45f11a8de301",
        }
        self.assertEqual(
            rows, {name: names.release(name, UUID) for name in rows}
        )

    def test_a_release_of_1_4_0_is_told_from_one_of_that_uuid(self) -> None:
        for name in ("demo", "日本", None):
            release = names.release(name, UUID)
            self.assertTrue(names.made_for(release, UUID))
        self.assertFalse(names.made_for("demo-xq3k7w2m5n8p", UUID))

    def test_every_release_leaves_room_for_what_the_chart_appends(
        self,
    ) -> None:
        longest = "-intel-device-plugin-operator-config"
        for name in (*STRANGE, None):
            release = names.release(name, UUID)
            self.assertTrue(DNS_LABEL.fullmatch(release), release)
            self.assertLessEqual(len(release + longest), names.LIMIT)

    def test_namespace_is_prefix_and_project_id_in_lower_case(self) -> None:
        self.assertEqual(
            "magnum-b6ca562567cf48eab321705773a4fc1c",
            names.namespace("magnum", "B6CA5625-67cf48eab321705773a4fc1c"),
        )


class NodeGroupTest(base.BaseTestCase):
    RELEASES = ("demo-45f11a8de301", "r" * 43)

    def test_a_name_that_the_chart_accepts_stays_as_it_is(self) -> None:
        for name in ("default-worker", "gpu", "a1b", "worker-1"):
            self.assertEqual(name, names.node_group(name, "demo-45f11a8de301"))

    def test_any_other_becomes_readable_part_and_hash(self) -> None:
        readable = {
            "worker_1": "worker-1",
            "control-plane": "control-plane",
            "autoscaler": "autoscaler",
            "9-lives": "lives",
            "日本語": "group",
            "worker--1": "worker-1",
        }
        for name, slug in readable.items():
            found = names.node_group(name, "demo-45f11a8de301")
            self.assertRegex(found, f"^{slug}--[0-9a-f]{{8}}$")
        # Kept in the cluster: another hash would make another group.
        self.assertEqual(
            "worker-1--ba7bf687",
            names.node_group("worker_1", "demo-45f11a8de301"),
        )

    def test_every_name_is_valid_for_the_chart_and_not_cut(self) -> None:
        for release in self.RELEASES:
            for name in STRANGE:
                group = names.node_group(name, release)
                self.assertTrue(CHART_GROUP.fullmatch(group), group)
                whole = names.machine_deployment(release, group)
                self.assertEqual(f"{release}-{group}", whole)
                self.assertLessEqual(len(whole), names.LIMIT)

    def test_no_name_takes_the_name_that_another_was_given(self) -> None:
        release = "demo-45f11a8de301"
        slug = names.node_group("worker_1", release)
        self.assertNotEqual(slug, names.node_group(slug, release))

    def test_legacy_names_of_groups_are_those_of_1_4_0(self) -> None:
        for name, legacy in (
            ("worker_1", "worker-1"),
            ("worker-1", "worker-1"),
            ("GPU", "gpu"),
            ("-x.y-", "x-y"),
        ):
            self.assertEqual(legacy, names.legacy_node_group(name))

    def test_no_group_is_named_like_the_control_plane(self) -> None:
        release = "demo-45f11a8de301"
        group = names.node_group("control-plane", release)
        self.assertNotEqual(
            names.control_plane(release),
            names.machine_deployment(release, group),
        )


class ObjectsTest(base.BaseTestCase):
    def test_objects_of_a_release_have_these_names(self) -> None:
        self.assertEqual(
            [
                "demo-control-plane",
                "demo-default-worker",
                "demo-cloud-credentials",
                "demo-intent",
                "demo-etcd",
            ],
            [
                names.control_plane("demo"),
                names.machine_deployment("demo", "default-worker"),
                names.credentials("demo"),
                names.desired_state("demo"),
                names.certificate("demo", "etcd"),
            ],
        )

    def test_a_long_name_is_cut_as_the_chart_cuts_it(self) -> None:
        rows = {
            "g" * 19: "r" * 43 + "-" + "g" * 19,
            "g" * 30: "r" * 43 + "-" + "g" * 19,
            "g" * 18 + "-x": "r" * 43 + "-" + "g" * 18,
            "": "r" * 43,
        }
        self.assertEqual(
            rows,
            {group: names.chart_object("r" * 43, group) for group in rows},
        )

    def test_storage_classes_have_valid_names_of_their_own(self) -> None:
        rows = {
            "__DEFAULT__": "default",
            "Fast SSD": "fast-ssd",
            "ceph.ssd_2": "ceph-ssd-2",
            "日本": "default",
        }
        self.assertEqual(
            rows, {name: names.storage_class(name) for name in rows}
        )
        long = "x" * 255
        rows = {
            "Fast SSD": "fast-ssd--e191f418",
            "fast-ssd": "fast-ssd",
            "日本": "default--cf2abf0c",
            "東京": "default--130016b2",
            "slow": "slow",
            # It has at most 253 characters.
            long: f"{'x' * 243}--d22609da",
        }
        self.assertEqual(rows, names.storage_classes(list(rows)))

    def test_label_values_are_cut_at_the_limit(self) -> None:
        self.assertEqual("x" * 63, names.label_value("x" * 64))
        self.assertEqual("p1", names.label_value("p1"))


#: Kubernetes' DNS label, RFC 1123.
DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

_TEXT = strategies.text(max_size=300)
_UUID = strategies.uuids().map(str)
#: Close to real names, so that almost equal ones meet.
_CLOSE = strategies.text(alphabet="aA1_-. ä", min_size=1, max_size=8)

_settings = hypothesis.settings(
    max_examples=60, deadline=None, derandomize=True, database=None
)


class PropertiesTest(base.BaseTestCase):
    @_settings
    @hypothesis.given(name=_TEXT, uuid=_UUID, group=_TEXT)
    def test_every_name_is_valid_and_nothing_is_cut(
        self, name: str, uuid: str, group: str
    ) -> None:
        release = names.release(name, uuid)
        self.assertTrue(DNS_NAME.fullmatch(release), release)
        chart_name = names.node_group(group, release)
        self.assertRegex(chart_name, f"^{CHART_GROUP.pattern}$")
        self.assertEqual(
            f"{release}-{chart_name}",
            names.machine_deployment(release, chart_name),
        )
        self.assertRegex(
            names.machine_deployment(release, chart_name),
            f"^{DNS_NAME.pattern}$",
        )

    @_settings
    @hypothesis.given(one=_CLOSE, other=_CLOSE, uuid=_UUID)
    def test_two_groups_of_a_cluster_never_share_a_name(
        self, one: str, other: str, uuid: str
    ) -> None:
        hypothesis.assume(one != other)
        release = names.release("web", uuid)
        self.assertNotEqual(
            names.node_group(one, release), names.node_group(other, release)
        )

    @_settings
    @hypothesis.given(one=_UUID, other=_UUID, name=_CLOSE)
    def test_two_clusters_never_share_a_name(
        self, one: str, other: str, name: str
    ) -> None:
        # The last 12 of 32 digits make the name unique: 48 random bits.
        hypothesis.assume(one[-12:] != other[-12:])
        self.assertNotEqual(
            names.release(name, one), names.release(name, other)
        )

    @_settings
    @hypothesis.given(project=_TEXT)
    def test_a_namespace_is_a_dns_label_for_every_project_id(
        self, project: str
    ) -> None:
        hypothesis.assume(re.search("[a-z0-9]", project[:50].lower()))
        self.assertRegex(
            names.namespace("magnum", project[:50]),
            f"^{DNS_NAME.pattern}$",
        )
