# SPDX-License-Identifier: Apache-2.0

"""The table of the cloud's faults."""

import json
import pathlib
import tempfile
import unittest

from lab import fault_table

_RELEASE = "c-0a1b2c-0123456789ab"
_PROJECT = "0123456789abcdef0123456789abcdef"


class TableTest(unittest.TestCase):
    def test_the_last_run_counts_and_generated_names_are_short(self) -> None:
        row = {
            "fault": "Nova's quota of cores",
            "where": "workers",
            "said": "Quota exceeded for cores",
            "status": "UPDATE_IN_PROGRESS",
            "reason": f"machine {_RELEASE}-cores-abcde-fghij: `quota`",
            "health": "UNKNOWN: nodegroup.cores: changing",
            "polls": 2,
            "over": "gone after 3 s",
        }
        balancer = {
            **row,
            "fault": "a load balancer",
            "reason": f"load balancer k8s-magnum-{_PROJECT}-{_RELEASE}-kubeapi"
            " with id 01234567-89ab-cdef-0123-456789abcdef",
            "health": "",
            "silent": 60,
        }
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, fault_table.ROWS)
            lines = ({**row, "polls": 9}, row, balancer)
            path.write_text("".join(f"{json.dumps(e)}\n" for e in lines))
            text = fault_table.table(fault_table.read("", path))
        _, _, body = text.partition("When it is over\n")
        self.assertEqual(
            """\
   * - a load balancer, workers
     - ``Quota exceeded for cores``
     - UPDATE_IN_PROGRESS
     - ``load balancer k8s-NS-R-kubeapi with id ID``
     -
     - 2, after 60 s
     - gone after 3 s
   * - Nova's quota of cores, workers
     - ``Quota exceeded for cores``
     - UPDATE_IN_PROGRESS
     - ``machine R-cores-X: 'quota'``
     - ``UNKNOWN: nodegroup.cores: changing``
     - 2
     - gone after 3 s
""",
            body,
        )

    def test_rows_that_did_not_run_stay(self) -> None:
        page = fault_table.PAGE.read_text()
        self.assertEqual(page, fault_table.table(fault_table.read(page)))
        self.assertIn("Nova's quota of cores", page)
