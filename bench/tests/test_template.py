# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import collections
import gzip
import json
import re
import unittest

from bench import members
from bench import places
from bench import template

_NEW = "v1-" + "0" * 24
_SHOWN = ("Cluster", "KubeadmControlPlane", "MachineDeployment", "Machine")


class TemplateTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.settled = template.recorded(members.SETTLED)
        self.identity = members.Member(3).identity
        self.objects = list(self.settled.objects(self.identity, _NEW))

    def test_a_cluster_is_of_the_size_that_the_page_has(self) -> None:
        found = collections.Counter(each["kind"] for each in self.objects)
        self.assertEqual([1, 1, 2, 7], [found[kind] for kind in _SHOWN])
        self.assertEqual(13, found["HelmRelease"] + found["Manifests"])
        sent = sum(
            len(json.dumps(each, separators=(",", ":")))
            for each in self.objects
            if each["kind"] in _SHOWN
        )
        self.assertEqual(154, round(sent / 1000))

    def test_nothing_of_the_recorded_cluster_is_left(self) -> None:
        text = json.dumps(self.objects) + json.dumps(
            self.settled.rows(self.identity, "there")
        )
        facts = self.settled.facts
        for name in (facts.release, facts.cluster, facts.project, facts.user):
            self.assertNotIn(name, text)

    def test_no_object_has_the_uid_of_another_cluster(self) -> None:
        other = members.Member(4).identity
        uids = [
            {each["metadata"]["uid"] for each in objects}
            for objects in (
                self.objects,
                list(self.settled.objects(other, _NEW)),
            )
        ]
        self.assertEqual(set(), uids[0] & uids[1])
        self.assertEqual(len(self.objects), len(uids[0]))

    def test_owners_are_those_of_the_same_cluster(self) -> None:
        uids = {each["metadata"]["uid"] for each in self.objects}
        owners = {
            owner["uid"]
            for each in self.objects
            for owner in each["metadata"].get("ownerReferences") or ()
        }
        self.assertTrue(owners)
        self.assertEqual(set(), owners - uids)

    def test_what_is_packed_names_the_new_cluster_too(self) -> None:
        names = {
            json.loads(
                gzip.decompress(
                    base64.b64decode(base64.b64decode(each["data"]["release"]))
                )
            )["name"]
            for each in self.objects
            if each.get("type") == "helm.sh/release.v1"
        }
        self.assertEqual({self.identity.release}, names)

    def test_the_cluster_says_which_rows_it_is_made_from(self) -> None:
        (cluster,) = (x for x in self.objects if x["kind"] == "Cluster")
        self.assertEqual(
            _NEW,
            cluster["metadata"]["annotations"]["magnum.openstack.org/intent"],
        )

    def test_no_record_has_a_secret(self) -> None:
        for state in members.STATES:
            path = places.RECORDED / f"{state}.json.gz"
            text = gzip.decompress(path.read_bytes()).decode()
            self.assertNotIn("PRIVATE KEY", text)
            self.assertNotIn("LS0tLS1CRUdJTi", text)
            for found in re.findall(r"credential_secret: (\w+)", text):
                self.assertEqual({"x"}, set(found))


class MembersTest(unittest.TestCase):
    def test_the_first_are_in_progress_and_a_few_others_are_ill(self) -> None:
        states = [members.state(number, 5) for number in range(100)]
        self.assertEqual(5, states.count(members.SCALING))
        self.assertEqual(
            [7, 53, 57],
            [
                number
                for number, state in enumerate(states)
                if state.startswith("ill")
            ],
        )

    def test_a_cluster_that_scales_waits_for_an_addon_and_capo(self) -> None:
        identity = members.Member(0).identity
        objects = list(
            members.under_way(
                template.recorded(members.SCALING).objects(identity, _NEW)
            )
        )
        phases = [
            each["status"]["phase"]
            for each in objects
            if each["kind"] in ("HelmRelease", "Manifests")
        ]
        self.assertEqual(1, phases.count("Upgrading"))
        self.assertEqual({"Deployed", "Upgrading"}, set(phases))
        machines = [e for e in objects if e["kind"] == "OpenStackMachine"]
        self.assertTrue(all(each.get("status") for each in machines))
