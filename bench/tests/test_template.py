# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import gzip
import json
import pathlib
import re
import unittest

from bench import members
from bench import template

_RECORDED = pathlib.Path(template.__file__).parent / "recorded"
_NEW = "v1-" + "0" * 24


def _template(state: str) -> template.Template:
    path = _RECORDED / f"{state}.json.gz"
    return template.Template(gzip.decompress(path.read_bytes()))


class TemplateTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.settled = _template(members.SETTLED)
        self.identity = members.Member(3).identity
        self.objects = list(self.settled.objects(self.identity, _NEW))

    def test_a_cluster_is_of_the_size_that_is_measured(self) -> None:
        found: dict[str, int] = {}
        for each in self.objects:
            found[each["kind"]] = found.get(each["kind"], 0) + 1
        self.assertEqual(
            (1, 1, 2, 7, 7),
            tuple(
                found[kind]
                for kind in (
                    "Cluster",
                    "KubeadmControlPlane",
                    "MachineDeployment",
                    "Machine",
                    "OpenStackMachine",
                )
            ),
        )
        self.assertIn(found["HelmRelease"] + found["Manifests"], (12, 13))

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
        name = self.identity.release
        records = [
            each
            for each in self.objects
            if each.get("type") == "helm.sh/release.v1"
        ]
        for each in records:
            raw = base64.b64decode(base64.b64decode(each["data"]["release"]))
            release = json.loads(gzip.decompress(raw))
            self.assertEqual(name, release["name"])
        self.assertTrue(records)

    def test_the_cluster_says_which_rows_it_is_made_from(self) -> None:
        (cluster,) = (x for x in self.objects if x["kind"] == "Cluster")
        self.assertEqual(
            _NEW,
            cluster["metadata"]["annotations"]["magnum.openstack.org/intent"],
        )

    def test_no_record_has_a_secret(self) -> None:
        for state in members.STATES:
            path = _RECORDED / f"{state}.json.gz"
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

    def test_an_addon_of_a_cluster_that_scales_is_not_deployed(self) -> None:
        identity = members.Member(0).identity
        objects = _template(members.SCALING).objects(identity, _NEW)
        phases = [
            each["status"]["phase"]
            for each in members.under_way(objects)
            if each["kind"] in ("HelmRelease", "Manifests")
        ]
        self.assertEqual(1, phases.count("Upgrading"))
        self.assertEqual({"Deployed", "Upgrading"}, set(phases))

    def test_capo_is_mute_about_no_machine_that_is_made(self) -> None:
        objects = _template(members.SCALING).objects(
            members.Member(0).identity, _NEW
        )
        self.assertEqual(
            [],
            [
                each["metadata"]["name"]
                for each in members.under_way(objects)
                if each["kind"] == "OpenStackMachine"
                and not each.get("status")
            ],
        )
