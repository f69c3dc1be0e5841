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
"""The client: absent, unreadable and refused are different answers."""

from __future__ import annotations

import json
import threading
from typing import Any

import fixtures
from oslotest import base
import requests

from magnum_capi_helm import exceptions
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import insistence
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.unit.management import api

CAPI = "/apis/cluster.x-k8s.io"
BOTH = api.group("v1beta1", "v1beta2")


def over(
    *script: api.Answer | Exception, **pinned: Any
) -> tuple[client.Client, api.Scripted]:
    transport = api.Scripted(*script)
    return client.Client(lambda: transport, pinned), transport


class GetTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(insistence, "PAUSES", (0.0, 0.0))
        )

    def test_one_of_several_is_called_by_its_name(self) -> None:
        rows: list[tuple[api.Answer | Exception, str]] = [
            (
                requests.ConnectTimeout(),
                "the management cluster east https://management.example.org "
                "does not answer (ConnectTimeout)",
            ),
            (
                api.status(400, "no"),
                "the management cluster east refused GET Secret s: no (400)",
            ),
        ]
        for answer, expected in rows:
            transport = api.Scripted(answer)
            named = client.Client(lambda: transport, {}, "east")  # noqa: B023
            error = self.assertRaises(
                exceptions.ManagementError, named.get, kinds.SECRET, "ns", "s"
            )
            self.assertEqual(expected, str(error))

    def test_an_object(self) -> None:
        management, transport = over(api.Answer(200, {"kind": "Secret"}))
        self.assertEqual(
            {"kind": "Secret"}, management.get(kinds.SECRET, "ns", "s")
        )
        self.assertEqual([("GET", "v1 in ns secrets/s")], transport.asked)

    def test_absent_is_none(self) -> None:
        management, _ = over(api.status(404))
        self.assertIsNone(management.get(kinds.SECRET, "ns", "s"))

    def test_every_other_refusal_is_an_exception_of_its_class(self) -> None:
        rows = {
            400: exceptions.ManagementError,
            401: exceptions.ManagementError,
            403: answers.ForbiddenError,
            409: exceptions.Conflict,
            410: answers.ExpiredError,
            422: exceptions.ManagementError,
            429: exceptions.ManagementUnreachable,
            500: exceptions.ManagementUnreachable,
            502: exceptions.ManagementUnreachable,
            503: exceptions.ManagementUnreachable,
            504: exceptions.ManagementUnreachable,
        }
        found = {}
        for code in rows:
            # Asked three times, where another answer may come.
            answer = api.status(code, "words of the server")
            management, _ = over(*[answer] * 3)
            error = self.assertRaises(
                exceptions.CapiHelmError,
                management.get,
                kinds.SECRET,
                "ns",
                "s",
            )
            self.assertIn("words of the server", str(error))
            self.assertIn(f"({code})", str(error))
            found[code] = type(error)
        self.assertEqual(rows, found)

    def test_forbidden_says_what_to_check(self) -> None:
        for code in (401, 403):
            management, _ = over(api.status(code, "no"))
            error = self.assertRaises(
                exceptions.ManagementError,
                management.get,
                kinds.SECRET,
                "ns",
                "s",
            )
            self.assertEqual(
                "the management cluster refused GET Secret s: no "
                f"({code}); check the kubeconfig's user and its permissions",
                str(error),
            )

    def test_a_refused_list_names_the_kind(self) -> None:
        management, _ = over(api.status(403, "no"))
        error = self.assertRaises(
            exceptions.ManagementError, management.list, kinds.SECRET, "ns"
        )
        self.assertIn("refused GET Secret: no (403)", str(error))

    def test_a_refusal_that_is_no_json(self) -> None:
        bodies: list[Any] = ["<html>", "[]", None, {}]
        for body in bodies:
            management, _ = over(*[api.Answer(502, body, "Bad Gateway")] * 3)
            error = self.assertRaises(
                exceptions.ManagementUnreachable,
                management.get,
                kinds.SECRET,
                "ns",
                "s",
            )
            self.assertIn("Bad Gateway (502)", str(error))

    def test_an_answer_that_was_cut_short_is_no_absence(self) -> None:
        management, _ = over(api.Answer(200, '{"kind": "Sec'))
        self.assertRaises(
            exceptions.ManagementUnreachable,
            management.get,
            kinds.SECRET,
            "ns",
            "s",
        )

    def test_no_answer_names_the_server_and_no_url(self) -> None:
        management, _ = over(
            requests.ConnectTimeout("https://user:secret@host/api")
        )
        error = self.assertRaises(
            exceptions.ManagementUnreachable,
            management.get,
            kinds.SECRET,
            "ns",
            "s",
        )
        self.assertEqual(
            "the management cluster https://management.example.org does "
            "not answer (ConnectTimeout)",
            str(error),
        )

    def test_identity_is_the_uid_of_kube_system(self) -> None:
        management, transport = over(
            api.Answer(200, {"metadata": {"uid": "u-1"}})
        )
        self.assertEqual("u-1", management.identity())
        self.assertEqual(
            [("GET", "v1 namespaces/kube-system")], transport.asked
        )


