# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
