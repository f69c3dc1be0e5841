# SPDX-License-Identifier: Apache-2.0

"""No release is complete by a stale generation, or against new conditions."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes


class StaleClusterTest(base.BaseTestCase):
    def test_a_cluster_of_a_stale_generation_is_not_available(self) -> None:
        for shape in shapes.GENERATIONS:
            stale = core_objects.cluster(shape, observed=1)
            seen = releases.complete(shape, cluster=stale)
            self.assertFalse(releases.verdict(seen).complete, shape)


class NewConditionsTest(base.BaseTestCase):
    def test_a_group_that_moves_is_not_done_whatever_it_counts(self) -> None:
        found = {}
        for shape in (shapes.BOTH, shapes.V1BETA2):
            for name in ("RollingOut", "ScalingUp", "Remediating"):
                moving = core_objects.workers(
                    shape, new={name: ("True", "", "")}
                )
                seen = releases.complete(shape, deployments=(moving,))
                found[shape, name] = releases.verdict(seen).reason
        text = "nodegroup default-worker: 2 of 2 machines ready, "
        self.assertEqual(
            {key: text + key[1] for key in found},
            found,
        )

    def test_counters_of_the_new_contract_beat_those_of_the_old(self) -> None:
        # readyReplicas counts ready nodes there, and ready Machines here.
        workers = core_objects.workers(shapes.BOTH, ready=1)
        workers["status"]["readyReplicas"] = 2
        seen = releases.complete(shapes.BOTH, deployments=(workers,))
        self.assertEqual(
            "nodegroup default-worker: 1 of 2 machines ready",
            releases.verdict(seen).reason,
        )

    def test_a_new_object_without_status_is_not_available(self) -> None:
        for shape in shapes.GENERATIONS:
            cluster = core_objects.cluster(shape)
            cluster["status"] = {"observedGeneration": 2}
            seen = releases.complete(shape, cluster=cluster)
            self.assertEqual(
                "cluster: not available yet", releases.verdict(seen).reason
            )
