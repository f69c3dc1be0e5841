# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Values: every leaf has one writer, and the whole is a literal."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm import values
from magnum_capi_helm.tests.unit.features import specs


class MergeTest(base.BaseTestCase):
    def test_dictionaries_merge(self) -> None:
        target: dict[str, Any] = {"a": {"b": 1}}
        values.merge(target, {"a": {"c": {"d": 2}}, "e": 3})
        self.assertEqual({"a": {"b": 1, "c": {"d": 2}}, "e": 3}, target)

    def test_two_writers_of_one_leaf_are_an_error(self) -> None:
        rows: list[tuple[dict[str, Any], dict[str, Any], str]] = [
            ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b"),
            ({"a": {"b": 1}}, {"a": {"b": 1}}, "a.b"),
            ({"a": [1]}, {"a": [2]}, "a"),
            ({"a": {"b": {}}}, {"a": {"b": None}}, "a.b"),
            ({"a": 1}, {"a": {"b": 2}}, "a"),
        ]
        for target, source, path in rows:
            error = self.assertRaises(
                values.TwoWritersError, values.merge, target, source
            )
            self.assertEqual(path, str(error))

    def test_what_was_merged_is_a_copy(self) -> None:
        source = {"a": {"b": [1]}}
        target: dict[str, Any] = {}
        values.merge(target, source)
        target["a"]["b"].append(2)
        self.assertEqual({"a": {"b": [1]}}, source)


class BuildTest(base.BaseTestCase):
    def test_a_small_cluster_whole(self) -> None:
        image = specs.IMAGE.id
        healing: dict[str, Any] = {"healthCheck": {"enabled": True}}
        self.assertEqual(
            {
                "kubernetesVersion": "1.34.2",
                "machineImageId": image,
                "osDistro": "ubuntu",
                "cloudCredentialsSecretName": (
                    "demo-45f11a8de301-cloud-credentials"
                ),
                "controlPlane": healing
                | {
                    "machineFlavor": "m1.large",
                    "machineImageId": image,
                    "kubernetesVersion": "1.34.2",
                    "machineCount": 3,
                },
                "nodeGroupDefaults": healing,
                "nodeGroups": [
                    {
                        "name": "default-worker",
                        "machineFlavor": "m1.small",
                        "machineImageId": image,
                        "kubernetesVersion": "1.34.2",
                        "machineCount": 2,
                    }
                ],
                "clusterNetworking": {
                    "internalNetwork": {"nodeCidr": "10.0.0.0/24"}
                },
                "apiServer": {
                    "enableLoadBalancer": True,
                    "loadBalancerProvider": "amphora",
                    "associateFloatingIP": True,
                },
                "addons": {
                    "cni": {"type": "calico"},
                    "monitoring": {"enabled": False},
                    "kubernetesDashboard": {"enabled": True},
                    "ingress": {"enabled": False},
                    "openstack": {
                        "cloudConfig": {
                            "LoadBalancer": {
                                "lb-provider": "amphora",
                                "lb-method": "ROUND_ROBIN",
                                "create-monitor": True,
                            }
                        },
                        "csiCinder": {
                            "defaultStorageClass": {"enabled": False}
                        },
                    },
                },
            },
            values.build(specs.cluster()),
        )

    def test_a_cluster_without_workers_has_an_empty_list(self) -> None:
        built = values.build(specs.cluster(node_groups=()))
        self.assertEqual([], built["nodeGroups"])


class GroupNamesTest(base.BaseTestCase):
    def test_names_of_all_groups(self) -> None:
        groups = [{"name": "a"}, {"name": "b", "machineCount": 2}]
        self.assertEqual(
            {"a", "b"}, values.group_names({"nodeGroups": groups})
        )

    def test_values_without_groups(self) -> None:
        self.assertEqual(frozenset(), values.group_names({}))
        self.assertEqual(frozenset(), values.group_names({"nodeGroups": None}))


class StampTest(base.BaseTestCase):
    def test_the_live_cluster_shows_the_fingerprint(self) -> None:
        before: dict[str, Any] = {"clusterAnnotations": {"owner": "me"}}
        self.assertEqual(
            {
                "clusterAnnotations": {
                    "owner": "me",
                    "magnum.openstack.org/intent": "v1-abc",
                }
            },
            values.stamped(before, "v1-abc"),
        )
        self.assertEqual({"clusterAnnotations": {"owner": "me"}}, before)

    def test_a_new_stamp_replaces_the_old_one(self) -> None:
        once = values.stamped({}, "v1-old")
        self.assertEqual(
            {"clusterAnnotations": {"magnum.openstack.org/intent": "v1-new"}},
            values.stamped(once, "v1-new"),
        )


class CountsTest(base.BaseTestCase):
    def test_only_the_groups_named_change(self) -> None:
        before: dict[str, Any] = {
            "kubernetesVersion": "1.34.2",
            "nodeGroups": [
                {"name": "a", "machineCount": 1, "machineFlavor": "m1"},
                {"name": "b", "machineCount": 2},
            ],
        }
        self.assertEqual(
            {
                "kubernetesVersion": "1.34.2",
                "nodeGroups": [
                    {"name": "a", "machineCount": 0, "machineFlavor": "m1"},
                    {"name": "b", "machineCount": 2},
                ],
            },
            values.with_counts(before, {"a": 0, "c": 9}),
        )
        self.assertEqual(1, before["nodeGroups"][0]["machineCount"])

    def test_a_group_of_the_autoscaler_has_no_count(self) -> None:
        scaled = {"name": "a", "autoscale": True, "machineCountMax": 3}
        before: dict[str, Any] = {"nodeGroups": [scaled]}
        self.assertEqual(before, values.with_counts(before, {"a": 2}))

    def test_values_of_foreign_clusters_may_have_no_groups(self) -> None:
        for foreign in ({}, {"nodeGroups": None}):
            self.assertEqual(foreign, values.with_counts(foreign, {"a": 1}))
