# SPDX-License-Identifier: Apache-2.0
"""Values of a whole cluster, of every label, and for every chart."""

from __future__ import annotations

from collections.abc import Iterator
import copy
import dataclasses
from typing import Any, ClassVar

from oslotest import base
import yaml

from magnum_capi_helm import features
from magnum_capi_helm.chart import values
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.tests import value_paths
from magnum_capi_helm.tests.unit.chart import renamed
from magnum_capi_helm.tests.unit.features import rows
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


class ClusterTest(base.BaseTestCase):
    def test_a_small_cluster_has_these_values(self) -> None:
        self.assertEqual(SMALL, values.build(specs.cluster()))
        built = values.build(specs.cluster(node_groups=()))
        self.assertEqual([], built["nodeGroups"])

    def test_names_of_all_groups(self) -> None:
        groups = [{"name": "a"}, {"name": "b", "machineCount": 2}]
        rows: tuple[tuple[dict[str, Any], set[str]], ...] = (
            ({"nodeGroups": groups}, {"a", "b"}),
            ({}, set()),
            ({"nodeGroups": None}, set()),
        )
        for given, expected in rows:
            self.assertEqual(expected, values.group_names(given))

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


def wanted(
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
            self.changed(wanted(group("b", 2), group("a", 0))),
        )

    def test_the_control_plane_changes_its_count_alone(self) -> None:
        before = {"controlPlane": {"machineCount": 1, "machineFlavor": "m1"}}
        master = dataclasses.replace(group("m", 3), control_plane=True)
        self.assertEqual(
            {"controlPlane": {"machineCount": 3, "machineFlavor": "m1"}},
            values.with_groups(
                before, wanted(master), desired_state.PendingRequests()
            ),
        )

    def test_new_groups_come_last_with_what_is_parked(self) -> None:
        parked = {
            "c": {"name": "c", "machineCount": 1},
            "d": {"name": "d", "autoscale": True},
            "e": {"name": "e", "machineCount": 1},
        }
        whole = wanted(group("a"), group("b", 2), group("d"), group("c", 3))
        self.assertEqual(
            [
                *self.BEFORE["nodeGroups"],
                {"name": "d", "autoscale": True},
                {"name": "c", "machineCount": 3},
            ],
            self.changed(whole, items=parked),
        )

    def test_a_new_group_of_which_nothing_is_parked_is_left_out(self) -> None:
        whole = wanted(group("a"), group("b", 2), group("c"))
        self.assertEqual(self.BEFORE["nodeGroups"], self.changed(whole))

    def test_a_group_that_nobody_wants_goes(self) -> None:
        whole = wanted(group("b", 2), leaving=(group("a"),))
        self.assertEqual(self.BEFORE["nodeGroups"][1:], self.changed(whole))
        self.assertEqual(
            self.BEFORE["nodeGroups"][1:], self.changed(wanted(group("b", 2)))
        )

    def test_a_group_that_was_refused_but_has_machines_stays(self) -> None:
        whole = wanted(group("b", 2), refused=(group("a", 9),))
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
            self.changed(wanted(labelled, group("b", 2)), changes=changes),
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
                    foreign,
                    wanted(group("a")),
                    desired_state.PendingRequests(),
                ),
            )


class ChangesTest(base.BaseTestCase):
    def test_a_dictionary_of_which_nothing_is_left_goes(self) -> None:
        target: dict[str, Any] = {"a": {"b": {"c": 1}}, "d": 2, "l": [1, 2]}
        values.overlay(
            target, {"a": {"b": {"c": None}}, "e": {"f": None}, "l": [3]}
        )
        self.assertEqual({"d": 2, "l": [3]}, target)

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


#: Versions between which values came or went, and the newest.
VERSIONS = tuple(
    each
    for number, each in enumerate(value_paths.chart_versions())
    if not number or value_paths.changed(each)
)

#: What 0.10.1 does not read, for the day when another chart follows.
_LATER = {"0.10.1": {"apiServer.allowedCIDRs"}}


