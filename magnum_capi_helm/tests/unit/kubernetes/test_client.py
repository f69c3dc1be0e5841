# SPDX-License-Identifier: Apache-2.0

"""The client: absent, unreadable and refused are different answers."""

from __future__ import annotations

import json
import threading
from typing import Any

from oslotest import base
import requests

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.unit.kubernetes import api

_EMPTY = api.Answer(200, {"items": []})
_UNREACHABLE = errors.ManagementUnreachable
_WORDS = "the management cluster refused GET Secret s"
_CHECK = "check the kubeconfig's user and its permissions"
_NO_STATUS: tuple[Any, ...] = ("<html>", "[]", None, {})
#: An answer, its exception and all that is told of it.
_REFUSALS: list[tuple[Any, type[Exception], str]] = [
    *(
        (api.status(code), kind, f"{_WORDS} ({code}). no")
        for code, kind in {
            400: errors.ManagementError,
            409: errors.Conflict,
            410: responses.ExpiredError,
            422: errors.ManagementError,
            **dict.fromkeys((429, 500, 502, 503, 504), _UNREACHABLE),
        }.items()
    ),
    *(
        (api.status(code), kind, f"{_WORDS} ({code}); {_CHECK}. no")
        for code, kind in {
            401: responses.UnauthorizedError,
            403: responses.ForbiddenError,
        }.items()
    ),
    # A refusal that is no JSON.
    *(
        (
            api.Answer(502, body, "Bad Gateway"),
            _UNREACHABLE,
            f"{_WORDS} (502). Bad Gateway",
        )
        for body in _NO_STATUS
    ),
    (
        api.Answer(200, '{"kind": "Sec'),
        _UNREACHABLE,
        "the management cluster's answer was cut short",
    ),
    (
        requests.ConnectTimeout("https://user:secret@host/api"),
        _UNREACHABLE,
        "the management cluster does not answer (ConnectTimeout). It is "
        "https://management.example.org",
    ),
]


def _page(token: str, *numbers: int) -> api.Answer:
    items = [{"n": each} for each in numbers]
    return api.Answer(200, {"items": items, "metadata": {"continue": token}})


class GetTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        api.no_pauses(self)

    def test_an_error_names_its_management_cluster(self) -> None:
        for answer, expected in (
            (
                requests.ConnectTimeout(),
                "the management cluster east does not answer "
                "(ConnectTimeout). It is https://management.example.org",
            ),
            (
                api.status(400),
                "the management cluster east refused GET Secret s (400). no",
            ),
        ):
            transport = api.Scripted(answer)
            named = client.Client(lambda: transport, {}, "east")  # noqa: B023
            error = self.assertRaises(
                errors.ManagementError, named.get, kinds.SECRET, "ns", "s"
            )
            self.assertEqual(expected, errors.explained(error))

    def test_a_get_returns_the_object_or_none(self) -> None:
        for answer, found in (
            (api.Answer(200, {"kind": "Secret"}), {"kind": "Secret"}),
            (api.status(404), None),
        ):
            management, transport = api.over(answer)
            self.assertEqual(found, management.get(kinds.SECRET, "ns", "s"))
            self.assertEqual([("GET", "v1 in ns secrets/s")], transport.asked)

    def test_every_other_answer_is_an_exception_of_its_class(self) -> None:
        for answer, kind, words in _REFUSALS:
            # Asked three times, where another answer may come.
            management, _ = api.over(*[answer] * 3)
            error = self.assertRaises(
                errors.CapiHelmError, management.get, kinds.SECRET, "ns", "s"
            )
            told = (type(error), errors.explained(error))
            self.assertEqual((kind, words), told)
            self.assertNotIn("https:", str(error))


