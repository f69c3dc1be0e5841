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

"""What is not served yet is refused, and does a cluster no harm."""

from __future__ import annotations

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.tests.functional import base


class UnsupportedTest(base.LabCase):
    """Refusals on a living cluster."""

    def test_refusals_leave_the_cluster_as_it_was(self) -> None:
        template = self.template()
        cluster = self.cluster(template)
        self.until_status(cluster, ("CREATE_COMPLETE",))
        self._refuse_upgrade(cluster, template)

    def _refuse_upgrade(self, cluster: str, template: str) -> None:
        refused = self.assertRaises(
            ka_exceptions.BadRequest,
            self.magnum.call,
            "POST",
            f"/clusters/{cluster}/actions/upgrade",
            {"cluster_template": self.template(), "max_batch_size": 1},
        )
        self.assertIn("upgrading a cluster is not supported", str(refused))
        after = self.magnum.find(cluster) or {}
        self.assertEqual("CREATE_COMPLETE", after["status"])
        self.assertEqual(template, after["cluster_template_id"])
