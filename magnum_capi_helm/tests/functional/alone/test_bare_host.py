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
        self.assertEqual([], self.left_of(made["stack_id"]))

        found = _CHARTS.stat()
        self.assertEqual(
            (_USER, 0o700), (found.st_uid, stat.S_IMODE(found.st_mode))
        )
        self.assertEqual(
            ["openstack-cluster-0.27.0.tgz"],
            [each.name for each in _CHARTS.glob("*.tgz")],
        )
