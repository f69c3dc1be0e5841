# SPDX-License-Identifier: Apache-2.0
"""A cluster's life where Magnum can write nothing but temporary space."""

from __future__ import annotations

import os
import pathlib
import shutil
import stat

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

#: The user that ``lab restart magnum --bare-host`` gives Magnum.
_USER = 65534
_CHARTS = pathlib.Path("/tmp", f"magnum-capi-helm-{_USER}")


class BareHostTest(base.LabCase):
    """Options of 1.4.0, without state_path; not root; all is read-only."""

    def setUp(self) -> None:
        super().setUp()
        if os.getuid():
            self.skipTest("root alone can make file systems read-only")
        # What an earlier run left would hide a fetch that fails.
        shutil.rmtree(_CHARTS, ignore_errors=True)
        self.addCleanup(shutil.rmtree, _CHARTS, ignore_errors=True)
        self.addCleanup(programs.lab, "restart", "magnum")
        programs.lab("restart", "magnum", "--bare-host")

    def test_create_resize_delete(self) -> None:
        cluster = self.cluster(self.template())
        made = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        self.assertEqual(2, self.resize(cluster, 2)["node_count"])
        self.delete(cluster)
        self.assert_all_gone(made["stack_id"])

        found = _CHARTS.stat()
        self.assertEqual(
            (_USER, 0o700), (found.st_uid, stat.S_IMODE(found.st_mode))
        )
        self.assertEqual(
            ["openstack-cluster-0.27.0.tgz"],
            [each.name for each in _CHARTS.glob("*.tgz")],
        )