def _unknown(version: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each label that a version applies, and what it does not read."""
    for name, (value, needs) in {
        "": ("", {}),
        **rows.CHANGES,
    }.items():
        given = {**needs, name: value} if name else {}
        given["capi_helm_chart_version"] = version
        try:
            wanted = rows.resolved(given)
        except errors.InvalidInput:
            continue
        told = paths.spelled(values.build(wanted), version)
        yield name, value_paths.unknown(told, version)


class ValuePathsTest(base.BaseTestCase):
    def test_every_label_is_applied_by_every_chart_or_refused(self) -> None:
        ignored = [
            (version, rows.FILES.get(name, ""), name, left)
            for version in VERSIONS
            for name, unknown in _unknown(version)
            if (left := sorted(set(unknown) - _LATER.get(version, set())))
        ]
        self.assertEqual([], ignored)

    def test_rows_of_one_source_file_move_the_values(self) -> None:
        renamed.add_data(self)
        renamed.add_source(self)
        self.assertEqual([], [e for _, e in _unknown(renamed.VERSION) if e])
        self.assertEqual([], [e for _, e in _unknown(renamed.LAST) if e])


CHANGES = rows.CHANGES
REFUSED = rows.REFUSED
DECLARED = {label.name: label for label in features.LABELS}


def _outcome(given: dict[str, str]) -> tuple[Any, Any]:
    wanted = rows.resolved(given)
    return wanted.chart, values.build(wanted)


class EveryLabelTest(base.BaseTestCase):
    def refused(self, name: str, value: str) -> errors.LabelError:
        try:
            _outcome({name: value})
        except errors.LabelError as error:
            return error
        raise AssertionError(f"{rows.FILES[name]}: {name} takes {value!r}")

    def test_names_and_aliases_are_unique(self) -> None:
        names = [
            name
            for label in features.LABELS
            for name in (label.name, *label.aliases)
        ]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_changing_the_label_changes_the_values(self) -> None:
        faults = []
        for name, (changed, needs) in CHANGES.items():
            if name == "capi_helm_nodegroup_profiles":
                # The operator's files, not the label, have values.
                continue
            _, before = _outcome(needs)
            _, after = _outcome({**needs, name: changed})
            if bool(DECLARED[name].becomes) != (before != after):
                fault = "becomes" if before != after else "leaves"
                faults.append(f"{rows.FILES[name]}: {fault} of {name}")
        self.assertEqual([], faults)

    def test_each_alias_does_what_its_label_does(self) -> None:
        for name, (changed, needs) in CHANGES.items():
            for alias in DECLARED[name].aliases:
                self.assertEqual(
                    _outcome({**needs, name: changed}),
                    _outcome({**needs, alias: changed}),
                    alias,
                )

    def test_a_value_that_is_not_allowed_names_what_is(self) -> None:
        for name, refused in REFUSED.items():
            error = self.refused(name, refused)
            [rule, _, rest] = str(error).partition(".")
            self.assertEqual(
                f"label {name}: give {DECLARED[name].allowed}", rule
            )
            self.assertTrue(rest.startswith(f" It is {refused!r}"), rest)
            # What is wrong with it may come in between.
            self.assertTrue(rest.endswith(DECLARED[name].details), rest)

    def test_no_rule_has_a_full_stop(self) -> None:
        """Magnum's API would cut a refusal there."""
        cut = {
            each.name: each.allowed
            for each in features.LABELS
            if "." in each.allowed
        }
        self.assertEqual({}, cut)

    def test_each_default_is_a_value_of_the_labels_type(self) -> None:
        for label in features.LABELS:
            if label.default is not None:
                self.assertEqual(
                    label.default, label.type(label.default), label.name
                )

    def test_operators_labels_are_read_from_templates_alone(self) -> None:
        self.assertEqual(
            [
                "capi_helm_chart_version",
                "capi_helm_values_profiles",
                "capi_management_cluster",
                "upgrade_images",
            ],
            [
                label.name
                for label in features.LABELS
                if label.scope is labels.Scope.TEMPLATE
            ],
        )
