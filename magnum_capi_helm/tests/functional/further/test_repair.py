# SPDX-License-Identifier: Apache-2.0

"""Releases that helm can't read or change are put right."""

from __future__ import annotations

import base64
import re
from typing import Any

from magnum_capi_helm.chart import diff
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import test_resize


class RepairTest(test_resize.ResizeCase):
    """Live objects equal the manifest, and no machine is replaced for it."""

    def test_a_failed_revision_and_versions_that_are_not_served(self) -> None:
        # One cluster for both: making one takes most of the time.
        self.make(node_count=1)
        self.of_half_a_revision_nothing_is_left()
        self.a_release_in_old_versions_is_changed_and_deleted()

    def of_half_a_revision_nothing_is_left(self) -> None:
        # Read in its own version, an object has what its manifest says.
        self.assertEqual([], self.differences())
        before = self.all_machines()
        self.as_a_failed_revision()
        self.disturb()
        self.assertNotEqual([], self.differences())
        self.ask(1)
        self.complete()
        self.assertEqual([], self.differences())
        scope = (self.namespace, self.release)
        revisions = helm_records.revisions(self.plane, *scope)
        self.assertFalse([each for each in revisions if each.harmful])
        self.assertEqual(before, self.all_machines())

    def a_release_in_old_versions_is_changed_and_deleted(self) -> None:
        """helm alone can neither upgrade nor uninstall it."""
        before = self.all_machines()
        newest = self.age("infrastructure.cluster.x-k8s.io/", "v1alpha7")
        self.ask(2)
        self.complete()
        now = self.all_machines()
        self.assertEqual(before, before & now)
        self.assertEqual(3, len(now))
        original = names.original(self.release, newest)
        self.assertIsNotNone(
            self.plane.get(kinds.SECRET, self.namespace, original)
        )
        self.age("cluster.x-k8s.io/", "v1alpha9")
        self.delete(self.uuid)
        self.assert_all_gone(self.release)

    def all_machines(self) -> set[str]:
        """UIDs of the machines of both parts."""
        return {*self.machines(), *self.machines("control-plane")}

    def differences(self) -> list[str]:
        """Live objects that the newest manifest would change."""
        scope = (self.namespace, self.release)
        newest = helm_records.revisions(self.plane, *scope)[-1]
        manifest = helm_records.read(self.plane, *scope, newest.version)
        assert manifest is not None
        return [
            f"{each['kind']} {view.name_of(each)}"
            for each in manifest.objects
            if self.differs(each)
        ]

    def differs(self, manifest: client.Object) -> bool:
        """Whether all webhooks let a patch with the manifest change it."""
        kind = kinds.rendered(manifest)
        assert kind is not None, manifest["kind"]
        where = (kind, self.namespace, view.name_of(manifest))
        live, change = self.plane.get(*where), diff.restoring_patch(manifest)
        if live is None or not change:
            return live is None
        after = self.plane.patch(*where, change, dry_run=True)
        return _said(after) != _said(live)

    def as_a_failed_revision(self) -> None:
        """A second revision, which helm calls failed."""
        scope = (self.namespace, self.release)
        self.ask(1)
        self.complete()
        newest = helm_records.revisions(self.plane, *scope)[-1].version
        helm_records.give_up(self.plane, *scope, newest)
        # The one before it is the last that was deployed.
        self._label(newest - 1, "deployed")

    def _label(self, version: int, status: str) -> None:
        name = f"sh.helm.release.v1.{self.release}.v{version}"
        change = {"metadata": {"labels": {"status": status}}}
        self.plane.patch(kinds.SECRET, self.namespace, name, change)

    def disturb(self) -> None:
        """What half a revision may have done, without rolling anything."""
        workers = names.machine_deployment(self.release, "default-worker")
        self.plane.patch(
            kinds.MACHINE_DEPLOYMENT,
            self.namespace,
            workers,
            {
                "spec": {
                    "template": {
                        "spec": {"deletion": {"nodeDrainTimeoutSeconds": 7}}
                    }
                },
                "metadata": {"labels": {view.CHART_CLUSTER_LABEL: "odd"}},
            },
        )
        self.plane.patch(
            kinds.CONTROL_PLANE,
            self.namespace,
            names.control_plane(self.release),
            {"spec": {"remediation": {"maxRetry": 9}}},
        )
        addon = f"{self.release}-ccm-openstack"
        # It goes when the addon provider has uninstalled it.
        self.plane.delete(kinds.HELM_RELEASE, self.namespace, addon)
        self._stray()

    def _stray(self) -> None:
        """A group that a failed revision made."""
        name = f"{self.release}-stray"
        self.plane.create(
            kinds.MANIFESTS,
            {
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "labels": {view.CHART_CLUSTER_LABEL: self.release},
                    "annotations": {
                        "meta.helm.sh/release-name": self.release,
                        "meta.helm.sh/release-namespace": self.namespace,
                    },
                },
                "spec": {
                    "clusterName": self.release,
                    "targetNamespace": "default",
                    "releaseName": "stray",
                    "bootstrap": True,
                    "manifestSources": [],
                },
            },
        )
        self.addCleanup(
            self.plane.delete, kinds.MANIFESTS, self.namespace, name
        )

    def age(self, group: str, version: str) -> int:
        """The record of the newest revision, as of another time.

        :param group: with a slash, of which all objects get ``version``
        :returns: the number of the revision
        """
        scope = (self.namespace, self.release)
        newest = helm_records.revisions(self.plane, *scope)[-1].version
        record = names.helm_record(self.release, newest)
        secret = self.plane.get(kinds.SECRET, self.namespace, record)
        assert secret is not None
        body = encoding.unpack(base64.b64decode(secret["data"]["release"]))
        body["manifest"], count = re.subn(
            # What the driver has converted is JSON.
            rf'(apiVersion"?: "?{group})v1beta\d',
            rf"\g<1>{version}",
            body["manifest"],
        )
        self.assertGreater(count, 0)
        text = base64.b64encode(encoding.pack(body).encode()).decode()
        secret["data"]["release"] = text
        self.plane.replace(kinds.SECRET, secret)
        return newest


def _said(obj: client.Object | None) -> list[Any]:
    """Return the parts of an object that a client writes."""
    return [
        view.spec_of(obj),
        view.annotations_of(obj),
        view.metadata_of(obj).get("labels"),
    ]
