# SPDX-License-Identifier: Apache-2.0

"""Of several management clusters one is frozen."""

from __future__ import annotations

import time

from magnum.common import exception

from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing


class SeveralTest(placing.LocationTestCase):
    """Of two management clusters one is frozen."""

    def freeze(self, name: str) -> None:
        rt = self.planes[name].runtime("operator")
        rt.maintenance.freeze("etcd moves", "op@host", time.time())
        for each in self.planes.values():
            each.clock.advance(6)

    def test_a_new_cluster_goes_to_one_that_is_not_frozen(self) -> None:
        for frozen, other in (("a", "b"), ("b", "a")):
            self.restart()
            self.freeze(frozen)
            self.make(on="")
            self.assertTrue(self.there(other))
            self.assertFalse(self.there(frozen))
            self.planes[frozen].runtime("operator").maintenance.thaw(
                time.time()
            )
            self.settle(other)
            self.poll()
            self.delete()
            self.poll()
            api = self.planes[other].cluster_api(base.NAMESPACE, base.RELEASE)
            api.finish()
            self.poll()

    def test_a_template_that_names_the_frozen_one_is_refused(self) -> None:
        self.freeze("b")
        error = self.assertRaises(exception.NotSupported, self.make)
        self.assertIn("the management cluster b is frozen", str(error))
        self.assertIsNone(self.row().stack_id)

    def test_clusters_of_the_other_are_changed_as_ever(self) -> None:
        self.made()
        self.freeze("a")
        self.resize(3)
        self.settle()
        self.poll()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)
