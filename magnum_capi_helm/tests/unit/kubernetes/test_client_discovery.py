# SPDX-License-Identifier: Apache-2.0
"""Which version of a kind is served, if any is: asked once, and anew."""

from __future__ import annotations

from oslotest import base
import requests

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api

CAPI = "/apis/cluster.x-k8s.io"
BOTH = api.group("v1beta1", "v1beta2")


class DiscoveryTest(base.BaseTestCase):
    def test_the_best_served_version_is_asked_once(self) -> None:
        management, transport = api.over(
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
        management, transport = api.over(
            api.group("v1alpha4", "v1beta1"), api.Answer(200, {"items": []})
        )
        management.list(kinds.CLUSTER, "ns")
        self.assertEqual(
            ("GET", "cluster.x-k8s.io/v1beta1 in ns clusters"),
            transport.asked[1],
        )

    def test_a_version_that_vanished_is_discovered_again_once(self) -> None:
        management, transport = api.over(
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
            management, _ = api.over(
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
        management, _ = api.over(
            api.unserved(),
            api.group("v1alpha1"),
            api.Answer(200, {"items": [{}]}),
        )
        self.assertEqual([], management.list(kinds.HELM_RELEASE, "ns"))
        self.assertEqual(1, len(management.list(kinds.HELM_RELEASE, "ns")))

    def test_versions_that_the_driver_does_not_know_are_not_used(self) -> None:
        management, _ = api.over(api.group("v1beta9"))
        self.assertRaises(
            errors.ManagementUnreachable,
            management.list,
            kinds.CLUSTER,
            "ns",
        )

    def test_a_discovery_that_fails_is_no_absence(self) -> None:
        api.no_pauses(self)
        for answer in (api.status(503), api.status(403), requests.Timeout()):
            management, _ = api.over(*[answer] * 3)
            self.assertRaises(
                errors.ManagementError,
                management.list,
                kinds.CLUSTER,
                "ns",
            )

    def test_a_version_of_another_provider_in_the_group_is_not_used(
        self,
    ) -> None:
        """The provider for AWS has v1beta2, and CAPO 0.14 has v1beta1."""
        foreign = api.Answer(200, {"resources": [{"kind": "AWSCluster"}]})
        management, transport = api.over(
            BOTH,
            foreign,
            api.Answer(200, {"items": []}),
            api.Answer(200, {"items": []}),
        )
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
        for served, used in (
            (BOTH, "v1beta1"),
            (api.group("v1beta2"), "v1beta2"),
            (api.unserved(), "v1beta1"),
        ):
            with self.subTest(used):
                management, transport = api.over(
                    served,
                    api.Answer(200, {"items": []}),
                    Cluster={"api_version": "cluster.x-k8s.io/v1beta1"},
                )
                management.list(kinds.CLUSTER, "ns")
                self.assertEqual(
                    [
                        ("GET", "/apis/cluster.x-k8s.io"),
                        ("GET", f"cluster.x-k8s.io/{used} in ns clusters"),
                    ],
                    transport.asked,
                )

    def test_kinds_are_pinned_in_the_spelling_of_1_4_0(self) -> None:
        management, transport = api.over(
            api.status(404),
            api.group("v1alpha7"),
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
                ("GET", "/apis/infrastructure.cluster.x-k8s.io"),
                (
                    "GET",
                    "infrastructure.cluster.x-k8s.io/v1alpha7 in ns "
                    "openstackclusters/c",
                ),
            ],
            transport.asked,
        )


class ServedTest(base.BaseTestCase):
    """All that a group serves, by kind."""

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

    def test_a_group_that_is_not_there_serves_nothing(self) -> None:
        management, _ = api.over(api.unserved())
        self.assertEqual({}, management.served("addons.stackhpc.com"))

    def test_a_version_that_goes_meanwhile_serves_nothing(self) -> None:
        management, _ = api.over(api.group("v1"), api.unserved())
        self.assertEqual({}, management.served("addons.stackhpc.com"))

    def test_no_answer_is_no_absence(self) -> None:
        rows: list[tuple[api.Answer | Exception, type[Exception]]] = [
            (api.status(503), errors.ManagementUnreachable),
            (requests.ConnectTimeout(), errors.ManagementUnreachable),
            (api.status(403), errors.ManagementError),
        ]
        api.no_pauses(self)
        for answer, kind in rows:
            management, _ = api.over(api.group("v1"), *[answer] * 3)
            self.assertRaises(kind, management.served, "cluster.x-k8s.io")

    def test_discovery_is_asked_anew_each_time(self) -> None:
        management, _ = api.over(
            api.group("v1"), self._resources("A"), api.unserved()
        )
        management.served("x.io")
        self.assertEqual({}, management.served("x.io"))
