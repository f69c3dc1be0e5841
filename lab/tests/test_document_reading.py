# SPDX-License-Identifier: Apache-2.0

"""A page is gone through as a reader would: one shell, and patience."""

from __future__ import annotations

import pathlib
from typing import Any

import fixtures
from oslotest import base

from lab.documents import shell
from lab.documents import waiting

CREATE = "openstack coe cluster create shop --node-count 1"
#: Nothing is to be removed, it is gone, and so it was before the command.
NOT_THERE = ("", "", "")
RESIZE = "openstack coe cluster resize shop 3"


class Cloud:
    """What Magnum shows of one cluster, look by look; the last one stays."""

    def __init__(self, *statuses: str) -> None:
        self.statuses = list(statuses)
        self.looks = 0
        self.calls: list[tuple[str, str]] = []
        self.templates: list[dict[str, str]] = []

    def find(self, name: str) -> dict[str, Any] | None:
        self.looks += 1
        status = (
            self.statuses.pop(0)
            if len(self.statuses) > 1
            else self.statuses[0]
        )
        if not status:
            return None
        return {"status": status, "status_reason": "why", "updated_at": ""}

    def call(self, method: str, path: str) -> Any:
        self.calls.append((method, path))
        return {"clustertemplates": self.templates}


class WaitingTest(base.BaseTestCase):
    def _waiting(self, *statuses: str) -> waiting.Waiting:
        self.cloud = Cloud(*statuses)
        return waiting.Waiting(self.cloud)  # type: ignore[arg-type]

    def test_a_command_that_succeeded_and_whose_cluster_failed(self) -> None:
        patient = self._waiting(*NOT_THERE, "CREATE_FAILED")
        patient.before(CREATE)
        error = self.assertRaises(waiting.NotDone, patient.before, RESIZE)
        self.assertEqual(
            f"after {CREATE!r} the cluster is CREATE_FAILED: why", str(error)
        )

    def test_a_change_waits_for_what_is_under_way(self) -> None:
        patient = self._waiting(
            *NOT_THERE, "CREATE_IN_PROGRESS", "CREATE_COMPLETE"
        )
        patient.before(CREATE)
        patient.before(RESIZE)
        self.assertEqual(["CREATE_COMPLETE"], self.cloud.statuses)
        self.assertEqual([], self.cloud.calls)

    def test_who_looks_or_deletes_does_not_wait(self) -> None:
        patient = self._waiting(*NOT_THERE, "CREATE_IN_PROGRESS")
        patient.before(CREATE)
        before = self.cloud.looks
        patient.before("openstack coe cluster show shop")
        self.assertEqual(before, self.cloud.looks)
        patient.before("openstack coe cluster delete shop")
        # How it is before the command.
        self.assertEqual(before + 1, self.cloud.looks)

    def test_another_example_of_a_name_takes_its_place(self) -> None:
        patient = self._waiting("CREATE_COMPLETE", "DELETE_IN_PROGRESS", "")
        patient.before(CREATE)
        self.assertEqual([("DELETE", "/clusters/shop")], self.cloud.calls)

    def test_another_template_of_a_name_waits_for_its_clusters(self) -> None:
        patient = self._waiting(*NOT_THERE, "CREATE_COMPLETE", "")
        template = "openstack coe cluster template create small"
        patient.before(template)
        patient.before(CREATE)
        self.cloud.templates = [{"name": "small", "uuid": "2"}]
        self.cloud.statuses = [
            *("CREATE_COMPLETE", "CREATE_COMPLETE"),
            *("CREATE_COMPLETE", "CREATE_COMPLETE", ""),
        ]
        patient.before(template)
        deleted = [path for verb, path in self.cloud.calls if verb != "GET"]
        self.assertEqual(["/clusters/shop", "/clustertemplates/2"], deleted)

    def test_what_a_page_made_is_removed(self) -> None:
        patient = self._waiting(*NOT_THERE, "CREATE_COMPLETE", "")
        self.cloud.templates = [{"name": "other", "uuid": "1"}]
        patient.before("openstack coe cluster template create small")
        patient.before(CREATE)
        self.cloud.templates.append({"name": "small", "uuid": "2"})
        patient.clean_up()
        deleted = [
            path for method, path in self.cloud.calls if method != "GET"
        ]
        self.assertEqual(["/clusters/shop", "/clustertemplates/2"], deleted)


class ShellTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.bash = shell.Shell(self.home, {"PATH": "/usr/bin:/bin"})
        self.addCleanup(self.bash.__exit__, None, None, None)

    def test_variables_and_directories_stay(self) -> None:
        self.bash.run("mkdir ~/there && cd there && export NAME=shop")
        self.assertEqual(
            (0, f"{self.home}/there shop\n"),
            self.bash.run("echo $PWD $NAME"),
        )

    def test_a_command_tells_its_exit_code_and_all_that_it_says(self) -> None:
        self.assertEqual(
            (3, "out\nerror\n"),
            self.bash.run("echo out; (echo error >&2; exit 3)"),
        )

    def test_the_first_of_a_pipe_may_not_fail(self) -> None:
        self.assertEqual((1, ""), self.bash.run("false | cat"))

    def test_nobody_types_anything(self) -> None:
        self.assertEqual((0, ""), self.bash.run("cat"))

    def test_a_here_document_is_what_a_command_reads(self) -> None:
        self.assertEqual((0, "a\n"), self.bash.run("cat <<EOF\na\nEOF"))

    def test_a_command_that_takes_too_long_is_an_error(self) -> None:
        error = self.assertRaises(
            TimeoutError, self.bash.run, "echo begun; sleep 60", 0.2
        )
        self.assertIn("sleep 60", str(error))
