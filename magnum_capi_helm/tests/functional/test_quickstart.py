# SPDX-License-Identifier: Apache-2.0

"""The page that everybody reads first does what it says."""

from __future__ import annotations

import io

from testtools import content

from lab.documents import reader
from magnum_capi_helm.tests.functional import base


class QuickstartTest(base.LabCase):
    """Every command of the page, in its order, as it is printed there.

    The eight commands for the workload are not run: nothing runs in a cluster.
    """

    def test_each_command_of_the_quickstart(self) -> None:
        said = io.StringIO()
        page = reader.Reader("user/quickstart", said.write)
        page.read()
        self.addDetail("page", content.text_content(said.getvalue()))
        self.assertEqual([], page.wrong)
        self.assertEqual(8, page.not_run)
        self.assertGreaterEqual(page.run, 15)
