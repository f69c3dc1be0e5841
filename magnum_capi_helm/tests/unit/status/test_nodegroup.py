# SPDX-License-Identifier: Apache-2.0

"""Counters and addresses of a nodegroup's machines."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import nodegroup
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import shapes


class ReplicasTest(base.BaseTestCase):
    def test_counters_of_each_generation(self) -> None:
        for shape in shapes.GENERATIONS:
            workers = core_objects.workers(
                shape, 5, existing=4, up_to_date=3, ready=2
            )
            self.assertEqual(
                nodegroup.Replicas(5, 4, 3, 2), nodegroup.replicas(workers)
            )

    def test_what_the_object_does_not_say_counts_as_none(self) -> None:
        silent = {"spec": {"replicas": 2}, "status": {"replicas": 2}}
        self.assertEqual(
            nodegroup.Replicas(2, 2, 0, 0), nodegroup.replicas(silent)
        )


class AddressesTest(base.BaseTestCase):
    def test_one_for_each_machine_internal_before_external(self) -> None:
        def machine(*addresses: tuple[str, str]) -> view.Object:
            return {
                "status": {
                    "addresses": [
                        {"type": kind, "address": address}
                        for kind, address in addresses
                    ]
                }
            }

        self.assertEqual(
            ["192.168.3.5", "203.0.113.7", "192.168.3.8"],
            machine_status.addresses(
                [
                    machine(
                        ("ExternalIP", "203.0.113.5"),
                        ("InternalIP", "192.168.3.5"),
                        ("InternalIP", "192.168.9.9"),
                    ),
                    machine(("InternalDNS", "w-1")),
                    machine(("ExternalIP", "203.0.113.7")),
                    {},
                    machine(("InternalIP", "192.168.3.8")),
                ]
            ),
        )
