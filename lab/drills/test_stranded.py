# SPDX-License-Identifier: Apache-2.0

"""A management cluster that does not serve what a release names."""

from __future__ import annotations

import base64
from typing import Any

from lab.drills import planes
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names

_OLD, _NEW = (
    f"infrastructure.cluster.x-k8s.io/{each}"
    for each in ("v1alpha7", "v1beta1")
)


class StrandedTest(planes.PlaneCase):
    """A version that is gone, with which newer charts have nothing to do."""

    record = "stranded"

    def test_an_old_chart_after_an_upgrade_of_capo(self) -> None:
        # It is deleted after the cluster that has it by then.
        newer = self.template()
        old = self.template(labels={"capi_helm_chart_version": "0.26.1"})
        shop = self.made("shop", old)
        machines = self.machines(shop)
        self._age(shop)
        self.tell(
            "cluster shop, two machines; its last manifest names "
            f"{_OLD}, as charts up to 0.10.1 do; CAPO serves v1beta1"
        )
        self._upgraded(shop, newer)
        self.assertEqual(machines, self.machines(shop))
        self.tell("the same two machines as before")
        self.resize(shop, 2)
        now = self.machines(shop)
        self.assertLess(machines.items(), now.items())
        self.assertEqual(3, len(now))
        self.tell("$ openstack coe cluster resize shop 2: UPDATE_COMPLETE")
        self._age(shop)
        self.deleted(shop)

    def _upgraded(self, cluster: str, template: str) -> None:
        release = self.release(cluster)
        newest = helm_records.revisions(self.plane, self.namespace, release)[
            -1
        ]
        self.upgrade(cluster, template)
        row = self.ended(cluster)
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
        self.tell("$ openstack coe cluster upgrade shop TEMPLATE, of chart")
        self.tell("  0.27.0 and the same image: UPDATE_COMPLETE")
        self.tells_history(release)
        kept = names.original(release, newest.version)
        self.assertIsNotNone(
            self.plane.get(kinds.SECRET, self.namespace, kept)
        )
        self.tell("what helm had written is in Secret shop-...-revision-1")

    def _age(self, cluster: str) -> None:
        """Its newest record, as a chart of other times made it."""
        release = self.release(cluster)
        newest = helm_records.revisions(self.plane, self.namespace, release)[
            -1
        ]
        record = names.helm_record(release, newest.version)
        secret: Any = self.plane.get(kinds.SECRET, self.namespace, record)
        body = encoding.unpack(base64.b64decode(secret["data"]["release"]))
        self.assertIn(f"apiVersion: {_NEW}", body["manifest"])
        body["manifest"] = body["manifest"].replace(
            f"apiVersion: {_NEW}", f"apiVersion: {_OLD}"
        )
        text = base64.b64encode(encoding.pack(body).encode()).decode()
        secret["data"]["release"] = text
        self.plane.replace(kinds.SECRET, secret)
