# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import os
import pathlib

from lab import cli
from lab import debian
from lab import layout
from lab import registry
from lab import service
from lab.commands import down
from lab.horizon import build
from lab.horizon import dashboard
from lab.tests import base


class _HorizonCase(base.LabCase):
    def was_started(self) -> None:
        (self.folder / "horizon.pid").write_text("1 (a) S 0 0 0")


class InUseTest(_HorizonCase):
    def test_nobody_has_it_who_did_not_ask(self) -> None:
        self.assertFalse(registry.horizon_in_use())
        self.assertNotIn("horizon", self.names())

    def test_from_then_on_status_tells_of_it(self) -> None:
        self.was_started()
        self.assertTrue(registry.horizon_in_use())
        self.assertIn("horizon", self.names())

    def test_it_is_taken_down_by_itself(self) -> None:
        stopped: list[str] = []
        self.replace(down.virtualenv, "usable", lambda: True)

        def stop(one: service.Service) -> bool:
            stopped.append(one.name)
            return True

        self.replace(service.Service, "stop", stop)
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            down.run(horizon=True)
        self.assertEqual(["horizon"], stopped)
        self.assertEqual("Horizon is down.\n", told.getvalue())

    def test_one_part_is_taken_down_at_a_time(self) -> None:
        with (
            self.assertRaises(SystemExit),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            cli.parser().parse_args(["down", "--ha", "--horizon"])


class StepsTest(_HorizonCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(layout, "HORIZON_VENV", self.folder / "venv")
        self.replace(build, "FOLDER", self.folder / "horizon")
        self.replace(build, "PYTHON", self.folder / "none")

    def needs(self) -> dict[str, set[str]]:
        return {step.name: set(step.needs) for step in dashboard.todo()}

    def test_packages_then_static_files_then_the_service(self) -> None:
        self.replace(os, "getuid", lambda: 1000)
        self.assertEqual(
            {
                "Horizon's packages": set(),
                "Horizon's static files": {"Horizon's packages"},
                "horizon": {"Horizon's static files"},
            },
            self.needs(),
        )

    def test_root_gets_a_browser_after_other_packages_of_debian(self) -> None:
        self.replace(dashboard, "CHROMIUM", self.folder / "none")
        self.replace(debian, "installable", lambda: True)
        self.assertEqual({"Debian packages"}, self.needs()["Chromium"])

    def test_who_is_not_root_runs_it_and_is_told_what_tests_lack(self) -> None:
        self.replace(dashboard, "CHROMIUM", self.folder / "none")
        self.replace(dashboard, "_FONT", self.folder)
        self.replace(os, "getuid", lambda: 1000)
        self.assertNotIn("Chromium", self.needs())
        self.assertEqual(
            "  Horizon:    http://127.0.0.1:8880/"
            " (demo or admin, password lab)\n"
            "  No browser for its tests; as root:"
            " apt-get install -y --no-install-recommends chromium",
            dashboard.advice(),
        )

    def test_with_a_browser_there_is_nothing_to_tell(self) -> None:
        self.replace(dashboard, "CHROMIUM", self.folder)
        self.replace(dashboard, "_FONT", self.folder)
        self.assertNotIn("root", dashboard.advice())
        self.assertEqual([], dashboard.without_browser())


class BuildTest(_HorizonCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(layout, "HORIZON_VENV", self.folder / "venv")
        self.replace(build, "FOLDER", self.folder / "horizon")
        self.replace(build, "PYTHON", self.folder)
        self.requirements = self.folder / "requirements.txt"
        self.requirements.write_text("horizon==27.0.0\n")
        self.replace(build, "_REQUIREMENTS", self.requirements)
        self.ran: list[str] = []
        self.replace(build.tools, "run", self.run_)
        self.replace(
            build.virtualenv, "create", lambda folder, log: self.folder
        )

    def run_(self, argv: list[object], **_: object) -> None:
        self.ran.append(" ".join(map(str, argv)))

    def test_what_is_built_is_built_once(self) -> None:
        self.assertFalse(build.packages_ready())
        build.install()
        self.assertTrue(build.packages_ready())
        self.assertFalse(build.static_ready())
        build.make_static()
        self.assertTrue(build.static_ready())
        self.assertEqual(3, len(self.ran), self.ran)

    def test_other_packages_are_installed_and_make_other_files(self) -> None:
        build.install()
        build.make_static()
        self.requirements.write_text("horizon==28.0.0\n")
        self.assertFalse(build.packages_ready())
        build.install()
        self.assertFalse(build.static_ready())

    def test_a_running_one_is_outdated_by_them(self) -> None:
        self.assertIn(self.requirements, dashboard.server().inputs())

    def test_its_key_is_its_owners_alone_and_stays(self) -> None:
        build.write_key()
        key = self.folder / "horizon" / "secret_key"
        first = key.read_text()
        self.assertEqual(0o600, key.stat().st_mode & 0o777)
        self.assertGreater(len(first), 40)
        build.write_key()
        self.assertEqual(first, key.read_text())

    def test_it_listens_on_loopback_alone(self) -> None:
        script = pathlib.Path(dashboard.server().argv[2])
        self.assertIn('("127.0.0.1", int(', script.read_text())
