# SPDX-License-Identifier: Apache-2.0

"""Every page whose commands can run on the lab."""

import io

from testtools import content

from lab.documents import reader
from lab.documents import tables
from magnum_capi_helm.tests.functional import base


class PagesTest(base.LabCase):
    """One test for each page."""

    def read(self, name: str) -> None:
        said = io.StringIO()
        page = reader.Reader(name, said.write)
        page.read()
        self.addDetail("page", content.text_content(said.getvalue()))
        self.assertEqual([], page.wrong)
        self.assertGreater(page.run, 0)


for _page in tables.pages():
    if not tables.load(_page).not_run:
        _name = f"test_{_page.replace('/', '_').replace('-', '_')}"
        setattr(PagesTest, _name, lambda test, page=_page: test.read(page))
