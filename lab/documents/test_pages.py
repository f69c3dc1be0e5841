# SPDX-License-Identifier: Apache-2.0

"""Every page whose commands can run on the lab."""

from __future__ import annotations

import io

from testtools import content

from lab.documents import reader
from lab.documents import tables
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
