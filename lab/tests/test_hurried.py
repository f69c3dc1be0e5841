# SPDX-License-Identifier: Apache-2.0

import pathlib
import tempfile
import unittest
from unittest import mock

from lab import errors
from lab import hurried

_WHERE = "controllers/clustercache/cluster_cache.go"
_THEIRS = "\t\tConnectionCreationRetryInterval: 30 * time.Second,\n"
_OURS = "\t\tConnectionCreationRetryInterval: 3 * time.Second,\n"
_MODULE = hurried.CLUSTER_API


class HurriedTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        home = pathlib.Path(folder.name)
        self.original, self.plane = home / "capi@v1", home / "plane"
        self.result = home / "result"
        patch = mock.patch("lab.hurried.layout.HURRIED", self.result)
        patch.start()
        self.addCleanup(patch.stop)
        self.plane.mkdir()
        (self.plane / "go.mod").write_text("module lab\n")
        (self.plane / "go.sum").write_text("sums\n")
        self.write(_WHERE, _THEIRS)
        self.write("main.go", "package main\n")
        self.write("main_test.go", "package main\n")
        self.write("docs/book/main.go", "package book\n")

    def write(self, name: str, text: str) -> None:
        path = self.original / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_one_line_of_a_copy_is_different(self) -> None:
        words = hurried.mode(_MODULE, self.original, self.plane)
        copy = self.result / "capi-v1"
        found = {
            str(path.relative_to(copy)): path.read_text()
            for path in copy.rglob("*")
            if path.is_file()
        }
        self.assertEqual({_WHERE: _OURS, "main.go": "package main\n"}, found)
        self.assertEqual(_THEIRS, (self.original / _WHERE).read_text())
        required = self.result / "capi-v1.mod"
        self.assertEqual([f"-modfile={required}"], words)
        self.assertEqual(
            f"module lab\n\nreplace sigs.k8s.io/cluster-api => {copy}\n",
            required.read_text(),
        )
        sums = self.result / "capi-v1.sum"
        self.assertEqual("sums\n", sums.read_text())

    def test_of_another_release_nothing_old_is_left(self) -> None:
        (self.result / "other-v1").mkdir(parents=True)
        hurried.mode(_MODULE, self.original, self.plane)
        self.original = self.original.rename(
            self.original.with_name("capi@v2")
        )
        self.write("main.go", "package other\n")
        hurried.mode(_MODULE, self.original, self.plane)
        self.assertEqual(
            ["capi-v2", "capi-v2.mod", "capi-v2.sum", "other-v1"],
            sorted(path.name for path in self.result.iterdir()),
        )
        self.assertEqual(
            "package other\n", (self.result / "capi-v2/main.go").read_text()
        )

    def test_a_release_without_that_line_is_found_out(self) -> None:
        self.write(_WHERE, "something else\n")
        with self.assertRaises(errors.LabError) as caught:
            hurried.mode(_MODULE, self.original, self.plane)
        self.assertIn("30 * time.Second", caught.exception.message)
