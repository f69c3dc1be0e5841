# SPDX-License-Identifier: Apache-2.0

"""Nodegroups whose label asks for a Nova server group."""

from __future__ import annotations

from typing import Any, ClassVar

import fixtures
from magnum.common import exception

from magnum_capi_helm.cloud import server_groups
from magnum_capi_helm.lifecycle import nodegroups
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.lifecycle import base


class ServerGroupTest(base.NodegroupTestCase):
    """A group whose label asks for a Nova server group."""

    LABELS: ClassVar[dict[str, str]] = {
        "server_group_policies": "anti-affinity"
    }

    def setUp(self) -> None:
        super().setUp()
        self.ensure = self.use("ensure", return_value={"gpu": "sg-1"})
        self.discard = self.use("delete")

    def use(self, name: str, **options: Any) -> Any:
        return self.useFixture(
            fixtures.MockPatchObject(server_groups, name, **options)
        ).mock

    def test_a_server_group_comes_and_goes_with_its_nodegroup(self) -> None:
        self.add("gpu", labels=self.LABELS)
        self.assertEqual("sg-1", self.node_groups()[-1]["serverGroupId"])
        self.assertEqual({"gpu": "anti-affinity"}, self.ensure.call_args[0][4])
        self.settle()
        self.remove("gpu")
        self.settle()
        self.discard.assert_not_called()
        self.capi.remove_group("gpu")
        self.settle()
        self.assertEqual(["gpu"], self.discard.call_args[0][2])
        self.assertNotIn("gpu", self.groups())

    def test_a_nova_that_refuses_does_not_keep_the_group(self) -> None:
        self.discard.side_effect = errors.CloudError("Nova: no")
        self.add("gpu", labels=self.LABELS)
        self.settle()
        self.remove("gpu")
        self.capi.remove_group("gpu")
        self.settle()
        self.assertNotIn("gpu", self.groups())
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def test_a_lease_that_stays_busy_refuses_it(self) -> None:
        # Nobody but the user can make it, and polls have no token.
        self.useFixture(fixtures.MockPatchObject(nodegroups, "LEASE_WAIT", -1))
        with self.busy():
            self.assertRaises(
                exception.OperationInProgress,
                self.add,
                "gpu",
                labels=self.LABELS,
            )
        self.ensure.assert_not_called()
        self.assertEqual(base.INTENT_KEYS, self.intent_keys())
