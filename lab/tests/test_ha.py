# SPDX-License-Identifier: Apache-2.0

import os

from lab import errors
from lab import layout
from lab import registry
from lab.commands import up
from lab.ha import everything
from lab.ha import magnum
from lab.ha import mariadb
from lab.ha import packages
from lab.ha import rabbitmq
from lab.tests import base

_PROGRAMS = {
    "mariadb",
    "epmd",
    "rabbitmq",
    "magnum-conductor-1",
    "magnum-conductor-2",
    "magnum-conductor-3",
    "magnum-api",
}


class InUseTest(base.LabCase):
    def test_one_process_until_somebody_asks_for_more(self) -> None:
        self.assertFalse(registry.ha_in_use())
        self.assertIn("magnum", self.names())
        self.assertFalse(_PROGRAMS & self.names())

    def test_from_then_on_its_own_programs_in_its_place(self) -> None:
        (self.folder / "rabbitmq.pid").write_text("1 (a) S 0 0 0")
        self.assertTrue(registry.ha_in_use())
        self.assertNotIn("magnum", self.names())
        self.assertLess(_PROGRAMS, self.names())

    def test_they_are_taken_down_by_themselves(self) -> None:
        found = registry.chosen(None, only_ha=True)
        self.assertEqual(_PROGRAMS, {one.name for one in found})


class StepsTest(base.LabCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(mariadb, "DATA", self.folder / "none")
        self.replace(packages, "MARIADB", self.folder / "none")

    def test_all_is_made_before_it_is_used(self) -> None:
        steps = {step.name: step for step in everything.todo(["keystone"])}
        done: list[str] = []
        left = dict(steps)
        while left:
            free = [
                name
                for name, step in left.items()
                if not step.needs & left.keys()
            ]
            self.assertTrue(free, left)
            done += free
            for name in free:
                del left[name]
        self.assertLess(_PROGRAMS, set(done))
        order = [
            "Debian packages",
            "MariaDB's folder",
            "mariadb",
            "Magnum's tables",
            "magnum-conductor-1",
        ]
        self.assertEqual(order, [name for name in done if name in order])
        self.assertIn("keystone", steps["magnum-api"].needs)

    def test_the_one_process_is_not_started_beside_them(self) -> None:
        names = {step.name for step in up._cloud(ha=True)}
        self.assertNotIn("magnum", names)
        self.assertIn("magnum-api", names)


class PackagesTest(base.LabCase):
    def test_who_is_not_root_is_told_what_to_install(self) -> None:
        self.replace(packages, "MARIADB", self.folder / "none")
        self.replace(packages, "RABBITMQ", self.folder)
        self.replace(packages, "FAKETIME", self.folder)
        self.replace(os, "getuid", lambda: 1000)
        with self.assertRaises(errors.LabError) as caught:
            packages.install()
        self.assertEqual(
            "not installed: mariadb-server", caught.exception.message
        )
        self.assertEqual(
            "As root: apt-get install -y --no-install-recommends"
            " mariadb-server",
            caught.exception.hint,
        )


class ConfigurationTest(base.LabCase):
    def test_each_has_a_short_name_and_a_log_of_its_own(self) -> None:
        (self.folder / "cloud" / "magnum").mkdir(parents=True)
        magnum.write()
        for number in (1, 2, 3):
            name = f"magnum-conductor-{number}"
            path = self.folder / "cloud" / "magnum" / f"{name}.conf"
            self.assertEqual(
                "[DEFAULT]\n"
                f"host = conductor-{number}\n"
                f"log_file = {layout.log(name)}\n",
                path.read_text(),
            )

    def test_everything_listens_on_loopback_alone(self) -> None:
        for one in (mariadb.server(), *rabbitmq.services()):
            text = " ".join([*one.argv, *one.env.values()])
            self.assertRegex(text, r"127[.,]0[.,]0[.,]1", one.name)
