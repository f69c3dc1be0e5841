# SPDX-License-Identifier: Apache-2.0

"""A lab that runs nothing, in a folder of its own."""

import pathlib
import tempfile
import unittest
from unittest import mock

from lab import layout
from lab import registry


class LabCase(unittest.TestCase):
    """Services are recorded in ``folder``, and none is."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.replace(layout, "RUN", self.folder)
        self.replace(layout, "CLOUD", self.folder / "cloud")

    def replace(self, owner: object, name: str, value: object) -> None:
        """An attribute is another one until the test ends."""
        patch = mock.patch.object(owner, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def names(self) -> set[str]:
        """The services that are in use."""
        return {one.name for one in registry.in_use()}
