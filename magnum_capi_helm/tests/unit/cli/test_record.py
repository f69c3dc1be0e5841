# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import datetime
import json
import pathlib
from typing import Any

import fixtures

from magnum_capi_helm.cli import record
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base


class RecordTest(base.NodegroupTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.file = (
            pathlib.Path(self.useFixture(fixtures.TempDir()).path) / "r"
        )

    def lines(self) -> list[dict[str, Any]]:
        return [
            json.loads(each) for each in self.file.read_text().splitlines()
        ]

    def test_two_processes_append_lines_to_the_same_file(self) -> None:
        row = self.row()
        for event in ("begun", "changed"):
            record.Record(str(self.file)).add(row, event, seconds=3)
        lines = self.lines()
        times = [
            datetime.datetime.fromisoformat(each.pop("time")) for each in lines
        ]
        self.assertEqual(
            [datetime.timedelta(0)] * 2, [e.utcoffset() for e in times]
        )
        about = {
            "cluster": "web",
            "uuid": base.UUID,
            "project": "fake_project",
            "seconds": 3,
        }
        self.assertEqual(
            [{**about, "event": "begun"}, {**about, "event": "changed"}], lines
        )

    def test_files_that_cannot_be_written_are_refused(self) -> None:
        path = self.file / "missing"
        error = self.assertRaises(
            errors.InvalidInput, record.Record, str(path)
        )
        self.assertEqual(
            f"--record {path}: give a file that you can write (No such "
            "file or directory)",
            str(error),
        )

    def test_machines_are_read_for_a_record_alone(self) -> None:
        machines = self.server.list(kinds.MACHINE, base.NAMESPACE)
        uids = {each["metadata"]["uid"] for each in machines}
        self.assertEqual(3, len(uids))
        kept = record.Record(str(self.file))
        self.assertEqual(uids, kept.machines(self.row()))
        self.assertIsNone(record.Record(None).machines(self.row()))

    def test_machines_that_cannot_be_read_are_unknown(self) -> None:
        self.management.unreachable()
        kept = record.Record(str(self.file))
        self.assertIsNone(kept.machines(self.row()))
