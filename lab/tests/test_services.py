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


import pathlib
import unittest
from unittest import mock

from lab import errors
from lab import predecessor
from lab import registry
from lab.cloud import services
from lab.commands import services as commands
from lab.ha import magnum

_FOLDER = pathlib.Path(services.__file__).parent


class InputsTest(unittest.TestCase):
    def test_a_service_is_outdated_when_its_own_program_changes(self) -> None:
        found = services.services()
        found.append(services.with_predecessor(found[-1]))
        self.assertEqual(10, len(found))
        for one in found:
            scripts = [
                pathlib.Path(word)
                for word in one.argv
                if word.startswith(f"{_FOLDER}/")
            ]
            self.assertEqual(1, len(scripts), one.name)
            self.assertTrue(scripts[0].is_file(), scripts[0])
            self.assertIn(scripts[0], one.inputs(), one.name)


class PredecessorTest(unittest.TestCase):
    def setUp(self) -> None:
        patch = mock.patch.object(predecessor, "install")
        patch.start()
        self.addCleanup(patch.stop)

    def test_each_conductor_can_run_it(self) -> None:
        for name in ("magnum", *magnum.CONDUCTORS):
            ours = registry.get(name)
            found = commands._with_predecessor(ours)
            self.assertEqual(name, found.name)
            self.assertEqual(ours.argv, found.argv[:-2])
            self.assertLessEqual(ours.env.items(), found.env.items())
            self.assertEqual(str(predecessor.FOLDER), found.env["PYTHONPATH"])

    def test_nothing_else_can(self) -> None:
        for name in ("keystone", magnum.API):
            with self.assertRaises(errors.LabError) as caught:
                commands._with_predecessor(registry.get(name))
            self.assertIn("has no driver", caught.exception.message)
