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

"""Upgrade of a cluster and of one nodegroup, through Magnum's handler."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.flows import upgrading


class WholeTest(upgrading.UpgradeTestCase):
    """``coe cluster upgrade``, with no nodegroup named."""

    def test_image_version_and_template_reach_cluster_and_rows(self) -> None:
        new = self.template(image_id="ubuntu-1.35")
        self.upgrade(new)
        self.assertEqual({"UPDATE_IN_PROGRESS"}, self.statuses())
        self.assertEqual([("1.35.1", "i-2")] * 2, [*self.machines().values()])
        self.assertEqual(new.uuid, self.row().cluster_template_id)
        self.assertEqual(
            {"ubuntu-1.35"},
            {each.image_id for each in self.groups().values()},
        )
        self.settle()
        self.assertEqual({"UPDATE_COMPLETE"}, self.statuses())
        self.assertEqual("v1.35.1", self.row().coe_version)
