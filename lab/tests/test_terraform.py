# SPDX-License-Identifier: Apache-2.0

"""What is built for Terraform is what is not there."""

import pathlib
import tempfile
import unittest
from unittest import mock

from lab.terraform import build


class BuildTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = mock.patch.object(build, "FOLDER", self.folder / "built")
        patch.start()
        self.addCleanup(patch.stop)

    def _names(self, *runners: str) -> list[str]:
        for name in runners:
            (self.folder / name).touch(0o755)
        return [each.name for each in build.missing(str(self.folder))]

    def test_opentofu_is_built_where_nothing_runs_configurations(self) -> None:
        provider = "terraform-provider-openstack"
        self.assertEqual([provider, "tofu"], self._names())
        self.assertEqual([provider], self._names("terraform"))

    def test_what_is_built_is_built_again_for_other_versions(self) -> None:
        made = build.PROVIDER.path
        made.parent.mkdir()
        made.touch()
        self.assertEqual(1, len(self._names("tofu")))
        made.with_suffix(".sum").write_bytes(
            (build.PROVIDER.module / "go.sum").read_bytes()
        )
        self.assertEqual([], self._names("tofu"))
        made.with_suffix(".sum").write_text("of another version")
        self.assertEqual(1, len(self._names("tofu")))