class ListTest(base.BaseTestCase):
    def test_items_get_the_kind_and_version_of_their_list(self) -> None:
        management, transport = over(
            BOTH,
            api.Answer(
                200,
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "items": [{"metadata": {"name": "a"}}],
                },
            ),
        )
        self.assertEqual(
            [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "Cluster",
                    "metadata": {"name": "a"},
                }
            ],
            management.list(kinds.CLUSTER, "ns", "a=b"),
        )
        self.assertEqual(
            [
                ("GET", CAPI),
                ("GET", "cluster.x-k8s.io/v1beta2 in ns clusters"),
            ],
            transport.asked,
        )
        self.assertEqual(
            {"limit": 200, "labelSelector": "a=b"},
            transport.options[1]["params"],
        )

    def test_all_pages_are_read(self) -> None:
        management, transport = over(
            api.Answer(
                200, {"items": [{"n": 1}], "metadata": {"continue": "x"}}
            ),
            api.Answer(
                200, {"items": [{"n": 2}], "metadata": {"continue": "y"}}
            ),
            api.Answer(200, {"items": None, "metadata": {"continue": ""}}),
        )
        found = management.list(kinds.SECRET, "ns", "a=b")
        self.assertEqual([1, 2], [each["n"] for each in found])
        common = {"limit": 200, "labelSelector": "a=b"}
        self.assertEqual(
            [common, {**common, "continue": "x"}, {**common, "continue": "y"}],
            [each["params"] for each in transport.options],
        )

    def test_a_failing_page_fails_the_whole(self) -> None:
        management, _ = over(
            api.Answer(200, {"items": [{}], "metadata": {"continue": "x"}}),
            api.status(503),
        )
        self.assertRaises(
            exceptions.ManagementUnreachable,
            management.list,
            kinds.SECRET,
            "ns",
        )

    def test_an_expired_page_starts_the_list_again(self) -> None:
        management, _ = over(
            api.Answer(
                200, {"items": [{"n": 1}], "metadata": {"continue": "x"}}
            ),
            api.status(410, "The provided continue parameter is too old"),
            api.Answer(200, {"items": [{"n": 1}, {"n": 2}]}),
        )
        found = management.list(kinds.SECRET, "ns")
        self.assertEqual([1, 2], [each["n"] for each in found])

    def test_metadata_only_asks_for_no_data(self) -> None:
        management, transport = over(api.Answer(200, {"items": []}))
        management.list(kinds.SECRET, None, metadata_only=True)
        self.assertEqual([("GET", "v1 secrets")], transport.asked)
        self.assertIn(
            "as=PartialObjectMetadataList",
            transport.options[0]["headers"]["Accept"],
        )


