# SPDX-License-Identifier: Apache-2.0

"""What ``openstack coe`` prints of a refusal, and what else it says.

Magnum's API answers an upgrade and a rotation when the driver is done with
it: the client prints the first sentence of a refusal, which names the field
and the rule. The value and examples follow in the detail. Of all else the API
knows nothing when it answers, and the client prints the status_reason, which
is the whole text.
"""

from __future__ import annotations

from typing import Any

from magnum.common import exception
import requests

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import magnum_client
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.kubernetes import api
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

#: Fields of a template that a cluster is to be upgraded to -> what the client
#: prints, and the rest of the text.
_UPGRADES: dict[str, tuple[dict[str, Any], str, str]] = {
    "wrong label": (
        {"labels": {"octavia_lb_algorithm": "x"}},
        "label octavia_lb_algorithm: give ROUND_ROBIN, LEAST_CONNECTIONS, "
        "SOURCE_IP or SOURCE_IP_PORT",
        "It is 'x'",
    ),
    "wrong CIDR": (
        {"labels": {"api_master_lb_allowed_cidrs": "10.0.0.0/33"}},
        "label api_master_lb_allowed_cidrs: give IPv4 networks without host "
        "bits, separated by commas",
        "It is '10.0.0.0/33'; an example is 192.0.2.0/24, or 192.0.2.1/32 "
        "for one address",
    ),
    "another version than the image has": (
        {"labels": {"kube_tag": "v1.33.1"}},
        "label kube_tag: give the version of the image, or choose another "
        "image",
        "It is 'v1.33.1'; image 'ubuntu-1.34' has v1.34.2",
    ),
    "bad version": (
        {"image_id": "ubuntu-odd"},
        "image_id: the image's property kube_version is no Kubernetes version",
        "Image 'ubuntu-1.x' has '1.x'; an example is v1.34.2",
    ),
    "image without property": (
        {"image_id": "bare"},
        "image_id: the image has no property kube_version; set it, or give "
        "the label kube_tag",
        "It is 'bare'; to set it: `openstack image set --property "
        "kube_version=v1.34.2 i-b`",
    ),
    "unknown image": (
        {"image_id": "ubuntu-24.04"},
        "image_id: there is no such image; choose one of `openstack image "
        "list`",
        "It is 'ubuntu-24.04'",
    ),
    "unknown flavor": (
        {"flavor_id": "m1.gone"},
        "flavor_id: there is no such flavor; choose one of `openstack flavor "
        "list`",
        "It is 'm1.gone'",
    ),
    "minor version without an image": (
        {"image_id": "ubuntu-1.36"},
        "there is no image for a minor version of Kubernetes on the way: ask "
        "your operator for a public image of each, or for the label "
        "upgrade_images in the template",
        "There is none for Kubernetes 1.35, with kube_version v1.35.x, "
        "os_distro ubuntu, no architecture and min_disk up to 20",
    ),
    "older chart": (
        {"labels": {"capi_helm_chart_version": "0.26.1"}},
        "the cluster can't go back to an older chart: give the version that "
        "it has, or a later one",
        "It has 0.27.0, and the label capi_helm_chart_version is 0.26.1",
    ),
    "template of another driver": (
        {"driver": "k8s_cluster_api", "name": "k8s-1.35"},
        "a cluster of the driver k8s_capi_helm_v1 takes a template with "
        "driver=k8s_capi_helm_v1",
        "Cluster template 'k8s-1.35' has 'k8s_cluster_api'",
    ),
}


def _from_the_client(answer: api.Answer | Exception) -> Exception:
    """Return what the management cluster's client makes of an answer."""
    # The client asks three times, if that may help.
    management, _ = api.over(answer, answer, answer)
    try:
        management.get(kinds.SECRET, "ns", "s")
    except errors.ManagementError as error:
        return error
    raise AssertionError("no error")


