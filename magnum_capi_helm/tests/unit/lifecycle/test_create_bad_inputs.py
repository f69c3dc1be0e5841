# SPDX-License-Identifier: Apache-2.0

"""What users can get wrong, and what they read then.

The requests go through Magnum's own handlers, each refused with the one line
that says why. The rules of labels and values are in ``tests/unit/features``
and ``tests/unit/resolve``: here is one of each kind.
"""

from __future__ import annotations

from typing import Any
import uuid

import fixtures
from magnum.common import exception
from sqlalchemy import exc

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.tests.unit.lifecycle import base

#: A wrong input -> the whole status_reason, fields of template and cluster.
INPUTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a label that is none of its type, and not ASCII": (
        "label node_taints: give key=value:effect or key:effect, separated "
        "by commas, with the effects NoSchedule, PreferNoSchedule, "
        "NoExecute. It is 'size=größe:NoSchedule'; 'größe' is no value: up "
        "to 63 of A-Z a-z 0-9 - _ . , a letter or digit at both ends",
        {},
        {"labels": {"node_taints": "size=größe:NoSchedule"}},
    ),
    "a network of the API and a floating IP": (
        "label api_server_network: give it with "
        "master_lb_floating_ip_enabled=false. It is 'public'",
        {},
        {"labels": {"api_server_network": "public"}},
    ),
    "a flavor that is not there": (
        "flavor_id: there is no such flavor; choose one of `openstack flavor "
        "list`. It is 'm1.huge'",
        {},
        {"flavor_id": "m1.huge"},
    ),
    "an image that is not there": (
        "image_id: there is no such image; choose one of `openstack image "
        "list`. It is 'dos'",
        {"image_id": "dos"},
        {},
    ),
    "a subnet that is not there": (
        "fixed_subnet: there is no such subnet; choose one of `openstack "
        "subnet list`. It is 'lost'",
        {},
        {"fixed_subnet": "lost"},
    ),
    "a keypair that is not there": (
        "keypair: there is no such keypair; choose one of `openstack keypair "
        "list`. It is 'lost'",
        {},
        {"keypair": "lost"},
    ),
}

#: Requests that change the management cluster.
_WRITES = {"create", "replace", "apply", "patch", "delete"}


class RefusedTest(base.FlowTestCase):
    by_http = True

    def setUp(self) -> None:
        super().setUp()
        # Magnum's models make one for each query: printing takes its time.
        self.useFixture(
            fixtures.WarningsFilter(
                [{"action": "ignore", "category": exc.SAWarning}]
            )
        )

    def test_each_is_refused_with_its_text_and_leaves_no_trace(self) -> None:
        found = {
            title: self.refusal(title, template, fields)
            for title, (_, template, fields) in INPUTS.items()
        }
        expected = {title: text for title, (text, *_) in INPUTS.items()}
        self.assertEqual(expected, found)

    def refusal(
        self, title: str, template: dict[str, Any], fields: dict[str, Any]
    ) -> str:
        """What the user reads; nothing is written for the request."""
        self.uuid = str(uuid.uuid4())
        self.management.requests.clear()
        cluster = self.cluster(template, **fields)
        error = self.assertRaises(
            exception.InvalidParameterValue,
            self.handler.cluster_create,
            *(self.context, cluster, 1, 2, 60),
        )
        text = str(error)
        written = [r for r in self.management.requests if r.verb in _WRITES]
        self.assertEqual([], written, title)
        self.assertEqual([], self.helm.upgrades, title)
        self.assertEqual({}, self.openstack.credentials, title)
        self.assertEqual(1, len(text.splitlines()), title)
        # Its first sentence is one that Magnum's API does not cut.
        self.assertEqual(text, magnum_errors.to_client("create", text), title)
        self.assertEqual(text, self.reason(), title)
        return text

    def reason(self) -> str:
        """The status_reason of the cluster, which failed."""
        row = self.row()
        statuses = {row.status, *(each.status for each in row.nodegroups)}
        self.assertEqual({"CREATE_FAILED"}, statuses)
        self.assertIsNone(row.stack_id)
        self.assertEqual(["kube-system"], self.server.names(kinds.NAMESPACE))
        return str(row.status_reason)
