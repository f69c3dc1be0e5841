# SPDX-License-Identifier: Apache-2.0

"""The worst reason of a tree, its count, its time and its code."""

from __future__ import annotations

import itertools

from oslotest import base

from magnum_capi_helm.status import messages
from magnum_capi_helm.status import tree
from magnum_capi_helm.tests.unit.status import documents

#: 18:48 UTC.
_SINCE = 1795286885.0


def machine(name: str, reason: tree.Reason) -> tree.Branch:
    return tree.grow("Machine", name, reason, title=f"machine {name}")


def told(*reasons: tree.Reason) -> str:
    """The worst of a group's machines, which are w-1, w-2 and so on."""
    parts = [machine(f"w-{i}", each) for i, each in enumerate(reasons, 1)]
    return tree.told(
        tree.Branch("", children=tuple(parts), title="nodegroup n")
    )


class ToldTest(base.BaseTestCase):
    def test_the_worst_class_is_told_whatever_the_names_are(self) -> None:
        ranks = [each for each in tree.Rank if each is not tree.Rank.NOTE]
        for worse, better in itertools.pairwise(ranks):
            text = told(
                tree.Reason("better", better), tree.Reason("worse", worse)
            )
            self.assertTrue(
                text.startswith("nodegroup n: machine w-2: worse"), text
            )

    def test_other_faults_are_counted_and_one_is_told(self) -> None:
        quota = tree.Reason("no quota", tree.Rank.CLOUD, _SINCE, "quota")
        ill = tree.Reason("disk full", tree.Rank.NODE)
        slow = tree.Reason("2 of 3", tree.Rank.PROGRESS)
        note = tree.Reason("old", tree.Rank.NOTE)
        worst = "nodegroup n: machine w-1: no quota"
        end = "(since 18:48 UTC) [quota]"
        rows = [
            ((quota,), f"{worst} {end}"),
            ((quota, slow, note), f"{worst} {end}"),
            ((quota, quota, quota), f"{worst} (and 2 more machines) {end}"),
            (
                (quota, ill, quota),
                f"{worst} (and 2 more: machine w-2: disk full) {end}",
            ),
            ((slow, ill), "nodegroup n: machine w-2: disk full [node]"),
            ((slow,), "nodegroup n: machine w-1: 2 of 3"),
            ((note,), ""),
        ]
        for reasons, text in rows:
            self.assertEqual(text, told(*reasons))

    def test_reasons_of_a_quiet_branch_are_told_by_nobody(self) -> None:
        part = machine("w-1", tree.Reason("no quota", tree.Rank.CLOUD))
        self.assertEqual("", tree.told(tree.quiet(part)))

    def test_a_part_below_shows_the_reason_instead(self) -> None:
        node = tree.grow("Node", "n", tree.Reason("ill", tree.Rank.NODE))
        rows = [
            (tree.Rank.PROGRESS, ""),
            (tree.Rank.HEALTH_CHECK, "x [health-check]"),
        ]
        for rank, shown in rows:
            part = tree.grow(
                "Machine", "w-1", tree.Reason("x", rank), parts=(node,)
            )
            self.assertEqual(shown, part.shown_reason)


#: By the names of the messages in the file.
CODES = {
    "availability zone gone": "zone-missing",
    "cloud behind a firewall": "unreachable",
    "cloud that does not listen": "unreachable",
    "cloud with a certificate of another name": "certificate",
    "cloud with a strange certificate": "certificate",
    "cloud with an old certificate": "certificate",
    "cloud without an entry in the DNS": "unreachable",
    "flavor without a disk": "flavor-small",
    "network without port security": "port-security",
    "policy of Neutron": "role-missing",
    "role of Octavia missing": "role-missing",
    "server group full of hosts": "anti-affinity",
    "credential gone": "credential-refused",
    "credential that has expired": "credential-expired",
    "disabled project": "project-disabled",
    "flavor gone": "flavor-missing",
    "flavor smaller than the image demands": "flavor-small",
    "flavor too small for the image": "flavor-small",
    "flavor with too little memory": "flavor-small",
    "image gone": "image-missing",
    "image gone, by its ID": "image-missing",
    "keypair gone": "keypair-missing",
    "load balancer that changes for ever": "load-balancer-busy",
    "load balancer that changes for ever, in a deletion": "load-balancer-busy",
    "locked account, of which nothing is known": "",
    "network with a port of others": "in-use",
    "no address left": "no-address",
    "no host": "no-host",
    "quota in the answer of Nova": "quota",
    "quota of gigabytes": "quota",
    "quota of ports": "quota",
    "quota of servers in a group": "server-group",
    "quota of volumes": "quota",
    "refused by a webhook": "refused",
    "router with a port of another network": "in-use",
    "security group of a port of others": "in-use",
    "server deleted by somebody": "server-deleted",
    "server group gone": "server-group-missing",
    "server group gone, by its ID": "server-group-missing",
    "server in error, its fault left out by the provider": "server-error",
    "server of a newer provider deleted by somebody": "server-deleted",
    "server that an administrator locked": "server-locked",
    "server that somebody stopped": "server-stopped",
    "unknown words of a service, with a password and a token": "",
    "volume failed": "volume-failed",
    "volume of a type without a backend": "volume-no-room",
    "volume type gone": "volume-type-missing",
    "words that nobody knows, with a token": "",
}


class CodesTest(base.BaseTestCase):
    def test_each_known_message_has_a_stable_code(self) -> None:
        said = documents.load("_said")
        found = {
            name: messages.explained(each["said"])[1]
            for name, each in said.items()
        }
        self.assertEqual(CODES, found)
