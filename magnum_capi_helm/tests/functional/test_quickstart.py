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

"""The page that everybody reads first does what it says."""

from __future__ import annotations

import io

from testtools import content

from magnum_capi_helm.tests.documents import reader
from magnum_capi_helm.tests.functional import base


class QuickstartTest(base.LabCase):
    """Every command of the page, in its order, as it is printed there."""

    def test_each_command_of_the_quickstart(self) -> None:
        said = io.StringIO()
        read = reader.Reader("user/quickstart", said.write).read()
        self.addDetail("page", content.text_content(said.getvalue()))
        self.assertEqual([], read.wrong)
        self.assertEqual(0, read.not_run)
        self.assertGreater(read.run, 10)
