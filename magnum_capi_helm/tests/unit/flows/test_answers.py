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

"""Ten refusals, as ``openstack coe`` prints them.

Magnum's API answers an upgrade when the driver is done with it: the client
prints the first sentence of a refusal. Of all else the API knows nothing when
it answers, and the client prints the status_reason, which is the whole text.
"""

from __future__ import annotations

from typing import Any

from magnum.common import exception

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm import spec
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import magnum_client
from magnum_capi_helm.tests.unit.flows import base
from magnum_capi_helm.tests.unit.flows import upgrading

#: Fields of a template that a cluster is to be upgraded to -> what the client
#: prints, and the rest of the text.
_UPGRADES: dict[str, tuple[dict[str, Any], str, str]] = {
    "wrong label": (
        {"labels": {"octavia_lb_algorithm": "x"}},
        "label octavia_lb_algorithm='x' is not allowed: give ROUND_ROBIN, "
        "LEAST_CONNECTIONS, SOURCE_IP or SOURCE_IP_PORT (HTTP 400)",
        "",
    ),
    "wrong CIDR": (
        {"labels": {"api_master_lb_allowed_cidrs": "10.0.0.0/33"}},
        "label api_master_lb_allowed_cidrs='[1]' is not allowed: give a "
        "comma separated list of IPv4 networks without host bits, such as "
        "[2], or [3] for one address (HTTP 400)",
        "[1] is 10.0.0.0/33, [2] is 192.0.2.0/24, [3] is 192.0.2.1/32",
    ),
    "bad version": (
        {"image_id": "ubuntu-odd"},
        "image '[1]' has kube_version='[2]': it takes a Kubernetes version "
        "such as [3] (HTTP 400)",
        "[1] is ubuntu-1.x, [2] is 1.x, [3] is v1.34.2",
    ),
    "image without property": (
        {"image_id": "bare"},
        "image 'bare' has no property kube_version: set it, or give the "
        "label kube_tag (HTTP 400)",
        "To set it: `openstack image set --property kube_version=v1.34.2 i-b`",
    ),
    "unknown flavor": (
        {"flavor_id": "m1.gone"},
        "flavor_id: flavor [1] not found (HTTP 400)",
        "[1] is m1.gone",
    ),
    "upgrade skew": (
        {"image_id": "ubuntu-1.36"},
        "the cluster can't skip a minor version of Kubernetes: choose a "
        "template whose image has the same minor version or the next one "
        "(HTTP 400)",
        "It runs v1.34.2, and the new image has v1.36.0",
    ),
}


class UpgradeAnswersTest(upgrading.UpgradeTestCase):
    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.images["ubuntu-odd"] = spec.Image(
            "i-o", "ubuntu-1.x", "1.x", "ubuntu"
        )
        return found

    def refused_upgrade(self, template: Any) -> magnum_client.Answer:
        return magnum_client.answer(
            self.assertRaises(exception.NotSupported, self.upgrade, template)
        )

    def test_the_first_sentence_is_printed_and_the_values_follow(
        self,
    ) -> None:
        expected, found = {}, {}
        for title, (fields, printed, rest) in _UPGRADES.items():
            sentence = printed.removesuffix(" (HTTP 400)")
            detail = f"{sentence}. {rest}" if rest else sentence
            expected[title] = magnum_client.Answer(printed, detail)
            found[title] = self.refused_upgrade(self.template(**fields))
        self.assertEqual(expected, found)

    def test_all_of_it_is_ascii(self) -> None:
        for fields, _, _ in _UPGRADES.values():
            found = self.refused_upgrade(self.template(**fields))
            self.assertTrue(f"{found.printed}{found.detail}".isascii())

    def test_an_unreachable_management_cluster(self) -> None:
        self.management.fail(
            exceptions.ManagementUnreachable(
                "the management cluster https://192.0.2.7:6443 does not "
                "answer (ConnectTimeout)"
            ),
            verbs=("dry-run",),
        )
        found = self.refused_upgrade(self.template(image_id="ubuntu-1.35"))
        self.assertEqual(
            magnum_client.Answer(
                "the management cluster [1] does not answer "
                "(ConnectTimeout); try again in a moment (HTTP 400)",
                "the management cluster [1] does not answer "
                "(ConnectTimeout); try again in a moment. "
                "[1] is https://192.0.2.7:6443",
            ),
            found,
        )


class StatusReasonsTest(base.FlowTestCase):
    """What ``coe cluster show`` prints of a resize that is refused."""

    by_http = True

    def setUp(self) -> None:
        super().setUp()
        self.created()

    def refused_resize(self, count: int, *nodes: str) -> str:
        self.assertRaises(
            exception.MagnumException,
            self.handler.cluster_resize,
            self.context,
            self.row(),
            count,
            list(nodes),
            self.groups()["default-worker"],
        )
        return str(self.row().status_reason)

    def test_quota(self) -> None:
        conf.CONF.set_override("quota_check", "refuse", "capi_helm")
        self.openstack.quotas.known["instances"] = (10, 9)
        self.assertEqual(
            "not enough quota: instances: 3 needed, 1 of 10 free",
            self.refused_resize(5),
        )

    def test_bounds_of_a_nodegroup(self) -> None:
        group = self.groups()["default-worker"]
        group.min_node_count, group.max_node_count = 1, 4
        group.save()
        self.assertEqual(
            "node_count=5: nodegroup 'default-worker' takes 1 to 4 nodes; "
            "change its bounds first",
            self.refused_resize(5),
        )

    def test_unknown_node(self) -> None:
        self.assertEqual(
            "nodes_to_remove: nodegroup 'default-worker' has no '10.0.0.9'; "
            f"its nodes are {base.RELEASE}-default-worker-m0, "
            f"{base.RELEASE}-default-worker-m1",
            self.refused_resize(1, "10.0.0.9"),
        )
