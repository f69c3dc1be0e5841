# SPDX-License-Identifier: Apache-2.0

"""A checkout of the real addon provider in the place of labinfra's."""

import os
import pathlib
from unittest import mock

from lab import addon_provider
from lab import bootstrap
from lab import errors
from lab import layout
from lab import management
from lab import planes
from lab import registry
from lab.tests import base

_FLAG = "-no-addons"


class AddonProviderCase(base.LabCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(layout, "STATE", self.folder)
        self.replace(addon_provider, "FOLDER", self.folder / "venv")
        self.checkout = self.folder / "checkout"
        (self.checkout / "capi_addons").mkdir(parents=True)
        (self.checkout / "capi_addons" / "operator.py").touch()
        self.requirements = self.checkout / "requirements.txt"
        self.requirements.write_text("kopf==1.37.2\n")

    def ask(self, value: pathlib.Path | str) -> None:
        """Run ``up`` with the variable, as far as the choice."""
        found = {addon_provider.VARIABLE: str(value)}
        with mock.patch.dict(os.environ, found):
            addon_provider.choose()

    def flagged(self) -> list[bool]:
        """Whether each labinfra leaves addons alone."""
        return [
            _FLAG in one.argv
            for plane in planes.ALL
            for one in management.services(plane)
            if one.name == plane.called("labinfra")
        ]


class ChoiceTest(AddonProviderCase):
    def test_labinfra_plays_it_until_somebody_asks(self) -> None:
        addon_provider.choose()
        self.assertEqual([False, False], self.flagged())
        self.assertNotIn("addon-provider", self.names())
        self.assertTrue(addon_provider.ready())

    def test_a_checkout_stays_until_nothing_is_asked_for(self) -> None:
        self.ask(self.checkout)
        addon_provider.choose()
        self.assertEqual([True, True], self.flagged())
        self.assertIn("addon-provider", self.names())
        self.assertNotIn("addon-provider-b", self.names())
        self.ask("")
        self.assertEqual([False, False], self.flagged())
        self.assertNotIn("addon-provider", self.names())

    def test_a_relative_path_is_noted_as_an_absolute_one(self) -> None:
        self.ask(os.path.relpath(self.checkout))
        self.assertEqual(str(self.checkout), addon_provider.CHOICE.read())

    def test_what_is_no_checkout_of_it_is_refused(self) -> None:
        self.requirements.unlink()
        for folder, missing in (
            (self.folder, "capi_addons/operator.py"),
            (self.checkout, "requirements.txt"),
        ):
            with self.assertRaises(errors.LabError) as caught:
                self.ask(folder)
            self.assertEqual(
                f"LAB_ADDON_PROVIDER: {folder} has no {missing}",
                caught.exception.message,
            )
        self.assertFalse(addon_provider.chosen())


class ServiceTest(AddonProviderCase):
    def setUp(self) -> None:
        super().setUp()
        self.ask(self.checkout)

    def test_it_runs_as_in_its_image(self) -> None:
        for plane in planes.ALL:
            one = management.addons(plane)
            self.assertEqual(f"addon-provider{plane.suffix}", one.name)
            self.assertEqual(
                [
                    *(str(self.folder / "venv" / "bin" / "kopf"), "run"),
                    *("--module", "capi_addons.operator"),
                    *("--all-namespaces", "--verbose"),
                ],
                list(one.argv[3:]),
            )
            self.assertEqual(
                {
                    "KUBECONFIG": str(plane.kubeconfig),
                    "PYTHONPATH": str(self.checkout),
                },
                one.env,
            )

    def test_it_is_outdated_by_its_sources_and_its_packages(self) -> None:
        self.assertEqual(
            [
                self.folder / "venv" / "packages.stamp",
                self.checkout / "capi_addons" / "operator.py",
            ],
            management.addons(planes.FIRST).inputs(),
        )

    def test_each_management_cluster_has_one_that_down_stops(self) -> None:
        for plane in planes.ALL:
            name = plane.called("addon-provider")
            chosen = [one.name for one in registry.chosen(plane.name)]
            self.assertEqual(name, chosen[-1])
            self.assertEqual(name, registry.get(name).name)


class PackagesTest(AddonProviderCase):
    def setUp(self) -> None:
        super().setUp()
        self.ask(self.checkout)
        self.ran: list[list[str]] = []
        self.replace(addon_provider.tools, "run", self.run_)
        self.replace(
            addon_provider.virtualenv, "create", lambda folder, log: folder
        )

    def run_(self, argv: list[object], **_: object) -> None:
        self.ran.append([str(word) for word in argv])

    def steps(self) -> set[str]:
        return {each.name for each in bootstrap._todo(None)}

    def test_the_requirements_of_the_checkout_are_installed_once(self) -> None:
        self.assertIn("addon provider's packages", self.steps())
        addon_provider.install()
        self.assertEqual(["-r", str(self.requirements)], self.ran[0][-2:])
        self.assertNotIn("addon provider's packages", self.steps())

    def test_other_requirements_are_installed_again(self) -> None:
        addon_provider.install()
        self.requirements.write_text("kopf==1.38.0\n")
        self.assertFalse(addon_provider.ready())
