# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import gzip
import json
import unittest

from bench import members
from bench import template

_NEW = "v1-" + "0" * 24


class TemplateTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.settled = template.recorded(members.SETTLED)
        self.identity = members.Member(3).identity
        self.objects = list(self.settled.objects(self.identity, _NEW))

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