class DiscoveryTest(base.BaseTestCase):
    def test_the_best_served_version_is_asked_once(self) -> None:
        management, transport = over(
            BOTH, *[api.Answer(200, {"items": []})] * 3
        )
        management.list(kinds.CLUSTER, "ns")
        management.list(kinds.CLUSTER, "ns")
        management.list(kinds.MACHINE, "ns")
        self.assertEqual(
            [
                ("GET", CAPI),
                ("GET", "cluster.x-k8s.io/v1beta2 in ns clusters"),
                ("GET", "cluster.x-k8s.io/v1beta2 in ns clusters"),
                ("GET", "cluster.x-k8s.io/v1beta2 in ns machines"),
            ],
            transport.asked,
        )

    def test_an_older_cluster_api_serves_v1beta1(self) -> None:
        management, transport = over(
            api.group("v1alpha4", "v1beta1"), api.Answer(200, {"items": []})
        )
        management.list(kinds.CLUSTER, "ns")
        self.assertEqual(
            ("GET", "cluster.x-k8s.io/v1beta1 in ns clusters"),
            transport.asked[1],
        )

    def test_a_version_that_vanished_is_discovered_again_once(self) -> None:
        management, transport = over(
            api.group("v1beta1"),
            api.unserved(),
            api.group("v1beta2"),
            api.Answer(200, {"items": [{}]}),
        )
        self.assertEqual(1, len(management.list(kinds.CLUSTER, "ns")))
        self.assertEqual(
            [
                ("GET", CAPI),
                ("GET", "cluster.x-k8s.io/v1beta1 in ns clusters"),
                ("GET", CAPI),
                ("GET", "cluster.x-k8s.io/v1beta2 in ns clusters"),
            ],
            transport.asked,
        )

    def test_an_object_of_a_version_that_vanished_is_not_absent(self) -> None:
        # Read as absent, a deletion would drop the Secrets of a live one.
        nameless = api.Answer(404, {"kind": "Status", "details": {}})
        for answer in (api.unserved(), nameless):
            management, _ = over(
                api.group("v1beta1"),
                api.Answer(200, {"metadata": {"name": "c"}}),
                answer,
                api.group("v1beta2"),
                api.Answer(200, {"metadata": {"name": "c"}}),
            )
            management.get(kinds.CLUSTER, "ns", "c")
            self.assertEqual(
                {"metadata": {"name": "c"}},
                management.get(kinds.CLUSTER, "ns", "c"),
            )

    def test_an_optional_kind_that_is_not_served_has_no_objects(self) -> None:
        for kind in (kinds.HELM_RELEASE, kinds.MANIFESTS):
            management, _ = over(api.unserved(), api.unserved())
            self.assertEqual([], management.list(kind, "ns"))
            self.assertIsNone(management.get(kind, "ns", "a"))

    def test_any_other_kind_that_is_not_served_is_no_absence(self) -> None:
        # A rebuilt or empty management cluster: not "everything is gone".
        management, _ = over(*[api.unserved()] * 4)
        for ask in (
            lambda: management.list(kinds.CLUSTER, "ns"),
            lambda: management.get(kinds.CLUSTER, "ns", "c"),
        ):
            error = self.assertRaises(exceptions.ManagementUnserved, ask)
            self.assertEqual(
                "the management cluster serves no Cluster of "
                "cluster.x-k8s.io: is its provider installed?",
                str(error),
            )

    def test_a_kind_that_is_installed_later_is_found(self) -> None:
        management, _ = over(
            api.unserved(),
            api.group("v1alpha1"),
            api.Answer(200, {"items": [{}]}),
        )
        self.assertEqual([], management.list(kinds.HELM_RELEASE, "ns"))
        self.assertEqual(1, len(management.list(kinds.HELM_RELEASE, "ns")))

    def test_versions_that_the_driver_does_not_know_are_not_used(self) -> None:
        management, _ = over(api.group("v1beta9"))
        self.assertRaises(
            exceptions.ManagementUnreachable,
            management.list,
            kinds.CLUSTER,
            "ns",
        )

    def test_a_discovery_that_fails_is_no_absence(self) -> None:
        for answer in (api.status(503), api.status(403), requests.Timeout()):
            management, _ = over(answer)
            self.assertRaises(
                exceptions.ManagementError,
                management.list,
                kinds.CLUSTER,
                "ns",
            )

    def test_a_pinned_version_is_not_discovered(self) -> None:
        pinned = {"api_version": "cluster.x-k8s.io/v1beta1"}
        management, transport = over(
            api.Answer(200, {"items": []}), Cluster=pinned
        )
        management.list(kinds.CLUSTER, "ns")
        self.assertEqual(
            [("GET", "cluster.x-k8s.io/v1beta1 in ns clusters")],
            transport.asked,
        )

    def test_kinds_are_pinned_in_the_spelling_of_1_4_0(self) -> None:
        management, transport = over(
            api.status(404),
            api.status(404),
            K8sControlPlane={
                "api_version": "controlplane.cluster.x-k8s.io/v1alpha1",
                "plural_name": "kamajicontrolplanes",
            },
            OpenstackCluster={
                "api_version": "infrastructure.cluster.x-k8s.io/v1alpha7"
            },
            HelmChartProxy={"api_version": "addons.cluster.x-k8s.io/v1"},
        )
        management.get(kinds.CONTROL_PLANE, "ns", "p")
        management.get(kinds.OPENSTACK_CLUSTER, "ns", "c")
        self.assertEqual(
            [
                (
                    "GET",
                    "controlplane.cluster.x-k8s.io/v1alpha1 in ns "
                    "kamajicontrolplanes/p",
                ),
                (
                    "GET",
                    "infrastructure.cluster.x-k8s.io/v1alpha7 in ns "
                    "openstackclusters/c",
                ),
            ],
            transport.asked,
        )


