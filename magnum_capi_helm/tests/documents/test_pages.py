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

"""Every page whose commands can run on the lab."""

from __future__ import annotations

import io

from testtools import content

from magnum_capi_helm.tests.documents import reader
from magnum_capi_helm.tests.documents import tables
from magnum_capi_helm.tests.functional import base


class PagesTest(base.LabCase):
    """One test for each page."""


def _test(page: str) -> None:
    def test(self: PagesTest) -> None:
        said = io.StringIO()
        read = reader.Reader(page, said.write).read()
        self.addDetail("page", content.text_content(said.getvalue()))
        self.assertEqual([], read.wrong)
        self.assertGreater(read.run, 0)

    test.__name__ = f"test_{page.replace('/', '_').replace('-', '_')}"
    test.__doc__ = f"{page}.rst"
    setattr(PagesTest, test.__name__, test)


for _page in tables.pages():
    if not tables.load(_page).not_run:
        _test(_page)
