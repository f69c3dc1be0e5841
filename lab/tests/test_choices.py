# SPDX-License-Identifier: Apache-2.0

"""The lab runs the programs that were chosen; others would prove nothing."""

import pathlib
import re
import shutil
from unittest import mock

import yaml

from lab import cluster_api
from lab import definitions
from lab import helms
from lab import layout
from lab import magnums
from lab import management
from lab import manifests
from lab import planes
from lab import predecessor
from lab import programs
from lab import registry
from lab import stamps
from lab.cloud import services
from lab.commands import services as commands
from lab.commands import up
from lab.ha import magnum
from lab.nodes import programs as machines
from lab.tests import base

_CRD = {
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.org"},
    "spec": {
        "versions": [
            {"name": "v1beta1", "served": True},
            {"name": "v1beta2", "served": True},
        ]
    },
}


def _managers() -> dict[str, str]:
    """Service -> the name of its program."""
    found = management.services(planes.FIRST)
    return {one.name: pathlib.Path(one.argv[0]).name for one in found}


class ChoiceCase(base.LabCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(layout, "STATE", self.folder)
        self.replace(layout, "CRDS", self.folder / "crds")
        self.replace(layout, "MANIFESTS", self.folder / "manifests")
        self.replace(layout, "PKI", self.folder / "pki")


class ClusterApiTest(ChoiceCase):
    def test_modules_are_of_the_release_in_their_name(self) -> None:
        folders = {cluster_api.OWN: cluster_api.MODULES}
        folders |= {e.name: e.module for e in cluster_api.OTHERS.values()}
        self.assertEqual({*folders, "v1beta2-only"}, set(cluster_api.NAMES))
        for name, folder in folders.items():
            text = (folder / "go.mod").read_text()
            found = programs.versions(text)[cluster_api.MODULE]
            self.assertTrue(found.startswith(f"v{name}."), found)
            for replaced in re.findall(r"replace \S+ => \S+/api (\S+)", text):
                self.assertEqual(found, replaced)

    def test_another_release_has_its_managers_and_definitions(self) -> None:
        own = _managers()
        cluster_api.CHOICE.write("1.14")
        other = {
            name: f"{name}-1.14"
            for name in ("capi-core", "capi-bootstrap", "capi-kcp")
        }
        self.assertEqual(own | other, _managers())
        for name in definitions.CONFIGS:
            for folder in (layout.CRDS, layout.STATE / "crds-1.14"):
                (folder / name).mkdir(parents=True)
        theirs = {
            name
            for name in definitions.CONFIGS
            if "crds-1.14" in manifests.shipped(name).parts
        }
        self.assertEqual({"core", "bootstrap", "kcp"}, theirs)
        cluster_api.CHOICE.write(cluster_api.OWN)
        self.assertEqual(own, _managers())

    def test_v1beta1_is_not_served_where_v1beta2_alone_is(self) -> None:
        self.replace(stamps, "write", mock.Mock())
        planes.FIRST.pki.mkdir()
        planes.FIRST.authority.write_text("authority")
        for folder in (layout.CRDS, layout.STATE / "crds-1.14"):
            (folder / "kcp").mkdir(parents=True)
            (folder / "kcp/things.yaml").write_text(yaml.safe_dump(_CRD))
        for choice, served in {
            "1.14": ["v1beta1", "v1beta2"],
            "v1beta2-only": ["v1beta2"],
        }.items():
            cluster_api.CHOICE.write(choice)
            manifests.write(planes.FIRST)
            file = planes.FIRST.manifests / "crd-kcp.yaml"
            spec = yaml.safe_load(file.read_text())["spec"]
            found = [
                each["name"] for each in spec["versions"] if each["served"]
            ]
            self.assertEqual(served, found, choice)


class MachinesTest(ChoiceCase):
    def test_libraries_of_a_kubelet_are_of_its_kubernetes(self) -> None:
        machines.choose(minors=True)
        versions = machines.kubernetes()
        self.assertEqual(4, len(versions))
        modules = {each.path: each.module for each in machines.of_machines()}
        for version in versions:
            text = (modules[f"{version}/kubelet"] / "go.mod").read_text()
            replaced = re.findall(r"k8s\.io/\S+ => k8s\.io/\S+ (\S+)", text)
            self.assertEqual({f"v0{version[2:]}"}, set(replaced))


class MagnumTest(ChoiceCase):
    def test_an_older_one_has_its_own_programs_and_database(self) -> None:
        (layout.CLOUD / "magnum").mkdir(parents=True)
        older = self.folder / "magnum-22"
        for name, folder, database in (
            (magnums.OWN, layout.VENV, "13306/magnum\n"),
            ("22", older, "13306/magnum22\n"),
        ):
            magnums.CHOICE.write(name)
            found = {
                one.argv[0].rpartition("/")[0] for one in magnum.services()
            }
            self.assertEqual({str(folder / "bin")}, found)
            magnum.write()
            text = (layout.CLOUD / "magnum" / "ha.conf").read_text()
            self.assertIn(database, text)

    def test_one_process_does_not_run_beside_conductors(self) -> None:
        self.assertIn("magnum", self.names())
        self.assertNotIn("magnum", {step.name for step in up._cloud(ha=True)})
        (self.folder / "rabbitmq.pid").write_text("1 (a) S 0 0 0")
        self.assertNotIn("magnum", self.names())
        self.assertLess({*magnum.CONDUCTORS, magnum.API}, self.names())

    def test_each_conductor_can_run_another_driver(self) -> None:
        self.replace(predecessor, "install", lambda: None)
        checkout = str(layout.CHECKOUT)
        for name in ("magnum", *magnum.CONDUCTORS):
            ours = registry.get(name)
            for driver, folder in {
                predecessor.VERSION: str(predecessor.FOLDER),
                checkout: checkout,
            }.items():
                other = commands.with_driver(ours, driver)
                self.assertEqual(name, other.name)
                self.assertEqual({**ours.env, "PYTHONPATH": folder}, other.env)

    def test_another_helm_is_the_first_that_magnum_finds(self) -> None:
        self.replace(helms, "FOLDER", self.folder / "other")
        program = self.folder / "helm-3.16"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        folder = helms.given(str(program))
        found = services.with_helm(registry.get("magnum"), folder)
        seen = shutil.which("helm", path=found.env["PATH"])
        self.assertEqual(program, pathlib.Path(str(seen)).resolve())