class WriteTest(base.BaseTestCase):
    OBJECT: Any = {"metadata": {"name": "s", "namespace": "ns"}, "data": {}}  # noqa: RUF012
    TYPED: Any = {"apiVersion": "v1", "kind": "Secret", **OBJECT}  # noqa: RUF012

    def test_create_posts_the_whole_object(self) -> None:
        management, transport = over(api.Answer(201, self.TYPED))
        self.assertEqual(
            self.TYPED, management.create(kinds.SECRET, self.OBJECT)
        )
        self.assertEqual([("POST", "v1 in ns secrets")], transport.asked)
        self.assertEqual([{"json": self.TYPED}], transport.options)

    def test_create_of_what_exists_is_a_conflict(self) -> None:
        management, _ = over(api.status(409, "already exists"))
        self.assertRaises(
            exceptions.Conflict, management.create, kinds.SECRET, self.OBJECT
        )

    def test_create_without_its_namespace_says_so(self) -> None:
        management, _ = over(api.status(404))
        error = self.assertRaises(
            exceptions.ManagementError,
            management.create,
            kinds.SECRET,
            self.OBJECT,
        )
        self.assertIn("no namespace ns", str(error))

    def test_replace_puts_under_its_name(self) -> None:
        management, transport = over(api.Answer(200, self.TYPED))
        management.replace(kinds.SECRET, self.OBJECT)
        self.assertEqual([("PUT", "v1 in ns secrets/s")], transport.asked)
        self.assertEqual([{"json": self.TYPED}], transport.options)

    def test_apply_is_server_side_ours_and_forced(self) -> None:
        management, transport = over(api.Answer(200, self.TYPED))
        management.apply(kinds.SECRET, self.OBJECT)
        self.assertEqual([("PATCH", "v1 in ns secrets/s")], transport.asked)
        (options,) = transport.options
        self.assertEqual(self.TYPED, json.loads(options.pop("data")))
        self.assertEqual(
            {
                "params": {"fieldManager": "magnum", "force": "true"},
                "headers": {"Content-Type": "application/apply-patch+yaml"},
            },
            options,
        )

    def test_a_dry_run_is_an_apply_that_writes_nothing(self) -> None:
        management, transport = over(api.Answer(200, self.TYPED))
        management.apply(kinds.SECRET, self.OBJECT, dry_run=True)
        self.assertEqual(
            {"fieldManager": "magnum", "force": "true", "dryRun": "All"},
            transport.options[0]["params"],
        )

    def test_patch_merges(self) -> None:
        management, transport = over(api.Answer(200, {"kind": "Lease"}))
        change = {"metadata": {"annotations": {"a": "b"}}}
        management.patch(kinds.LEASE, "ns", "l", change)
        self.assertEqual(
            [("PATCH", "coordination.k8s.io/v1 in ns leases/l")],
            transport.asked,
        )
        (options,) = transport.options
        self.assertEqual(change, json.loads(options["data"]))
        self.assertEqual(
            {"Content-Type": "application/merge-patch+json"},
            options["headers"],
        )

    def test_patch_of_what_is_gone_is_none(self) -> None:
        management, _ = over(api.status(404))
        self.assertIsNone(management.patch(kinds.LEASE, "ns", "l", {}))

    def test_delete_of_what_is_gone_is_fine(self) -> None:
        management, transport = over(api.status(404), api.status(403))
        management.delete(kinds.SECRET, "ns", "s")
        self.assertEqual(("DELETE", "v1 in ns secrets/s"), transport.asked[0])
        self.assertRaises(
            exceptions.ManagementError,
            management.delete,
            kinds.SECRET,
            "ns",
            "s",
        )


