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

"""Which requests a look at a release costs, and what they find."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm import exceptions
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import listing
from magnum_capi_helm.management import observation
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.management import api

SCOPE = ("magnum-p1", "demo-1")
CAPI = ("v1beta1", "v1beta2")


class _ObservationTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api = api.Memory(
            **dict.fromkeys(
                ("cluster", "controlplane", "infrastructure"), CAPI
            ),
            addons=("v1alpha1",),
        )
        self.asked: list[str] = []
        self.api.before = self._note
        chart = {"capi.stackhpc.com/cluster": "demo-1"}
        owned = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        well = {"conditions": [{"type": "Available", "status": "True"}]}
        self._put("clusters", "demo-1", chart, well)
        self._put("clusters", "demo-2", {}, well)
        self._put("kubeadmcontrolplanes", "demo-1-cp", chart)
        self._put("machinedeployments", "demo-1-w", chart)
        self._put("machines", "m-1", owned, {"nodeRef": {"name": "n"}})
        self._put("helmreleases", "demo-1-cni", chart)
        self._put("manifests", "demo-1-config", chart)
        self._put("openstackclusters", "demo-1", chart)
        self._put("openstackmachines", "s-1", owned)
        record = {
            "owner": "helm",
            "name": "demo-1",
            "version": "1",
            "status": "deployed",
            "modifiedAt": "1764000000",
        }
        self._put("secrets", "sh.helm.release.v1.demo-1.v1", record)

    def _note(self, method: str, path: str) -> None:
        if not path.startswith("/apis/"):
            self.asked.append(path)

    def _put(
        self,
        plural: str,
        name: str,
        labels: dict[str, str],
        status: Any = None,
    ) -> None:
        meta = {"name": name, "namespace": SCOPE[0], "labels": labels}
        self.api.put(plural, {"metadata": meta, "status": status or {}})

    def _observe(
        self,
        *scopes: tuple[str, str],
        whole: bool = True,
        fresh: bool = False,
        before: observation.Sightings | None = None,
        many: int = observation.MANY,
    ) -> dict[tuple[str, str], observation.Sighting]:
        self.asked.clear()
        observer = observation.Observer(
            self.api.client(), whole=whole, many=many
        )
        return observer.read(scopes or (SCOPE,), fresh, before or {})

    def _read(self) -> view.View:
        return self._observe()[SCOPE].decode()


class ReadTest(_ObservationTest):
    """What is asked of the management cluster for one view."""

    def test_a_ready_release_takes_seven_lists(self) -> None:
        seen = self._read()
        self.assertEqual(
            [
                "clusters",
                "kubeadmcontrolplanes",
                "machinedeployments",
                "machines",
                "secrets",
                "helmreleases",
                "manifests",
            ],
            self.asked,
        )
        assert seen.cluster is not None and seen.control_plane is not None
        self.assertEqual(
            ("demo-1", "demo-1-cp", ["demo-1-w"], ["m-1"]),
            (
                view.name_of(seen.cluster),
                view.name_of(seen.control_plane),
                [view.name_of(each) for each in seen.deployments],
                [view.name_of(each) for each in seen.machines],
            ),
        )
        self.assertEqual(
            ["demo-1-cni", "demo-1-config"],
            [view.name_of(each) for each in seen.addons],
        )
        self.assertEqual(
            (view.Revision(1, "deployed", 1764000000.0),), seen.revisions
        )
        self.assertIsNone(seen.infrastructure)

    def test_a_machine_without_a_node_asks_for_servers_and_no_addons(
        self,
    ) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self._put("machines", "m-2", labels)
        seen = self._read()
        self.assertEqual(
            ["openstackclusters", "openstackmachines"], self.asked[5:]
        )
        assert seen.infrastructure is not None
        self.assertEqual("demo-1", view.name_of(seen.infrastructure))
        self.assertEqual(
            ["s-1"], [view.name_of(each) for each in seen.infra_machines]
        )
        self.assertEqual(((), False), (seen.addons, seen.addons_known))

    def test_health_takes_four_lists(self) -> None:
        self._observe(whole=False)
        self.assertEqual(4, len(self.asked))

    def test_revisions_that_were_superseded_are_not_asked_for(self) -> None:
        record = {
            "owner": "helm",
            "name": "demo-1",
            "version": "0",
            "status": "superseded",
        }
        self._put("secrets", "sh.helm.release.v1.demo-1.v0", record)
        self.assertEqual(1, len(self._read().revisions))

    def test_nothing_there_is_an_empty_view(self) -> None:
        gone = ("magnum-p1", "gone")
        seen = self._observe(gone)[gone].decode()
        self.assertEqual(view.View(release="gone", addons_known=False), seen)

    def test_one_list_that_fails_fails_the_view(self) -> None:
        def refuse(method: str, path: str) -> None:
            if path == "manifests":
                raise exceptions.ManagementUnreachable("no answer")

        self.api.before = refuse
        self.assertRaises(exceptions.ManagementUnreachable, self._read)


class ManyTest(_ObservationTest):
    """Looks at more than one release."""

    def test_many_releases_take_as_many_lists_as_one(self) -> None:
        self._put(
            "machines", "m-2", {"cluster.x-k8s.io/cluster-name": "demo-2"}
        )
        second = (SCOPE[0], "demo-2")
        seen = self._observe(SCOPE, second, whole=False)
        self.assertEqual(4, len(self.asked))
        self.assertEqual(
            [["m-1"], ["m-2"]],
            [
                [view.name_of(each) for each in seen[scope].decode().machines]
                for scope in (SCOPE, second)
            ],
        )

    def test_a_hundred_releases_fit_in_one_request(self) -> None:
        for number, lists in ((100, 4), (101, 8), (199, 8)):
            scopes = [(SCOPE[0], f"r-{each}") for each in range(number)]
            self._observe(*scopes, whole=False, many=999)
            self.assertEqual(lists, len(self.asked))

    def test_all_releases_are_followed_where_many_are_asked_for(
        self,
    ) -> None:
        asked: list[str] = []
        real = self.api.request

        def request(method: str, version: str, url: str, **more: Any) -> Any:
            if url:
                params = more["params"]
                asked.append("watch" if "watch" in params else "list")
                if "watch" in params:
                    return api.Answer(200, "")
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[assignment, method-assign]
        observer = observation.Observer(self.api.client(), whole=False, many=2)
        for scopes, expected in (
            ([SCOPE], ["list"] * 4),
            ([SCOPE, ("magnum-p2", "demo-3")], ["list"] * 4),
            ([SCOPE, ("magnum-p2", "demo-3")], ["watch"] * 4),
        ):
            asked.clear()
            seen = observer.read(scopes, False, {})
            self.assertEqual(expected, asked)
            self.assertEqual(set(scopes), set(seen))
            self.assertIsNotNone(seen[SCOPE].decode().cluster)
        asked.clear()
        observer.read([SCOPE, ("magnum-p2", "demo-3")], True, {})
        self.assertEqual(["list"] * 8, asked)

    def test_one_name_in_two_namespaces_is_two_releases(self) -> None:
        there = ("magnum-p2", SCOPE[1])
        seen = self._observe(SCOPE, there, whole=False)
        self.assertIsNotNone(seen[SCOPE].decode().cluster)
        self.assertIsNone(seen[there].decode().cluster)

    def test_who_may_not_list_all_namespaces_reads_one_by_one(self) -> None:
        there = ("magnum-p2", "demo-3")
        places: list[str | None] = []
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if url:
                places.append(more.get("namespace"))
            if url == "clusters" and not more.get("namespace"):
                return api.status(403)
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        seen = self._observe(SCOPE, there, whole=False)
        self.assertIsNotNone(seen[SCOPE].decode().cluster)
        self.assertEqual(["magnum-p1", "magnum-p2"] * 4, places[1:])

    def test_a_refusal_to_list_all_namespaces_counts_for_ten_minutes(
        self,
    ) -> None:
        now = [1000.0]
        lister = listing.Lister(self.api.client(), lambda: now[0])
        self.assertTrue(lister.everywhere)
        lister.forbidden(answers.ForbiddenError("no"))
        self.assertFalse(lister.everywhere)
        now[0] += 599
        self.assertFalse(lister.everywhere)
        now[0] += 2
        self.assertTrue(lister.everywhere)

    def test_a_fresh_look_asks_etcd_in_each_namespace(self) -> None:
        asked: list[tuple[Any, Any]] = []
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if more.get("params"):
                version_asked = more["params"].get("resourceVersion")
                asked.append((more.get("namespace"), version_asked))
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        scopes = (SCOPE, ("magnum-p2", "demo-3"))
        self._observe(*scopes, whole=False, fresh=True)
        self.assertEqual([("magnum-p1", None), ("magnum-p2", None)], asked[:2])
        asked.clear()
        self._observe(*scopes, whole=False)
        self.assertEqual({(None, "0")}, set(asked))


class SameTest(_ObservationTest):
    """What did not change since the last look."""

    def test_it_has_the_same_version_and_is_not_decoded_again(self) -> None:
        first = self._observe()
        second = self._observe(before=first)
        self.assertEqual(first[SCOPE].version, second[SCOPE].version)
        for track, found in first[SCOPE].items.items():
            for old, new in zip(
                found, second[SCOPE].items[track], strict=True
            ):
                self.assertIs(old, new)

    def test_any_change_makes_another_version(self) -> None:
        chart = {"capi.stackhpc.com/cluster": "demo-1"}
        owned = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        before = self._observe()
        for plural, name, labels in (
            ("clusters", "demo-1", chart),
            ("machines", "m-3", owned),
            ("kubeadmcontrolplanes", "demo-1-cp", chart),
        ):
            status = {"conditions": [{"type": "Available", "status": "True"}]}
            self._put(plural, name, labels, status)
            after = self._observe(before=before)
            self.assertNotEqual(before[SCOPE].version, after[SCOPE].version)
            before = after

    def test_what_is_not_ready_any_more_is_noticed(self) -> None:
        before = self._observe()
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self._put("machines", "m-2", labels)
        after = self._observe(before=before)
        self.assertEqual(
            (True, False), (before[SCOPE].ready, after[SCOPE].ready)
        )
        again = self._observe(before=after)
        self.assertFalse(again[SCOPE].ready)
