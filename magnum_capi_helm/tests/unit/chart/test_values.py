# SPDX-License-Identifier: Apache-2.0
"""Values of a whole cluster are a literal."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, ClassVar

from oslotest import base
import yaml

from magnum_capi_helm.chart import values
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.tests.unit.features import specs

#: What the smallest cluster comes to.
SMALL: dict[str, Any] = yaml.safe_load("""
kubernetesVersion: 1.34.2
machineImageId: 2b1f0e3c-0000-4000-8000-000000000001
osDistro: ubuntu
cloudCredentialsSecretName: demo-45f11a8de301-cloud-credentials
controlPlane:
  healthCheck: {enabled: true}
  machineFlavor: m1.large
  machineImageId: 2b1f0e3c-0000-4000-8000-000000000001
  kubernetesVersion: 1.34.2
  machineCount: 3
  nodeLabels: {magnum.openstack.org/role: master}
nodeGroupDefaults: {healthCheck: {enabled: true}}
nodeGroups:
- name: default-worker
  machineFlavor: m1.small
  machineImageId: 2b1f0e3c-0000-4000-8000-000000000001
  kubernetesVersion: 1.34.2
  machineCount: 2
  nodeLabels:
    magnum.openstack.org/role: worker
    magnum.openstack.org/nodegroup: default-worker
clusterNetworking: {internalNetwork: {nodeCidr: 10.0.0.0/24}}
apiServer:
  enableLoadBalancer: true
  loadBalancerProvider: amphora
  loadBalancerMonitor:
    delay: 2
    timeout: 1
    maxRetries: 10
    maxRetriesDown: 2
  associateFloatingIP: true
addons:
  cni: {type: calico}
  monitoring: {enabled: false}
  reloader: {enabled: true}
  ingress: {enabled: false}
  openstack:
    cloudConfig:
      LoadBalancer:
        lb-provider: amphora
        lb-method: ROUND_ROBIN
        create-monitor: true
    csiCinder: {defaultStorageClass: {enabled: false}}
