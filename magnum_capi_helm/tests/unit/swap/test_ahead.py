# SPDX-License-Identifier: Apache-2.0

"""Before 1.4.0 is swapped: what is found of a cluster, by what it is."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.model import stranded
from magnum_capi_helm.swap import ahead
from magnum_capi_helm.swap import finding
from magnum_capi_helm.tests.unit.swap import subjects


def _outlook(state: str) -> stranded.Outlook:
    return stranded.Outlook(state, "so do this first")


#: What the cluster is like -> level, text, what to do.
STATUSES: dict[str, tuple[dict[str, Any], tuple[str, str, str]]] = {
    "all agree": ({}, ("ok", "CREATE_COMPLETE; here: complete", "")),
    "1.4.0 calls complete what is not": (
        {"live": {"reason": "nodegroup w: 1 of 2"}},
        (
            "act",
            "CREATE_COMPLETE; here: nodegroup w: 1 of 2",
            "look at it before the swap",
        ),
    ),
    "1.4.0 gave up on what is complete": (
        {"status": "UPDATE_FAILED"},
        (
            "note",
            "UPDATE_FAILED; here: complete, and the first health poll says so",
            "",
        ),
    ),
    "1.4.0 gave up, and rightly": (
        {"status": "UPDATE_FAILED", "live": {"reason": "no host"}},
        ("act", "UPDATE_FAILED; here: no host", "look at it before the swap"),
    ),
    "an operation is under way": (
        {"status": "UPDATE_IN_PROGRESS"},
        ("act", "UPDATE_IN_PROGRESS; here: complete", "let it end"),
    ),
    "a deletion is under way, and all but done": (
        {"status": "DELETE_IN_PROGRESS", "no_live": True},
        (
            "act",
            "DELETE_IN_PROGRESS; here: nothing of it is on the management "
            "cluster",
            "let it end",
        ),
    ),
    "nothing was ever made": (
        {"status": "CREATE_FAILED", "release": "", "no_live": True},
        ("note", "CREATE_FAILED; nothing was ever made for it", ""),
    ),
    "nothing is left": (
        {"no_live": True},
        (
            "act",
            "CREATE_COMPLETE; the management cluster has nothing of it",
            "see that [capi_helm] kubeconfig_file is the right one; if it "
            "is, delete the cluster",
        ),
    ),
    "what could not be read is neither absent nor unwell": (
        {"no_live": True, "silence": "no answer"},
        (
            "act",
            "CREATE_COMPLETE; its management cluster could not be read: no "
            "answer",
            "let it answer, and make the report again",
        ),
    ),
}

#: What the cluster and what is around it are like -> level, topic, and a part
#: of the text, of all findings but the status.
FINDINGS: dict[
    str,
    tuple[ahead.Finder, dict[str, Any], dict[str, Any], list[tuple[str, str]]],
] = {
    "the chart can be had": (
        ahead.chart,
        {},
        {},
        [("ok", "chart 0.16.0")],
    ),
    "the chart is nowhere": (
        ahead.chart,
        {},
        {"charts": {"0.16.0": "not found at X"}},
        [("act", "chart 0.16.0 is needed for each change: not found at X")],
    ),
    "helm deployed nothing": (
        ahead.chart,
        {"live": {"chart": ""}},
        {},
        [("act", "helm has deployed no revision of it")],
    ),
    "no chart of its version can be installed any more": (
        ahead.versions,
        {"live": {"outlook": _outlook("upgrade")}},
        {},
        [("act", "1.4.0 can neither change nor delete it")],
    ),
    "a kind of the manifest is gone": (
        ahead.versions,
        {"live": {"outlook": _outlook("refused")}},
        {},
        [("act", "what the management cluster does not serve")],
    ),
    "this driver puts the record right": (
        ahead.versions,
        {"live": {"outlook": _outlook("repaired")}},
        {},
        [("note", "this driver can, and puts the record right")],
    ),
    "all versions are served": (
        ahead.versions,
        {},
        {},
        [("ok", "apps/v1, cluster.x-k8s.io/v1beta1")],
    ),
    "a Secret can't be read": (
        ahead.damaged,
        {"live": {"damaged": ("there is no Secret web-x-ca",)}},
        {},
        [("act", "there is no Secret web-x-ca")],
    ),
    "calico is a network": (ahead.network, {}, {}, []),
    "made before 1.4.0 took flannel seriously": (
        ahead.network,
        {"template": {"network_driver": "flannel"}},
        {},
        [("act", "an operation of 1.4.0 takes the pods' network away")],
    ),
    "made by 1.4.0 with flannel": (
        ahead.network,
        {
            "template": {"network_driver": "flannel"},
            "values": {"addons": {"cni": {"type": "flannel"}}},
        },
        {},
        [("act", "its pods have no network, and no upgrade gives it one")],
    ),
    "images are there": (ahead.images, {}, {}, []),
    "an image is gone": (
        ahead.images,
        {},
        {"images": {"i-1": None}},
        [("act", "Glance has no image i-1")],
    ),
    "an image of one group is gone": (
        ahead.images,
        {"values": {"nodeGroups": [{"name": "g", "machineImageId": "i-9"}]}},
        {"images": {"i-1": subjects.IMAGE, "i-9": None}},
        [("act", "Glance has no image i-9")],
    ),
    "Glance said nothing of an image": (ahead.images, {}, {"images": {}}, []),
    "flavors are there": (ahead.flavors, {}, {}, []),
    "a flavor is gone": (
        ahead.flavors,
        {},
        {"flavors": frozenset({"m1.cp"})},
        [("act", "Nova has no flavor m1.w")],
    ),
    "Nova said nothing of flavors": (
        ahead.flavors,
        {},
        {"flavors": None},
        [],
    ),
    "the keypair is there": (ahead.keypair, {}, {}, []),
    "the keypair is gone": (
        ahead.keypair,
        {},
        {"keypairs": {("anna", "mine"): False}},
        [("act", "the user anna has no keypair mine")],
    ),
    "Nova said nothing of the keypair": (
        ahead.keypair,
        {},
        {"keypairs": {}},
        [],
    ),
}


class AheadTest(base.BaseTestCase):
    def test_status(self) -> None:
        for name, (changed, expected) in STATUSES.items():
            with self.subTest(name):
                fields = dict(changed)
                gone = fields.pop("no_live", False)
                found = subjects.subject(**fields)
                if gone:
                    found = dataclasses.replace(found, live=None)
                (line,) = ahead.status(found, subjects.AROUND)
                self.assertEqual(
                    expected, (line.level, line.what, line.remedy)
                )

    def test_findings(self) -> None:
        for name, (find, changed, around, expected) in FINDINGS.items():
            with self.subTest(name):
                found = list(
                    find(
                        subjects.subject(**changed), subjects.around(**around)
                    )
                )
                self.assertEqual(
                    [level for level, _ in expected],
                    [each.level for each in found],
                )
                for each, (_, text) in zip(found, expected, strict=True):
                    self.assertIn(text, each.what)

    def test_what_needs_somebody_says_what_to_do(self) -> None:
        for find, changed, around, _ in FINDINGS.values():
            for each in find(
                subjects.subject(**changed), subjects.around(**around)
            ):
                needy = each.level == finding.ACT
                self.assertEqual(needy, bool(each.remedy), each.what)

    def test_a_cluster_that_is_well_needs_nobody(self) -> None:
        found = ahead.findings(subjects.SUBJECT, subjects.AROUND)
        self.assertEqual({finding.OK}, {each.level for each in found})
        self.assertEqual(
            ["status", "chart", "API versions", "credential", "certificate"],
            [each.about for each in found],
        )

    def test_a_cluster_without_anything_is_looked_at_all_the_same(
        self,
    ) -> None:
        nothing = dataclasses.replace(subjects.SUBJECT, live=None)
        found = ahead.findings(nothing, subjects.AROUND)
        self.assertEqual(["status"], [each.about for each in found])
