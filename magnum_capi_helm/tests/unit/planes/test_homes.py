# SPDX-License-Identifier: Apache-2.0

"""Where new clusters go, of several management clusters."""

from __future__ import annotations

import collections
import dataclasses

from oslotest import base

from magnum_capi_helm.model import errors
from magnum_capi_helm.planes import homes

A = homes.Home("a", "/a", "[capi_helm_management_a] kubeconfig_file")
B = dataclasses.replace(A, name="b")
C = dataclasses.replace(A, name="c")
ASKED = homes.Asked(uuid="5d12f6fd", project="p1")
MANY = 4000


def with_(home: homes.Home, **fields: object) -> homes.Home:
    return dataclasses.replace(home, **fields)  # type: ignore[arg-type]


#: What is asked, the management clusters, names of those that take it.
TAKERS: list[tuple[str, dict[str, object], list[homes.Home], set[str]]] = [
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

#: What is asked, the management clusters, what is said to the user.
REFUSALS: list[tuple[str, dict[str, object], list[homes.Home], str]] = [
    (
        "a zone that none has",
        {"zones": ("az3",)},
        [with_(A, zones=("az1", "az2")), with_(B, weight=0)],
        "no management cluster takes a cluster of project p1 in the "
        "availability zone az3: a takes those whose label availability_zone "
        "is az1 or az2; b takes no new clusters",
    ),
    (
        "no zone, and nothing of the other projects is told",
        {},
        [with_(A, zones=("az1",)), with_(B, projects=("secret",))],
        "no management cluster takes a cluster of project p1 without an "
        "availability zone: a takes those whose label availability_zone is "
        "az1; b takes those of other projects",
    ),
    (
        "the named one is drained",
        {"label": "b"},
        [A, with_(B, weight=0)],
        "no management cluster takes a cluster of project p1 without an "
        "availability zone: a is not b, which the template asks for; b takes "
        "no new clusters",
    ),
    (
        "all wait for templates that name them",
        {},
        [with_(A, only_labelled=True)],
        "no management cluster takes a cluster of project p1 without an "
        "availability zone: a takes clusters of templates with the label "
        "capi_management_cluster=a alone",
    ),
    (
        "a name that there is not",
        {"label": "x"},
        [A, B],
        "label capi_management_cluster: give a or b. It is 'x'",
    ),
    (
        "a name where nothing has one",
        {"label": "x"},
        [with_(A, name="")],
        "label capi_management_cluster: give none: this cloud has one "
        "management cluster, without a name. It is 'x'",
    ),
]


class RankedTest(base.BaseTestCase):
    def test_who_takes_a_cluster(self) -> None:
        for case, fields, there, expected in TAKERS:
            with self.subTest(case):
                asked = dataclasses.replace(ASKED, **fields)  # type: ignore[arg-type]
                found = homes.ranked(there, asked)
                self.assertEqual(expected, {each.name for each in found})

    def test_what_is_said_when_none_does(self) -> None:
        for case, fields, there, expected in REFUSALS:
            with self.subTest(case):
                asked = dataclasses.replace(ASKED, **fields)  # type: ignore[arg-type]
                error = self.assertRaises(
                    errors.InvalidInput, homes.ranked, there, asked
                )
                self.assertEqual(expected, str(error))

    def first(self, there: list[homes.Home]) -> list[str]:
        """Where each of many clusters goes."""
        return [
            homes.ranked(there, homes.Asked(f"cluster-{number}", "p1"))[0].name
            for number in range(MANY)
        ]

    def test_each_gets_its_share(self) -> None:
        there = [A, B, with_(C, weight=200)]
        shares = collections.Counter(self.first(there))
        for name, share in (("a", 0.25), ("b", 0.25), ("c", 0.5)):
            self.assertAlmostEqual(share, shares[name] / MANY, delta=0.03)

    def test_the_order_of_the_list_does_not_matter(self) -> None:
        self.assertEqual(self.first([A, B, C]), self.first([C, A, B]))

    def test_one_more_changes_no_choice_between_the_others(self) -> None:
        before, after = self.first([A, B]), self.first([A, B, C])
        moved = [
            pair for pair in zip(before, after, strict=True) if pair[1] != "c"
        ]
        self.assertEqual([], [pair for pair in moved if pair[0] != pair[1]])
        self.assertGreater(len(moved), MANY / 2)


class NameTest(base.BaseTestCase):
    def test_names_fit_into_a_group_of_options(self) -> None:
        for name in ("a", "east-1", "az_2", "0", "a" * 63):
            self.assertTrue(homes.is_name(name), name)
        for name in ("", "A", "-a", "a-", "a b", "a.b", "a@b", "a" * 64):
            self.assertFalse(homes.is_name(name), name)