class ListTest(base.BaseTestCase):
    def test_a_refused_list_names_the_kind(self) -> None:
        management, _ = api.over(api.status(403))
        error = self.assertRaises(
            errors.ManagementError, management.list, kinds.SECRET, "ns"
        )
        self.assertIn("refused GET Secret (403)", str(error))

    def test_items_get_the_kind_and_version_of_their_list(self) -> None:
        version = {"apiVersion": "cluster.x-k8s.io/v1beta2"}
        item = {"metadata": {"name": "a"}}
        management, transport = api.over(
            api.group("v1beta1", "v1beta2"),
            api.Answer(200, {**version, "items": [item]}),
        )
        self.assertEqual(
            [{**version, "kind": "Cluster", **item}],
            management.list(kinds.CLUSTER, "ns", "a=b"),
        )
        self.assertEqual(
            [
                ("GET", "/apis/cluster.x-k8s.io"),
                ("GET", "cluster.x-k8s.io/v1beta2 in ns clusters"),
            ],
            transport.asked,
        )

    def test_fields_select_objects(self) -> None:
        management, transport = api.over(_EMPTY)
        field = "involvedObject.name=m"
        objects, _ = management.scan(
            kinds.EVENT, "ns", "", bytes, fields=field
        )
        self.assertEqual([], objects)
        self.assertEqual(
            {"limit": 200, "fieldSelector": field},
            transport.options[0]["params"],
        )

    def test_all_pages_are_read(self) -> None:
        end = {"items": None, "metadata": {"continue": ""}}
        management, transport = api.over(
            _page("x", 1), _page("y", 2), api.Answer(200, end)
        )
        found = management.list(kinds.SECRET, "ns", "a=b")
        self.assertEqual([1, 2], [each["n"] for each in found])
        common = {"limit": 200, "labelSelector": "a=b"}
        self.assertEqual(
            [common, {**common, "continue": "x"}, {**common, "continue": "y"}],
            [each["params"] for each in transport.options],
        )

    def test_a_failing_page_fails_the_whole(self) -> None:
        api.no_pauses(self)
        management, _ = api.over(_page("x", 1), *[api.status(503)] * 3)
        self.assertRaises(_UNREACHABLE, management.list, kinds.SECRET, "ns")

    def test_an_expired_page_starts_the_list_again(self) -> None:
        expired = api.status(410, "The provided continue parameter is too old")
        management, _ = api.over(_page("x", 1), expired, _page("", 1, 2))
        found = management.list(kinds.SECRET, "ns")
        self.assertEqual([1, 2], [each["n"] for each in found])

    def test_metadata_only_asks_for_no_data(self) -> None:
        management, transport = api.over(_EMPTY)
        management.list(kinds.SECRET, None, metadata_only=True)
        self.assertEqual([("GET", "v1 secrets")], transport.asked)
        self.assertIn(
            "as=PartialObjectMetadataList",
            transport.options[0]["headers"]["Accept"],
        )


class WriteTest(base.BaseTestCase):
    OBJECT: Any = {"metadata": {"name": "s", "namespace": "ns"}, "data": {}}  # noqa: RUF012
    TYPED: Any = {"apiVersion": "v1", "kind": "Secret", **OBJECT}  # noqa: RUF012

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())

    def test_each_write_has_its_request(self) -> None:
        change = {"metadata": {"annotations": {"a": "b"}}}
        dry = {"params": {"dryRun": "All"}}
        merge = {"headers": {"Content-Type": "application/merge-patch+json"}}
        # Server-side, ours and forced.
        apply = {
            "params": {"fieldManager": "magnum", "force": "true"},
            "headers": {"Content-Type": "application/apply-patch+yaml"},
        }
        post, put = ("POST", "v1 in ns secrets"), ("PUT", "v1 in ns secrets/s")
        patch = ("PATCH", "v1 in ns secrets/s")
        secret, target = kinds.SECRET, (kinds.SECRET, "ns", "s")
        rows: list[tuple[str, tuple[Any, ...], bool, Any, Any, Any]] = [
            ("create", (secret, self.OBJECT), False, post, self.TYPED, {}),
            ("create", (secret, self.OBJECT), True, post, self.TYPED, dry),
            ("replace", (secret, self.OBJECT), False, put, self.TYPED, {}),
            ("apply", (secret, self.OBJECT), False, patch, self.TYPED, apply),
            ("patch", (*target, change), False, patch, change, merge),
            ("patch", (*target, change), True, patch, change, merge | dry),
        ]
        for name, arguments, dry_run, asked, body, options in rows:
            management, transport = api.over(api.Answer(200, self.TYPED))
            more = {"dry_run": True} if dry_run else {}
            written = getattr(management, name)(*arguments, **more)
            if name == "create":
                self.assertEqual(self.TYPED, written)
            self.assertEqual([asked], transport.asked)
            (sent,) = transport.options
            content = sent.pop("json", None) or json.loads(sent.pop("data"))
            self.assertEqual((body, options), (content, sent), name)

    def test_create_of_what_exists_or_in_no_namespace_says_so(self) -> None:
        for answer, kind, words in (
            (api.status(409, "already exists"), errors.Conflict, "(409)"),
            (api.status(404), errors.ManagementError, "no namespace ns"),
        ):
            management, _ = api.over(answer)
            error = self.assertRaises(
                kind, management.create, kinds.SECRET, self.OBJECT
            )
            self.assertIn(words, str(error))

    def test_patch_and_delete_of_what_is_gone_are_fine(self) -> None:
        gone = api.status(404)
        management, transport = api.over(gone, gone, api.status(403))
        target = (kinds.SECRET, "ns", "s")
        self.assertIsNone(management.patch(*target, {}))
        management.delete(*target)
        self.assertEqual(("DELETE", "v1 in ns secrets/s"), transport.asked[1])
        self.assertRaises(errors.ManagementError, management.delete, *target)


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

    def test_a_connection_that_can_t_be_made_is_tried_again(self) -> None:
        outcomes: list[Any] = [errors.NotConfigured("none"), api.Memory()]

        def connect() -> Any:
            outcome = outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        management = client.Client(connect)
        target = (kinds.SECRET, "ns", "s")
        self.assertRaises(errors.NotConfigured, management.get, *target)
        self.assertIsNone(management.get(*target))


