# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import unittest

from bench import operation_log

_LOG = """\
22:46 INFO magnum_capi_helm.lifecycle.resize [None] resized release web-1: \
driver 0.105 s, helm 2.998 s
22:47 INFO magnum_capi_helm.operations.operation [None] release web-1 in \
magnum-a: helm 2.998 s
22:48 INFO magnum_capi_helm.lifecycle.create [None] created release web-2 in \
magnum-a: driver 0.250 s, helm 1.500 s (1 processes), OpenStack 0.400 s (9 \
requests)
22:49 INFO magnum_capi_helm.lifecycle.create [None] created release web-3 in \
magnum-a: driver 0.350 s, helm 1.700 s (1 processes)
"""


class OperationLogTest(unittest.TestCase):
    def test_lines_of_operations_are_read_and_no_others(self) -> None:
        self.assertEqual(
            [
                ("resized", "web-1", 0.105, 2.998, None),
                ("created", "web-2", 0.25, 1.5, 1),
                ("created", "web-3", 0.35, 1.7, 1),
            ],
            [
                (
                    each.verb,
                    each.release,
                    each.driver,
                    each.helm,
                    each.processes,
                )
                for each in operation_log.parse(_LOG.splitlines())
            ],
        )

    def test_medians_stand_for_each_kind_of_operation(self) -> None:
        self.assertEqual(
            [
                "resized: 1 times, driver 0.105 s, helm 2.998 s, "
                "helm processes not logged",
                "created: 2 times, driver 0.300 s, helm 1.600 s, "
                "helm processes 1",
            ],
            operation_log.summary(operation_log.parse(_LOG.splitlines())),
        )
