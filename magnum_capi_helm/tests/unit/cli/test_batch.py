# SPDX-License-Identifier: Apache-2.0

"""Commands that change many clusters."""

from __future__ import annotations

import argparse
import datetime
import io
import json
import pathlib
import threading
import time
from typing import Any
import uuid

import fixtures
from oslotest import base as oslotest

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import batch
from magnum_capi_helm.cli import main
from magnum_capi_helm.database import rows
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base


class Paint(batch.Batch):
    """Paints clusters; what is red is refused, what is wet fails."""

    action = "paint"
    pause = 0.0
    painted: list[str]
    looks: dict[str, list[str]]
    meeting: threading.Barrier | None

    def plan(self, row: Any, parsed_args: argparse.Namespace) -> batch.Change:
        """One is painted once."""
        if "red" in row.name:
            raise errors.NotSupported(f"cluster {row.name} is red")
        if row.name in self.painted:
            return batch.Change()
        return batch.Change(
            "becomes blue",
            make=lambda: self._make(row),
            unfinished=lambda: self._look(row),
            machines=lambda: {f"m{self.painted.count(row.name)}", "kept"},
        )

    def _make(self, row: Any) -> None:
        if "wet" in row.name:
            raise errors.HelmError("the paint is wet")
        if "last" in row.name:
            rows.find_cluster("lost").destroy()
        self.painted.append(row.name)

    def _look(self, row: Any) -> str:
        if self.meeting:
            self.meeting.wait()
        left = self.looks.get(row.name, [])
        return left.pop(0) if len(left) > 1 else "".join(left)


class WindowTest(oslotest.BaseTestCase):
    def test_each_window_has_its_begin_and_not_its_end(self) -> None:
        for begin, end, inside, outside in (
            ("22:00", "04:00", "22:00 23:59 00:00 03:59", "21:59 04:00 12:00"),
            ("09:30", "17:00", "09:30 12:00 16:59", "09:29 17:00 23:00 00:00"),
            ("22:00", "24:00", "22:00 23:59", "21:59 00:00"),
            ("00:00", "24:00", "00:00 12:00 23:59", ""),
            ("07:00", "07:00", "00:00 06:59 07:00 23:59", ""),
        ):
            times = [*inside.split(), *outside.split()]
            self.assertEqual(
                inside.split(),
                [each for each in times if batch.is_open(begin, end, each)],
                f"{begin} to {end}",
            )


