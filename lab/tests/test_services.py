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

from lab.cloud import services

_FOLDER = pathlib.Path(services.__file__).parent


class InputsTest(unittest.TestCase):
    def test_a_service_is_outdated_when_its_own_program_changes(self) -> None:
        found = [*services.services(), services.with_predecessor()]
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
