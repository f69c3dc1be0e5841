# SPDX-License-Identifier: Apache-2.0

"""Another Cluster API in the place of the lab's own."""

import pathlib
import re
import tempfile
import unittest
from unittest import mock

from lab import cluster_api
from lab import definitions
from lab import layout
from lab import management
from lab import manifests
from lab import planes
from lab import programs

_MANAGERS = {"capi-core", "capi-bootstrap", "capi-kcp"}


def _paths() -> dict[str, str]:
    """Service -> the program that it runs."""
    return {one.name: one.argv[0] for one in management.services(planes.FIRST)}


class ModulesTest(unittest.TestCase):
    def test_each_is_of_the_release_that_it_is_called_after(self) -> None:
        folders = {cluster_api.OWN: cluster_api.MODULES}
        folders |= {e.name: e.module for e in cluster_api.OTHERS.values()}
        self.assertEqual({*folders, "v1beta2-only"}, set(cluster_api.NAMES))
        for name, folder in folders.items():
            required = programs.versions((folder / "go.mod").read_text())
            found = required[cluster_api.MODULE]
            self.assertTrue(found.startswith(f"v{name}."), found)
            self.assertTrue((folder / "go.sum").exists())

    def test_what_is_replaced_is_of_the_same_release(self) -> None:
        for other in cluster_api.OTHERS.values():
            text = (other.module / "go.mod").read_text()
            (replaced,) = re.findall(r"replace \S+ => \S+/api (\S+)", text)
            required = programs.versions(text)
            self.assertEqual(required[cluster_api.MODULE], replaced)


class ChoiceTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        state = pathlib.Path(folder.name)
        for name, path in (("STATE", state), ("CRDS", state / "crds")):
            self.enterContext(mock.patch.object(layout, name, path))

    def test_who_asks_for_nothing_has_the_labs_own(self) -> None:
        self.assertEqual(cluster_api.OWN, cluster_api.CHOICE.read())
        self.assertIsNone(cluster_api.other())
        built = {one.name for one in programs.PROGRAMS}
        self.assertLessEqual(_MANAGERS, built)
        self.assertLessEqual(
            {pathlib.Path(path).name for path in _paths().values()}, built
        )

    def test_managers_alone_are_others_until_the_own_is_asked_for(
        self,
    ) -> None:
        own = _paths()
        cluster_api.CHOICE.write("1.14")
        found = _paths()
        self.assertEqual(
            _MANAGERS, {name for name in own if own[name] != found[name]}
        )
        self.assertEqual(
            {found[name] for name in _MANAGERS},
            {
                str(layout.BIN / one.name)
                for one in programs.managers(cluster_api.OTHERS["1.14"])
            },
        )
        self.assertEqual(
            layout.STAMPS / "program-capi-kcp-1.14", programs.stamp("capi-kcp")
        )
        cluster_api.CHOICE.write(cluster_api.OWN)
        self.assertEqual(own, _paths())

    def test_definitions_are_theirs_and_the_providers_stay(self) -> None:
        cluster_api.CHOICE.write("1.14")
        for name in definitions.CONFIGS:
            (layout.CRDS / name).mkdir(parents=True)
            (layout.STATE / "crds-1.14" / name).mkdir(parents=True)
            (layout.CRDS / name / "own.yaml").write_text("")
            (layout.STATE / "crds-1.14" / name / "other.yaml").write_text("")
        taken = {
            name: path.name
            for name in definitions.CONFIGS
            for path in manifests.shipped(name).iterdir()
        }
        theirs = dict.fromkeys(("core", "bootstrap", "kcp"), "other.yaml")
        self.assertEqual(
            {**theirs, "capo": "own.yaml", "orc": "own.yaml"}, taken
        )