class UpgradeAnswersTest(upgrading.UpgradeTestCase):
    def setUp(self) -> None:
        super().setUp()
        api.no_pauses(self)

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        found = super().catalogue(session)
        found.images["ubuntu-odd"] = cluster_spec.Image(
            "i-o", "ubuntu-1.x", "1.x", "ubuntu"
        )
        return found

    def answer(self, template: Any, **options: Any) -> magnum_client.Answer:
        return magnum_client.answer(
            self.assertRaises(
                exception.NotSupported, self.upgrade, template, **options
            )
        )

    def test_the_first_sentence_is_printed_and_the_values_follow(
        self,
    ) -> None:
        expected, found = {}, {}
        for title, (fields, printed, rest) in _UPGRADES.items():
            expected[title] = magnum_client.Answer(
                f"{printed} (HTTP 400)", f"{printed}. {rest}"
            )
            found[title] = self.answer(self.template(**fields))
            self.assertTrue(found[title].detail.isascii(), title)
        self.assertEqual(expected, found)

    def test_a_nodegroup_whose_name_has_a_full_stop(self) -> None:
        self.add("gpu.large", image_id="ubuntu-1.34.3")
        self.settle()
        printed = (
            "a nodegroup can't go back to an older Kubernetes: choose a "
            "template whose image has the version that it runs, or a later "
            "one"
        )
        self.assertEqual(
            magnum_client.Answer(
                f"{printed} (HTTP 400)",
                f"{printed}. Nodegroup 'gpu.large' runs v1.34.3, and the new "
                "image has v1.34.2",
            ),
            self.answer(self.row().cluster_template, nodegroup="gpu.large"),
        )

    def test_the_answer_of_a_management_cluster_is_shown(self) -> None:
        """What it answers to the dry run of an upgrade."""
        forbidden = 'secrets "s.v1" is forbidden'
        denied = 'admission webhook "w.x-k8s.io" denied the request: no'
        rows: dict[str, tuple[api.Answer | Exception, str, str]] = {
            "no answer": (
                requests.ConnectTimeout("slow"),
                "the management cluster does not answer (ConnectTimeout); "
                "try again in a moment",
                "",
            ),
            "its own failure": (
                api.status(500, "etcd.v3 timed out"),
                "the management cluster refused GET Secret s (500); try "
                "again in a moment",
                "etcd.v3 timed out",
            ),
            "no permission": (
                api.status(403, forbidden),
                "the management cluster refused GET Secret s (403); check "
                "the kubeconfig's user and its permissions",
                forbidden,
            ),
            "a webhook": (
                api.status(422, denied),
                "the template does not fit this cluster: the management "
                "cluster refused GET Secret s (422)",
                denied,
            ),
        }
        expected, found = {}, {}
        for title, (answer, printed, rest) in rows.items():
            expected[title] = magnum_client.Answer(
                f"{printed} (HTTP 400)",
                f"{printed}. {rest}".removesuffix(". "),
            )
            self.management.recover()
            self.management.fail(_from_the_client(answer), verbs=("dry-run",))
            found[title] = self.answer(self.template(image_id="ubuntu-1.35"))
        self.assertEqual(expected, found)

    def test_a_foreign_text_is_kept_as_it_is(self) -> None:
        text = "values don't meet the schema of chart 0.27.0"
        self.management.fail(errors.HelmError(text), verbs=("dry-run",))
        self.assertEqual(
            magnum_client.Answer(
                "the upgrade is refused, `openstack --debug` shows why "
                "(HTTP 400)",
                "the upgrade is refused, `openstack --debug` shows why. "
                f"{text}",
            ),
            self.answer(self.template(image_id="ubuntu-1.35")),
        )


class RotationAnswersTest(rotating.RotationTestCase):
    """``openstack coe credential rotate``, with the codes of its errors."""

    def answer(self) -> magnum_client.Answer:
        return magnum_client.answer(
            self.assertRaises(exception.MagnumException, self.rotate)
        )

    def test_another_keypair_of_the_same_name(self) -> None:
        self.login(user="other_user")
        self.keypairs = {("", "mine"): "ssh-ed25519 BBBB"}
        printed = (
            "your keypair is not the cluster's of that name, and new machines "
            "would get it: rename or delete yours, or rotate as a user who "
            "has none of that name"
        )
        self.assertEqual(
            magnum_client.Answer(
                f"{printed} (HTTP 400)", f"{printed}. It is 'mine'"
            ),
            self.answer(),
        )

    def test_the_message_of_keystone_follows(self) -> None:
        self.openstack.refusals["POST"] = 403
        printed = "Keystone makes no application credential for you"
        found = self.answer()
        self.assertEqual(f"{printed} (HTTP 400)", found.printed)
        self.assertEqual(f"{printed}. no (HTTP 403)", found.detail)


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

    def test_the_reason_names_the_missing_quota(self) -> None:
        conf.CONF.set_override("quota_check", "refuse", "capi_helm")
        self.openstack.quotas.known["instances"] = (10, 9)
        self.assertEqual(
            "not enough quota: instances: 3 needed, 1 of 10 free",
            self.refused_resize(5),
        )

    def test_the_reason_names_the_bounds_of_the_nodegroup(self) -> None:
        group = self.groups()["default-worker"]
        group.min_node_count, group.max_node_count = 1, 4
        group.save()
        self.assertEqual(
            "node_count=5: nodegroup 'default-worker' takes 1 to 4 nodes; "
            "change its bounds first",
            self.refused_resize(5),
        )

    def test_the_reason_names_an_unknown_node(self) -> None:
        self.assertEqual(
            "nodes_to_remove: nodegroup 'default-worker' has no '10.0.0.9'; "
            f"its nodes are {base.RELEASE}-default-worker-m0, "
            f"{base.RELEASE}-default-worker-m1",
            self.refused_resize(1, "10.0.0.9"),
        )