""")


class BuildTest(base.BaseTestCase):
    def test_a_small_cluster_has_these_values(self) -> None:
        self.assertEqual(SMALL, values.build(specs.cluster()))
        built = values.build(specs.cluster(node_groups=()))
        self.assertEqual([], built["nodeGroups"])


class GroupNamesTest(base.BaseTestCase):
    def test_names_of_all_groups(self) -> None:
        groups = [{"name": "a"}, {"name": "b", "machineCount": 2}]
        rows: tuple[tuple[dict[str, Any], set[str]], ...] = (
            ({"nodeGroups": groups}, {"a", "b"}),
            ({}, set()),
            ({"nodeGroups": None}, set()),
        )
        for given, expected in rows:
            self.assertEqual(expected, values.group_names(given))


class StampTest(base.BaseTestCase):
    def test_the_live_cluster_shows_the_newest_fingerprint(self) -> None:
        before: dict[str, Any] = {"clusterAnnotations": {"owner": "me"}}
        found = before
        for stamp in ("v1-old", "v1-new"):
            found = values.stamped(found, stamp)
            stamped = {"owner": "me", "magnum.openstack.org/intent": stamp}
            self.assertEqual({"clusterAnnotations": stamped}, found)
        self.assertEqual({"clusterAnnotations": {"owner": "me"}}, before)


def group(name: str, count: int = 1, **fields: Any) -> requested_groups.Group:
    return requested_groups.Group(
        uuid=name,
        name=name,
        chart_name=name,
        control_plane=False,
        count=count,
        **fields,
    )


def rows(
    *groups: requested_groups.Group, **others: Any
) -> requested_groups.Rows:
    return requested_groups.Rows(
        uuid="u", release="demo", groups=groups, **others
    )


class GroupsTest(base.BaseTestCase):
    BEFORE: ClassVar[dict[str, Any]] = {
        "kubernetesVersion": "1.34.2",
        "nodeGroups": [
            {"name": "a", "machineCount": 1, "machineFlavor": "m1"},
            {"name": "b", "machineCount": 2},
        ],
    }

    def changed(
        self, whole: requested_groups.Rows, **parked: Any
    ) -> list[dict[str, Any]]:
        """The groups afterwards; the rest, and BEFORE, must not change."""
        before = copy.deepcopy(self.BEFORE)
        found = values.with_groups(
            before, whole, desired_state.PendingRequests(**parked)
        )
        self.assertEqual(self.BEFORE, before)
        self.assertEqual("1.34.2", found["kubernetesVersion"])
        groups: list[dict[str, Any]] = found["nodeGroups"]
        return groups

    def test_counts_are_those_of_the_rows(self) -> None:
        self.assertEqual(
            [
                {"name": "a", "machineCount": 0, "machineFlavor": "m1"},
                {"name": "b", "machineCount": 2},
            ],
            self.changed(rows(group("b", 2), group("a", 0))),
        )

    def test_the_control_plane_changes_its_count_alone(self) -> None:
        before = {"controlPlane": {"machineCount": 1, "machineFlavor": "m1"}}
        master = dataclasses.replace(group("m", 3), control_plane=True)
        self.assertEqual(
            {"controlPlane": {"machineCount": 3, "machineFlavor": "m1"}},
            values.with_groups(
                before, rows(master), desired_state.PendingRequests()
            ),
        )

    def test_new_groups_come_last_with_what_is_parked(self) -> None:
        parked = {
            "c": {"name": "c", "machineCount": 1},
            "d": {"name": "d", "autoscale": True},
            "e": {"name": "e", "machineCount": 1},
        }
        whole = rows(group("a"), group("b", 2), group("d"), group("c", 3))
        self.assertEqual(
            [
                *self.BEFORE["nodeGroups"],
                {"name": "d", "autoscale": True},
                {"name": "c", "machineCount": 3},
            ],
            self.changed(whole, items=parked),
        )

    def test_a_new_group_of_which_nothing_is_parked_is_left_out(self) -> None:
        whole = rows(group("a"), group("b", 2), group("c"))
        self.assertEqual(self.BEFORE["nodeGroups"], self.changed(whole))

    def test_a_group_that_nobody_wants_goes(self) -> None:
        whole = rows(group("b", 2), leaving=(group("a"),))
        self.assertEqual(self.BEFORE["nodeGroups"][1:], self.changed(whole))
        self.assertEqual(
            self.BEFORE["nodeGroups"][1:], self.changed(rows(group("b", 2)))
        )

    def test_a_group_that_was_refused_but_has_machines_stays(self) -> None:
        whole = rows(group("b", 2), refused=(group("a", 9),))
        self.assertEqual(self.BEFORE["nodeGroups"], self.changed(whole))

    def test_the_change_for_the_settings_of_the_row_is_made(self) -> None:
        labelled = group("a", node_labels=(("x", "y"),))
        changes = {
            ("a", labelled.settings_id): {
                "machineFlavor": None,
                "nodeLabels": {"x": "y", "gone": None},
            },
            ("a", group("a", maximum=9).settings_id): {"machineCount": None},
        }
        self.assertEqual(
            [
                {"name": "a", "machineCount": 1, "nodeLabels": {"x": "y"}},
                {"name": "b", "machineCount": 2},
            ],
            self.changed(rows(labelled, group("b", 2)), changes=changes),
        )

    def test_values_of_foreign_clusters_may_have_no_groups(self) -> None:
        table: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
            ({}, {}),
            ({"nodeGroups": None}, {"nodeGroups": []}),
        )
        for foreign, expected in table:
            self.assertEqual(
                expected,
                values.with_groups(
                    foreign, rows(group("a")), desired_state.PendingRequests()
                ),
            )


class OverlayTest(base.BaseTestCase):
    def test_a_dictionary_of_which_nothing_is_left_goes(self) -> None:
        target: dict[str, Any] = {"a": {"b": {"c": 1}}, "d": 2, "l": [1, 2]}
        values.overlay(
            target, {"a": {"b": {"c": None}}, "e": {"f": None}, "l": [3]}
        )
        self.assertEqual({"d": 2, "l": [3]}, target)


class PatchedTest(base.BaseTestCase):
    def test_the_difference_of_two_others_comes_over_the_values(self) -> None:
        old = {
            "a": {"x": 1, "y": 2},
            "b": 3,
            "nodeGroups": [{"name": "one", "flavor": "small"}],
        }
        new = {
            # An explicit null removes a default of the chart.
            "a": {"x": None, "y": 2},
            "nodeGroups": [{"name": "one", "flavor": "large"}],
        }
        applied = {
            "a": {"x": 9, "z": 9},
            "b": 9,
            "nodeGroups": [
                {"name": "own", "flavor": "small"},
                {"name": "one"},
            ],
        }
        self.assertEqual(
            {
                "a": {"x": None, "z": 9},
                "nodeGroups": [
                    {"name": "own", "flavor": "small"},
                    {"name": "one", "flavor": "large"},
                ],
            },
            values.patched(applied, old, new, ()),
        )


class RefuseTest(base.BaseTestCase):
    def test_plain_text_passes(self) -> None:
        for given in (
            None,
            {"a": "b", "c": [1, True, None, "{d}"], "e": {"f": "} }"}},
        ):
            values.refuse_templates(given, "addons")

    def test_template_delimiters_are_refused_with_their_path(self) -> None:
        rows: tuple[tuple[Any, str], ...] = (
            ({"a": "{{ x }}"}, "addons.a='{{ x }}'"),
            ({"a": {"b": ["{% x %}"]}}, "addons.a.b='{% x %}'"),
            ({"{# x #}": 1}, "addons='{# x #}'"),
        )
        for given, where in rows:
            error = self.assertRaises(
                errors.InvalidInput,
                values.refuse_templates,
                given,
                "addons",
            )
            self.assertEqual(
                "give text without {{, {% and {# in values of addons. It is "
                f"{where}",
                str(error),
            )
