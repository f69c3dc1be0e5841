# SPDX-License-Identifier: Apache-2.0

"""Which requests a look at one release costs, and what they find."""

from __future__ import annotations

from typing import Any

import fixtures

from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.kubernetes import api
from magnum_capi_helm.tests.unit.kubernetes import reads_case


class ReadTest(reads_case.ReadsTestCase):
    """What is asked of the management cluster for one view."""

    ADDONS = ("helmreleases", "manifests")

    def test_a_ready_release_takes_seven_lists(self) -> None:
        seen = self.read()
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

    def test_a_machine_without_a_node_asks_for_its_server_too(self) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self.put("machines", "m-2", labels)
        seen = self.read()
        self.assertEqual(
            ["openstackclusters", "openstackmachines", *self.ADDONS],
            self.asked[5:],
        )
        assert seen.infrastructure is not None
        self.assertEqual("demo-1", view.name_of(seen.infrastructure))
        self.assertEqual(
            ["s-2"], [view.name_of(each) for each in seen.infra_machines]
        )
        self.assertTrue(seen.addons_known)

    def test_servers_are_read_where_capo_has_them(self) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        for name in ("s-1", "s-2"):
            self.put("openstackservers", name, labels, reads_case.ACTIVE)
        self.put("openstackservers", "bastion", {})
        self.api.served["infrastructure"] = ("v1alpha1", "v1beta1")
        self.assertEqual((), self.read().servers)
        self.assertNotIn("openstackservers", self.asked)
        self.put("machines", "m-2", labels)
        found = self.read().servers
        self.assertEqual(["s-2"], [view.name_of(each) for each in found])
        self.assertEqual(
            [
                *("openstackclusters", "openstackmachines"),
                *("openstackservers", *self.ADDONS),
            ],
            self.asked[5:],
        )
        failed = {"instanceState": "ERROR"}
        self.put("openstackservers", "s-1", labels, failed)
        found = self.read().servers
        self.assertEqual(
            ["s-1", "s-2"], sorted(view.name_of(each) for each in found)
        )

    def test_an_older_capo_has_no_servers_and_that_is_no_error(self) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self.put("machines", "m-2", labels)
        # 0.10 has another kind in v1alpha1.
        self.api.served["infrastructure"] = ("v1alpha1", "v1beta1")
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if url == "openstackservers":
                return api.unserved()
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        for many in (1, 100):
            observer = reads.Reader(
                self.api.client(), whole=True, follow_from=many
            )
            found = observer.read([reads_case.SCOPE], False)
            seen = found[reads_case.SCOPE].decode()
            self.assertEqual(((), 1), (seen.servers, len(seen.infra_machines)))

    def test_an_older_role_hides_servers_and_nothing_else(self) -> None:
        labels = {"cluster.x-k8s.io/cluster-name": "demo-1"}
        self.put("machines", "m-2", labels)
        self.api.served["infrastructure"] = ("v1alpha1", "v1beta1")
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if url == "openstackservers":
                return api.status(403)
            if "watch" in more.get("params", {}):
                return api.Answer(200, "")
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        scopes = (reads_case.SCOPE, ("magnum-p2", "demo-3"))
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        for many in (1, 100):
            for fresh in (True, False):
                observer = reads.Reader(
                    self.api.client(), whole=True, follow_from=many
                )
                for _ in range(2):
                    found = observer.read(scopes, fresh)
                seen = found[reads_case.SCOPE].decode()
                self.assertEqual((), seen.servers)
                self.assertEqual(1, len(seen.infra_machines))
        # One line for each of the four clients.
        self.assertEqual(
            4, log.output.count("OpenStackServers can't be read, so")
        )
        self.assertNotIn("one by one", log.output)

    def test_health_takes_six_lists(self) -> None:
        self.observe(whole=False)
        self.assertEqual(6, len(self.asked))

    def test_revisions_that_were_superseded_are_not_asked_for(self) -> None:
        record = {
            "owner": "helm",
            "name": "demo-1",
            "version": "0",
            "status": "superseded",
        }
        self.put("secrets", "sh.helm.release.v1.demo-1.v0", record)
        self.assertEqual(1, len(self.read().revisions))

    def test_an_absent_release_has_an_empty_view(self) -> None:
        gone = ("magnum-p1", "gone")
        seen = self.observe(gone)[gone].decode()
        self.assertEqual(view.View(release="gone", addons_known=False), seen)

    def test_a_failed_list_fails_the_view(self) -> None:
        def refuse(method: str, path: str) -> None:
            if path == "manifests":
                raise errors.ManagementUnreachable("no answer")

        self.api.before = refuse
        self.assertRaises(errors.ManagementUnreachable, self.read)