OLD, CAPI = "v1beta1", "/apis/cluster.x-k8s.io"
GROUP = "cluster.x-k8s.io"
ONE = api.Answer(200, {"items": [{}]})
BOTH = api.group("v1beta1", "v1beta2")


class DiscoveryTest(base.BaseTestCase):
    def test_an_object_of_a_version_that_vanished_is_not_absent(self) -> None:
        # Read as absent, a deletion would drop the Secrets of a live one.
        nameless = api.Answer(404, {"kind": "Status", "details": {}})
        there = {"metadata": {"name": "c"}}
        live = api.Answer(200, there)
        for answer in (api.unserved(), nameless):
            management, _ = api.over(
                api.group("v1beta1"), live, answer, api.group("v1beta2"), live
            )
            for _ in range(2):
                self.assertEqual(
                    there, management.get(kinds.CLUSTER, "ns", "c")
                )

    def test_an_optional_kind_that_is_not_served_has_no_objects(self) -> None:
        for kind in (kinds.HELM_RELEASE, kinds.MANIFESTS):
            management, _ = api.over(api.unserved(), api.unserved())
            self.assertEqual([], management.list(kind, "ns"))
            self.assertIsNone(management.get(kind, "ns", "a"))

    def test_any_other_kind_that_is_not_served_is_no_absence(self) -> None:
        # A rebuilt or empty management cluster: not "everything is gone".
        management, _ = api.over(*[api.unserved()] * 5)
        for ask in (
            lambda: management.list(kinds.CLUSTER, "ns"),
            lambda: management.get(kinds.CLUSTER, "ns", "c"),
            lambda: management.expect(kinds.CLUSTER),
        ):
            error = self.assertRaises(errors.ManagementUnserved, ask)
            self.assertRegex(
                str(error),
                "serves no Cluster: .* API group is cluster.x-k8s.io$",
            )

    def test_a_kind_that_is_installed_later_is_found(self) -> None:
        management, _ = api.over(api.unserved(), api.group("v1alpha1"), ONE)
        self.assertEqual([], management.list(kinds.HELM_RELEASE, "ns"))
        self.assertEqual(1, len(management.list(kinds.HELM_RELEASE, "ns")))

    def test_discovery_is_asked_once_until_a_version_vanishes(self) -> None:
        for script, asked in (
            ([BOTH, ONE, ONE], [CAPI, "v1beta2", "v1beta2"]),
            ([api.group("v1alpha4", "v1beta1"), ONE, ONE], [CAPI, *[OLD] * 2]),
            (
                [api.group(OLD), api.unserved(), BOTH, ONE, ONE],
                [CAPI, OLD, CAPI, "v1beta2", "v1beta2"],
            ),
        ):
            management, transport = api.over(*script)
            for _ in range(2):
                self.assertEqual(1, len(management.list(kinds.CLUSTER, "ns")))
            self.assertEqual(
                [
                    each if each == CAPI else f"{GROUP}/{each} in ns clusters"
                    for each in asked
                ],
                [path for _, path in transport.asked],
            )

    def test_two_kinds_share_the_versions_of_their_group(self) -> None:
        management, transport = api.over(BOTH, _EMPTY, _EMPTY)
        management.list(kinds.CLUSTER, "ns")
        management.list(kinds.MACHINE, "ns")
        self.assertEqual(
            ("GET", "cluster.x-k8s.io/v1beta2 in ns machines"),
            transport.asked[2],
        )

    def test_a_discovery_that_fails_or_knows_none_is_no_absence(self) -> None:
        api.no_pauses(self)
        for answer, error in (
            (api.status(503), _UNREACHABLE),
            (api.status(403), errors.ManagementError),
            (requests.Timeout(), _UNREACHABLE),
            (api.group("v1beta9"), _UNREACHABLE),
        ):
            management, _ = api.over(*[answer] * 3)
            self.assertRaises(error, management.list, kinds.CLUSTER, "ns")

    def test_a_version_of_another_provider_is_not_used(self) -> None:
        """The provider for AWS has v1beta2, and CAPO 0.14 has v1beta1."""
        foreign = api.Answer(200, {"resources": [{"kind": "AWSCluster"}]})
        management, transport = api.over(BOTH, foreign, _EMPTY, _EMPTY)
        management.list(kinds.OPENSTACK_CLUSTER, "ns")
        management.list(kinds.OPENSTACK_MACHINE, "ns")
        group = "infrastructure.cluster.x-k8s.io"
        self.assertEqual(
            [
                ("GET", f"/apis/{group}"),
                ("GET", f"/apis/{group}/v1beta2"),
                ("GET", f"{group}/v1beta1 in ns openstackclusters"),
                ("GET", f"{group}/v1beta1 in ns openstackmachines"),
            ],
            transport.asked,
        )

    def test_a_pinned_version_is_used_while_it_is_served(self) -> None:
        pinned = {"api_version": f"{GROUP}/v1beta1"}
        for served, used in (
            (BOTH, "v1beta1"),
            (api.group("v1beta2"), "v1beta2"),
            (api.unserved(), "v1beta1"),
        ):
            management, transport = api.over(served, _EMPTY, Cluster=pinned)
            management.list(kinds.CLUSTER, "ns")
            asked = [("GET", CAPI), ("GET", f"{GROUP}/{used} in ns clusters")]
            self.assertEqual(asked, transport.asked)

    def test_kinds_are_pinned_in_the_spelling_of_1_4_0(self) -> None:
        plane, capo = (
            f"controlplane.{GROUP}/v1alpha1",
            f"infrastructure.{GROUP}",
        )
        management, transport = api.over(
            api.status(404),
            api.group("v1alpha7"),
            api.status(404),
            K8sControlPlane={
                "api_version": plane,
                "plural_name": "kamajicontrolplanes",
            },
            OpenstackCluster={"api_version": f"{capo}/v1alpha7"},
            HelmChartProxy={"api_version": "addons.cluster.x-k8s.io/v1"},
        )
        management.get(kinds.CONTROL_PLANE, "ns", "p")
        management.get(kinds.OPENSTACK_CLUSTER, "ns", "c")
        self.assertEqual(
            [
                ("GET", f"{plane} in ns kamajicontrolplanes/p"),
                ("GET", f"/apis/{capo}"),
                ("GET", f"{capo}/v1alpha7 in ns openstackclusters/c"),
            ],
            transport.asked,
        )


