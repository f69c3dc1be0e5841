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
from magnum_capi_helm import observation
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.management import api

SCOPE = ("magnum-p1", "demo-1")
CAPI = ("v1beta1", "v1beta2")


class ReadTest(base.BaseTestCase):
    """What is asked of the management cluster for one view."""

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

    def _read(self) -> view.View:
        return observation.read(self.api.client(), SCOPE)

    def test_a_ready_release_takes_seven_lists(self) -> None:
        seen = self._read()
        self.assertEqual(
            [
                "clusters",
                "kubeadmcontrolplanes",
                "machinedeployments",
                "machines",
                "helmreleases",
                "manifests",
                "secrets",
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

    def test_a_machine_without_a_node_asks_for_servers_as_well(self) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self._put("machines", "m-2", labels)
        seen = self._read()
        self.assertEqual(
            ["openstackclusters", "openstackmachines"], self.asked[7:]
        )
        assert seen.infrastructure is not None
        self.assertEqual("demo-1", view.name_of(seen.infrastructure))
        self.assertEqual(
            ["s-1"], [view.name_of(each) for each in seen.infra_machines]
        )

    def test_health_takes_four_lists(self) -> None:
        observation.read_objects(self.api.client(), SCOPE)
        self.assertEqual(4, len(self.asked))

    def test_nothing_there_is_an_empty_view(self) -> None:
        seen = observation.read(self.api.client(), ("magnum-p1", "gone"))
        self.assertEqual(view.View(release="gone"), seen)

    def test_one_list_that_fails_fails_the_view(self) -> None:
        def refuse(method: str, path: str) -> None:
            if path == "manifests":
                raise exceptions.ManagementUnreachable("no answer")

        self.api.before = refuse
        self.assertRaises(exceptions.ManagementUnreachable, self._read)
