# SPDX-License-Identifier: Apache-2.0

"""An older Magnum in the place of the lab's own."""

import argparse
import pathlib

from lab import errors
from lab import layout
from lab import magnums
from lab import main
from lab import virtualenv
from lab.ha import everything
from lab.ha import magnum
from lab.ha import mariadb
from lab.ha import packages
from lab.ha import trustees
from lab.tests import base


def _programs() -> dict[str, pathlib.Path]:
    """Service -> the folder of its program."""
    return {
        one.name: pathlib.Path(one.argv[0]).parent for one in magnum.services()
    }


def _options() -> str:
    magnum.write()
    return (layout.CLOUD / "magnum" / "ha.conf").read_text()


class MagnumsCase(base.LabCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(layout, "STATE", self.folder)
        (layout.CLOUD / "magnum").mkdir(parents=True)


class ChoiceTest(MagnumsCase):
    def test_who_asks_for_nothing_has_the_labs_own(self) -> None:
        self.assertEqual(magnums.OWN, magnums.CHOICE.read())
        self.assertEqual({layout.VENV / "bin"}, set(_programs().values()))
        self.assertIn("13306/magnum\n", _options())
        self.assertNotIn("[trust]", _options())

    def test_an_older_one_has_its_own_programs_and_its_own_database(
        self,
    ) -> None:
        magnums.CHOICE.write("22")
        folder = self.folder / "magnum-22" / "bin"
        self.assertEqual({folder}, set(_programs().values()))
        self.assertIn("13306/magnum22\n", _options())
        self.assertIn("[trust]\ntrustee_domain_name = magnum\n", _options())

    def test_it_stays_until_the_own_is_asked_for(self) -> None:
        before = _programs()
        magnums.CHOICE.write("20")
        self.assertNotEqual(before, _programs())
        magnums.CHOICE.write(magnums.OWN)
        self.assertEqual(before, _programs())

    def test_one_process_is_never_an_older_one(self) -> None:
        asked = argparse.Namespace(command="up", magnum="22", ha=False)
        with self.assertRaises(errors.LabError) as caught:
            main._choose(asked)
        self.assertEqual(
            "--magnum is for Magnum's own programs", caught.exception.message
        )
        self.assertEqual(magnums.OWN, magnums.CHOICE.read())


class PinsTest(MagnumsCase):
    def test_they_are_the_labs_but_for_what_an_older_one_has_otherwise(
        self,
    ) -> None:
        self.assertEqual(
            "eventlet==1\nmagnum-capi==2\n",
            magnums.constraints(
                "eventlet==1\nkeystonemiddleware==13.0.1\nmagnum==23.0.0\n"
                "magnum-capi==2\n"
            ),
        )

    def test_both_are_in_the_labs_pins(self) -> None:
        text = virtualenv.CONSTRAINTS.read_text()
        left = magnums.constraints(text)
        self.assertEqual(len(text.splitlines()) - 2, len(left.splitlines()))


class StepsTest(MagnumsCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(mariadb, "DATA", self.folder / "none")
        self.replace(packages, "MARIADB", self.folder / "none")
        self.replace(trustees, "ready", lambda: False)

    def test_its_packages_come_before_its_tables(self) -> None:
        magnums.CHOICE.write("21")
        steps = {one.name: one for one in everything.todo(["keystone"])}
        self.assertIn("Magnum 21.0.1", steps["Magnum's tables"].needs)
        self.assertIn("keystone", steps["domain of trustees"].needs)
        for name in (magnum.API, *magnum.CONDUCTORS):
            self.assertIn("domain of trustees", steps[name].needs)

    def test_the_labs_own_takes_neither(self) -> None:
        names = {one.name for one in everything.todo(["keystone"])}
        self.assertFalse(
            {name for name in names if name.startswith("Magnum 2")}
        )
        self.assertNotIn("domain of trustees", names)