class ThreadsTest(base.BaseTestCase):
    def test_all_threads_share_one_connection(self) -> None:
        made: list[api.Memory] = []
        together = threading.Barrier(8, timeout=5)

        def connect() -> api.Memory:
            made.append(api.Memory())
            return made[-1]

        management = client.Client(connect)

        def ask() -> None:
            together.wait()
            management.get(kinds.SECRET, "ns", "s")

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(5)
        self.assertEqual(1, len(made))

    def test_nothing_connects_before_the_first_request(self) -> None:
        management = client.Client(self.fail)
        self.assertIsNotNone(management)

    def test_a_connection_that_can_t_be_made_is_tried_again(self) -> None:
        outcomes: list[Any] = [
            exceptions.NotConfigured("no kubeconfig"),
            api.Memory(),
        ]

        def connect() -> Any:
            outcome = outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        management = client.Client(connect)
        self.assertRaises(
            exceptions.NotConfigured, management.get, kinds.SECRET, "ns", "s"
        )
        self.assertIsNone(management.get(kinds.SECRET, "ns", "s"))


class ServedTest(base.BaseTestCase):
    """All that a group serves, by kind."""

    def _resources(self, *kinds_served: str) -> api.Answer:
        found = [{"name": each.lower(), "kind": each} for each in kinds_served]
        return api.Answer(200, {"resources": found})

    def test_each_kind_has_versions_of_its_own(self) -> None:
        root = "/apis/infrastructure.cluster.x-k8s.io"
        management, transport = over(
            api.group("v1beta1", "v1alpha1"),
            self._resources("OpenStackServer"),
            self._resources("OpenStackCluster", "OpenStackServer"),
        )
        self.assertEqual(
            {
                "OpenStackCluster": frozenset({"v1beta1"}),
                "OpenStackServer": frozenset({"v1alpha1", "v1beta1"}),
            },
            management.served("infrastructure.cluster.x-k8s.io"),
        )
        paths = (root, f"{root}/v1alpha1", f"{root}/v1beta1")
        self.assertEqual([("GET", each) for each in paths], transport.asked)

    def test_the_core_group_is_elsewhere(self) -> None:
        management, transport = over(
            api.Answer(200, {"versions": ["v1"]}), self._resources("Secret")
        )
        self.assertEqual({"Secret": frozenset({"v1"})}, management.served(""))
        self.assertEqual(
            [("GET", "/api"), ("GET", "/api/v1")], transport.asked
        )

    def test_a_group_that_is_not_there_serves_nothing(self) -> None:
        management, _ = over(api.unserved())
        self.assertEqual({}, management.served("addons.stackhpc.com"))

    def test_a_version_that_goes_meanwhile_serves_nothing(self) -> None:
        management, _ = over(api.group("v1"), api.unserved())
        self.assertEqual({}, management.served("addons.stackhpc.com"))

    def test_no_answer_is_no_absence(self) -> None:
        rows: list[tuple[api.Answer | Exception, type[Exception]]] = [
            (api.status(503), exceptions.ManagementUnreachable),
            (requests.ConnectTimeout(), exceptions.ManagementUnreachable),
            (api.status(403), exceptions.ManagementError),
        ]
        for answer, kind in rows:
            management, _ = over(api.group("v1"), answer)
            self.assertRaises(kind, management.served, "cluster.x-k8s.io")

    def test_it_is_asked_anew_each_time(self) -> None:
        management, _ = over(
            api.group("v1"), self._resources("A"), api.unserved()
        )
        management.served("x.io")
        self.assertEqual({}, management.served("x.io"))