class FleetTest(base.FlowTestCase):
    """Five clusters of two projects."""

    def setUp(self) -> None:
        super().setUp()
        self.err = io.StringIO()
        Paint.painted, Paint.looks, Paint.meeting = [], {}, None

    def clusters(self, *names: str, **fields: Any) -> None:
        template = self.template()
        for name in names:
            self.cluster(
                name=name,
                uuid=str(uuid.uuid4()),
                **{
                    "cluster_template_id": template.uuid,
                    "status": "CREATE_COMPLETE",
                    **fields,
                },
            ).create()

    def run_on(
        self, *argv: str, **attributes: Any
    ) -> tuple[int, list[tuple[str, str]]]:
        code, self.found = command_case.run_json(
            Paint, *argv, err=self.err, **attributes
        )
        return code, [(each["Cluster"], each["Result"]) for each in self.found]

    def test_without_apply_it_is_only_shown(self) -> None:
        self.clusters("b", "a", "red")
        code, lines = self.run_on("--all")
        self.assertEqual(
            [("a", "would change"), ("b", "would change"), ("red", "refused")],
            lines,
        )
        self.assertEqual(1, code)
        self.assertEqual([], Paint.painted)
        self.assertEqual("cluster red is red", self.found[2]["Detail"])
        self.assertEqual(
            "2 would change, 1 refused\n"
            "nothing was written: add --apply to make these changes\n",
            self.err.getvalue(),
        )

    def test_each_cluster_of_a_run_has_its_result(self) -> None:
        Paint.painted = ["painted"]
        for names, options, code, results in (
            ("painted p", "", 0, "nothing to do, changed"),
            ("red r", "", 1, "refused, changed"),
            # Made by the first change: the second cluster is gone.
            ("last lost", "", 0, "changed, nothing to do"),
            ("a b-wet c d", "", 1, "changed, failed, not tried, not tried"),
            (
                "e-wet f g-wet h",
                "--stop-after 2",
                1,
                "failed, changed, failed, not tried",
            ),
        ):
            self.clusters(*names.split())
            argv = f"{names} --apply {options}".split()
            found = [*zip(names.split(), results.split(", "), strict=True)]
            self.assertEqual((code, found), self.run_on(*argv), names)

    def test_clusters_begin_within_the_window_alone(self) -> None:
        self.clusters("a", "b", "c")
        order = ("--all", "--from", "22:00", "--to", "04:00")
        self.assertEqual(
            (0, [(each, "would change") for each in "abc"]),
            self.run_on(*order, clock=lambda: "12:00"),
        )
        # Before each plan, and before each change.
        clock = iter(["22:00", "23:59", "03:59", "04:00", "04:01"])
        self.assertEqual(
            (0, [("a", "changed"), ("b", "postponed"), ("c", "postponed")]),
            self.run_on(*order, "--apply", clock=lambda: next(clock)),
        )
        self.assertEqual(["a"], Paint.painted)
        self.assertEqual(
            "the window is 22:00 to 04:00 UTC", self.found[1]["Detail"]
        )

    def test_the_clock_is_that_of_utc(self) -> None:
        with fixtures.EnvironmentVariable("TZ", "Asia/Tokyo"):
            time.tzset()
            now = datetime.datetime.now(datetime.timezone.utc)
            found = Paint.clock()
        time.tzset()
        minutes = (now, now + datetime.timedelta(minutes=1))
        self.assertIn(found, [f"{each:%H:%M}" for each in minutes])

    def test_each_begin_and_each_result_is_recorded(self) -> None:
        self.clusters("a", "b-wet", "c")
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = home / "record"
        order = ("--all", "--record", str(file))
        self.run_on(*order)
        self.assertFalse(file.exists())
        self.run_on(*order, "--apply")
        lines = [json.loads(each) for each in file.read_text().splitlines()]
        times = [each.pop("time") for each in lines]
        self.assertEqual(sorted(times), times)
        uuids = {each["Cluster"]: each["UUID"] for each in self.found}
        self.assertEqual(
            [
                {
                    "name": name,
                    "uuid": uuids[name],
                    "project": "fake_project",
                    "result": result,
                    "detail": detail,
                    **more,
                }
                for name, result, detail, more in (
                    ("a", "begun", "becomes blue", {}),
                    (
                        *("a", "changed", "becomes blue"),
                        {"seconds": 0, "machines": 1},
                    ),
                    ("b-wet", "begun", "becomes blue", {}),
                    (
                        *("b-wet", "failed", "the paint is wet"),
                        {"seconds": 0, "machines": 0},
                    ),
                    (
                        "c",
                        "not tried",
                        "another cluster failed before",
                        {"seconds": 0},
                    ),
                )
            ],
            lines,
        )

    def test_a_record_that_cannot_be_written_lets_nothing_begin(self) -> None:
        self.clusters("a", "b")
        order = ("--all", "--apply", "--record", "/nowhere/record")
        self.assertRaises(FileNotFoundError, self.run_on, *order)
        self.assertEqual([], Paint.painted)

    def test_each_step_and_reason_is_printed_once(self) -> None:
        self.clusters("a", "b")
        Paint.looks = {"a": ["1 of 2", "1 of 2", "drying", ""], "b": ["", ""]}
        self.run_on("--all", "--apply")
        self.assertEqual(
            "a: becomes blue\na: 1 of 2\na: drying\n"
            "a: changed becomes blue (1 of 2)\n"
            "b: becomes blue\nb: changed becomes blue (2 of 2)\n"
            "2 changed\n",
            self.err.getvalue(),
        )

    def wait(self, seconds: float, *looks: str | Exception) -> None:
        """A change of which each look finds the next."""
        left = iter(looks)

        def look() -> str:
            found = next(left)
            if isinstance(found, Exception):
                raise found
            return found

        change = batch.Change("x", unfinished=look)
        Paint(main.Application(), None)._wait("a", change, seconds)
        self.assertEqual([], list(left))

    def test_a_passing_error_is_waited_for(self) -> None:
        for passing in (
            "drying",
            errors.CloudUnreachable("Keystone does not answer"),
            errors.ManagementUnreachable("cut off"),
            errors.Conflict("somebody was first"),
            errors.LeaseHeld("a conductor works on it"),
        ):
            self.wait(60.0, passing, "drying", passing, "")
            error = self.assertRaises(
                errors.CapiHelmError, self.wait, 0.0, *[passing] * 1000
            )
            self.assertEqual(
                f"not complete after 0 minutes: {passing}", str(error)
            )

    def test_a_lasting_error_fails_at_once(self) -> None:
        for lasting in (
            errors.Frozen("the management cluster", "moving"),
            errors.CloudError("Keystone does not let you"),
            errors.ManagementError("the Secret is damaged"),
        ):
            self.assertRaises(type(lasting), self.wait, 60.0, lasting, "")

    def test_several_clusters_are_changed_at_a_time(self) -> None:
        self.clusters("a", "b")
        # Two threads may not share the one connection of the tests' SQLite.
        self.useFixture(
            fixtures.MockPatchObject(rows, "fresh", lambda _context, row: row)
        )
        # One alone would wait here for ever.
        Paint.meeting = threading.Barrier(2, timeout=20)
        self.assertEqual(
            (0, [("a", "changed"), ("b", "changed")]),
            self.run_on("--all", "--apply", "--parallel", "2"),
        )

    def test_clusters_are_chosen_in_one_way(self) -> None:
        self.clusters("a")
        self.clusters("b", project_id="p2")
        self.clusters("c", status="DELETE_IN_PROGRESS")
        self.clusters("z", status="UPDATE_IN_PROGRESS")
        other = self.template(driver="k8s_fedora_coreos_v1")
        self.clusters("heat", cluster_template_id=other.uuid)
        for argv, names in (
            ("--all", "zab"),
            ("--project p2", "b"),
            ("b a b", "ba"),
            ("c", "c"),
        ):
            _, lines = self.run_on(*argv.split())
            self.assertEqual([*names], [name for name, _ in lines])
        for wrong in ("", "a --all", "a --project p2", "--all --project p2"):
            self.assertRaises(errors.InvalidInput, self.run_on, *wrong.split())

    def test_each_change_is_logged_with_who_made_it(self) -> None:
        self.clusters("a", "b-wet")
        self.run_on("--all", "--apply")
        who = commands.operator("paint")
        self.assertRegex(str(who), r"^paint, user \S+@\S+$")
        rows = {each["Cluster"]: each["UUID"] for each in self.found}
        for name, became in (("a", "accepted"), ("b-wet", "refused")):
            self.assertIn(
                f"audit: cluster {rows[name]}: {became}: {who}",
                self.log.output,
            )
        self.assertIsNone(call.actor())

    def test_whoever_has_no_name_is_told_by_number(self) -> None:
        for each in ("SUDO_USER", "LOGNAME", "USER", "LNAME", "USERNAME"):
            self.useFixture(fixtures.EnvironmentVariable(each, None))
        # What Python says of a uid without an entry, until 3.12 and since.
        for error in (KeyError, OSError):

            def unknown(_: int, error: type[Exception] = error) -> None:
                raise error("uid not found")

            self.useFixture(fixtures.MonkeyPatch("pwd.getpwuid", unknown))
            self.useFixture(fixtures.MonkeyPatch("os.getuid", lambda: 54321))
            who = commands.operator("paint")
            self.assertRegex(str(who), r"^paint, user uid 54321@\S+$")

    def test_only_times_and_counts_are_taken(self) -> None:
        parser = Paint(main.Application(), None).get_parser("test")
        times = ("", "22", "7:00", "12:60", "24:01", "22:00Z", "²²:00")
        for option, wrong in (
            ("--from", times),
            ("--to", times),
            ("--parallel", ("0", "-1", "two", "1.5", "²")),
        ):
            for text in wrong:
                self.assertRaises(
                    SystemExit, parser.parse_args, ["a", option, text]
                )
        for text in ("00:00", "09:59", "24:00"):
            options = parser.parse_args(["a", "--to", text])
            self.assertEqual(text, options.to)
