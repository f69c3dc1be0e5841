# SPDX-License-Identifier: Apache-2.0

"""Where new clusters go, of several management clusters."""

from __future__ import annotations

import dataclasses

from oslotest import base

from magnum_capi_helm.config import options
from magnum_capi_helm.management_clusters import placement
from magnum_capi_helm.model import errors

A = options.ManagementCluster(
    "a", "/a", "[capi_helm_management_a] kubeconfig_file"
)
B = dataclasses.replace(A, name="b")
C = dataclasses.replace(A, name="c")
REQUEST = placement.Request(project="p1")


def with_(
    home: options.ManagementCluster, **fields: object
) -> options.ManagementCluster:
    return dataclasses.replace(home, **fields)  # type: ignore[arg-type]


#: What is asked, the management clusters, names of those that take it.
TAKERS: list[
    tuple[
        str,
        dict[str, object],
        list[options.ManagementCluster],
        set[str],
    ]
] = [
    ("without constraints all do", {}, [A, B, C], {"a", "b", "c"}),
    ("weight 0 takes nothing", {}, [A, with_(B, weight=0)], {"a"}),
    (
        "a project among some",
        {},
        [A, with_(B, projects=("p1", "p2"))],
        {*"ab"},
    ),
    ("other projects", {}, [A, with_(B, projects=("p2",))], {"a"}),
    ("no zone is not among zones", {}, [A, with_(B, zones=("az1",))], {"a"}),
    (
        "a zone among zones",
        {"zones": ("az1",)},
        [with_(A, zones=("az2",)), with_(B, zones=("az1", "az2"))],
        {"b"},
    ),
    (
        "all zones have to be among them",
        {"zones": ("az1", "az3")},
        [with_(A, zones=("az1", "az2")), B],
        {"b"},
    ),
    ("the template names one", {"label": "b"}, [A, B, C], {"b"}),
    (
        "only labelled, and not named",
        {},
        [A, with_(B, only_labelled=True)],
        {"a"},
    ),
    (
        "only labelled, and named",
        {"label": "b"},
        [A, with_(B, only_labelled=True)],
        {"b"},
    ),
]

#: What is asked, the management clusters, the message as a pattern.
REFUSALS: list[
    tuple[
        str,
        dict[str, object],
        list[options.ManagementCluster],
        str,
    ]
] = [
    (
        "a zone that none has",
        {"zones": ("az3",)},
        [with_(A, zones=("az1", "az2")), with_(B, weight=0)],
        "p1 in .* zone az3: a .* availability_zone is az1 or az2; b .* no new",
    ),
    (
        "no zone, and nothing of the other projects is told",
        {},
        [with_(A, zones=("az1",)), with_(B, projects=("secret",))],
        "p1 without .*: a .* availability_zone is az1; b .* other projects$",
    ),
    (
        "the named one is drained",
        {"label": "b"},
        [A, with_(B, weight=0)],
        "p1 without .*: a is not b, .* template asks for; b takes no new",
    ),
    (
        "all wait for templates that name them",
        {},
        [with_(A, only_labelled=True)],
        "p1 without .*: a .* templates .* capi_management_cluster=a alone$",
    ),
    (
        "a name that there is not",
        {"label": "x"},
        [A, B],
        "^label capi_management_cluster: give a or b. It is 'x'$",
    ),
    (
        "a name where nothing has one",
        {"label": "x"},
        [with_(A, name="")],
        "^label capi_management_cluster: give none: .* 'x'$",
    ),
]


class RankedTest(base.BaseTestCase):
    def test_management_clusters_that_take_a_cluster(self) -> None:
        for case, fields, there, expected in TAKERS:
            with self.subTest(case):
                request = dataclasses.replace(REQUEST, **fields)  # type: ignore[arg-type]
                found = placement.ranked(there, request, {})
                self.assertEqual(expected, {each.name for each in found})

    def test_message_when_none_takes_a_cluster(self) -> None:
        for case, fields, there, expected in REFUSALS:
            with self.subTest(case):
                request = dataclasses.replace(REQUEST, **fields)  # type: ignore[arg-type]
                error = self.assertRaises(
                    errors.InvalidInput, placement.ranked, there, request, {}
                )
                self.assertRegex(str(error), expected)

    def test_the_fewest_clusters_for_the_weight_come_first(self) -> None:
        for counts, weights, expected in (
            ({}, (100, 100), "ab"),
            ({"a": 1}, (100, 100), "ba"),
            ({"a": 3, "b": 4}, (100, 100), "ab"),
            ({}, (100, 200), "ba"),
            ({"b": 1}, (100, 200), "ab"),
            ({"a": 5, "b": 9}, (100, 200), "ba"),
            ({"elsewhere": 9}, (100, 100), "ab"),
        ):
            there = [with_(A, weight=weights[0]), with_(B, weight=weights[1])]
            ranked = placement.ranked(there, REQUEST, counts)
            names = "".join(each.name for each in ranked)
            self.assertEqual(expected, names, f"{counts} {weights}")

    def test_each_gets_its_share(self) -> None:
        there = [A, B, with_(C, weight=200)]
        counts = {"a": 10, "b": 0, "c": 0}
        for _ in range(30):
            counts[placement.ranked(there, REQUEST, counts)[0].name] += 1
        self.assertEqual({"a": 10, "b": 10, "c": 20}, counts)


class NameTest(base.BaseTestCase):
    def test_names_fit_into_a_group_of_options(self) -> None:
        for name in ("a", "east-1", "az_2", "0", "a" * 63):
            self.assertTrue(options.is_management_cluster_name(name), name)
        for name in ("", "A", "-a", "a-", "a b", "a.b", "a@b", "a" * 64):
            self.assertFalse(options.is_management_cluster_name(name), name)