class ServedTest(base.BaseTestCase):
    def _resources(self, *kinds_served: str) -> api.Answer:
        found = [{"name": each.lower(), "kind": each} for each in kinds_served]
        return api.Answer(200, {"resources": found})

    def test_each_kind_has_versions_of_its_own(self) -> None:
        root = "/apis/infrastructure.cluster.x-k8s.io"
        management, transport = api.over(
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
        management, transport = api.over(
            api.Answer(200, {"versions": ["v1"]}), self._resources("Secret")
        )
        self.assertEqual({"Secret": frozenset({"v1"})}, management.served(""))
        self.assertEqual(
            [("GET", "/api"), ("GET", "/api/v1")], transport.asked
        )

    def test_a_group_or_version_that_is_not_there_serves_nothing(self) -> None:
        for script in ([api.unserved()], [api.group("v1"), api.unserved()]):
            management, _ = api.over(*script)
            self.assertEqual({}, management.served("addons.stackhpc.com"))

    def test_no_answer_is_no_absence(self) -> None:
        api.no_pauses(self)
        for answer, kind in (
            (api.status(503), _UNREACHABLE),
            (requests.ConnectTimeout(), _UNREACHABLE),
            (api.status(403), errors.ManagementError),
        ):
            management, _ = api.over(api.group("v1"), *[answer] * 3)
            self.assertRaises(kind, management.served, "cluster.x-k8s.io")

    def test_discovery_is_asked_anew_each_time(self) -> None:
        management, _ = api.over(
            api.group("v1"), self._resources("A"), api.unserved()
        )
        management.served("x.io")
        self.assertEqual({}, management.served("x.io"))
