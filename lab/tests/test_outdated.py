# SPDX-License-Identifier: Apache-2.0

"""What is outdated is made again: an old program proves nothing."""

import os
import pathlib
import subprocess
import sys

from lab import layout
from lab import stamps
from lab.cloud import services
from lab.tests import base

_FOLDER = pathlib.Path(services.__file__).parent
_BUILT = {"bin/etcd", "stamps/program-etcd", "venv/bin/nova-api"}
_USED = {
    "cloud/nova/nova.conf",
    "etcd/member/wal",
    "kubeconfig",
    "postgres/data/base",
    "second/etcd/member/wal",
    "stamps/filled-compute",
    "with-nodes",
}


class OutdatedTest(base.LabCase):
    def test_a_step_is_skipped_only_with_the_same_inputs(self) -> None:
        one, two = self.folder / "one", self.folder / "two"
        one.write_text("1")
        two.write_text("1")
        value = stamps.fingerprint("a", files=[one])
        self.assertFalse(stamps.fresh("step", value, self.folder))
        stamps.write("step", value, self.folder)
        self.assertTrue(stamps.fresh("step", value, self.folder))
        others = [
            stamps.fingerprint("b", files=[one]),
            stamps.fingerprint("a", files=[two]),
            stamps.fingerprint("a", files=[one, two]),
        ]
        one.write_text("2")
        others.append(stamps.fingerprint("a", files=[one]))
        self.assertEqual(4, len({*others} - {value}))

    def test_a_service_is_outdated_when_its_own_program_changes(self) -> None:
        found = services.services()
        found.append(services.with_predecessor(found[-1]))
        for one in found:
            (script,) = (
                pathlib.Path(word)
                for word in one.argv
                if word.startswith(f"{_FOLDER}/")
            )
            self.assertTrue(script.is_file(), script)
            self.assertIn(script, one.inputs(), one.name)

    def test_a_new_cloud_begins_with_what_was_built(self) -> None:
        for option, left in ((["--keep-built"], _BUILT), ([], set())):
            for path in (*_BUILT, *_USED):
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / path).touch()
            subprocess.run(
                [sys.executable, "-m", "lab", "wipe", *option],
                cwd=layout.CHECKOUT,
                env={**os.environ, "LAB_DIR": str(self.folder)},
                capture_output=True,
                check=True,
            )
            found = {
                str(path.relative_to(self.folder))
                for path in self.folder.rglob("*")
                if path.is_file()
            }
            self.assertEqual({"lock", *left}, found)
