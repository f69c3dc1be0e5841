# SPDX-License-Identifier: Apache-2.0

"""What clients declare stays as they wrote it.

Terraform and its like compare each field with what they last sent. One that
the driver rewrites, or adds to, becomes a change in every plan; in ``labels``
it becomes a new cluster.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from magnum.common import exception

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.lifecycle import base

#: Fields of a cluster that nobody declares: what it is like at the moment.
_OBSERVED = {
    "api_address",
    "ca_cert_ref",
    "coe_version",
    "container_version",
    "created_at",
    "etcd_ca_cert_ref",
    "front_proxy_ca_cert_ref",
    "health_status",
    "health_status_reason",
    "id",
    "magnum_cert_ref",
    "stack_id",
    "status",
    "status_reason",
    "trust_id",
    "trustee_password",
    "trustee_user_id",
    "trustee_username",
    "updated_at",
}

#: The same of a nodegroup.
_OBSERVED_OF_GROUP = {
    "created_at",
    "id",
    "node_addresses",
    "stack_id",
    "status",
    "status_reason",
    "updated_at",
}

#: All that a client can give, in a spelling that nobody would choose.
_DECLARED: dict[str, Any] = {
    "labels": {
        "auto_healing_enabled": "TRUE",
        "boot_volume_size": " 20",
        "kube_tag": "v1.34.2",
        "monitoring_enabled": "False",
        "of_no_effect": "Ünïcode, and more",
    },
    "create_timeout": 61,
    "docker_volume_size": None,
    "keypair": "mine",
    "name": "web",
}


class DeclaredFieldsTest(base.FlowTestCase):
    """Every field but the observed ones, after every operation."""

    def setUp(self) -> None:
        super().setUp()
        self.complete(**_DECLARED)

    def declared(self) -> dict[str, dict[str, Any]]:
        """Fields of the cluster, and those of each group by its name."""
        found = {"": _fields(self.row(), _OBSERVED)}
        for name, group in self.groups().items():
            found[name] = _fields(group, _OBSERVED_OF_GROUP)
        return found

    def finish(self) -> None:
        """Machines come up, all polls see it."""
        self.capi.settle()
        self.poll()
        self.poll()
        self.health_poll()
        self.assertIn("COMPLETE", self.row().status)

    def test_a_create_keeps_declared_fields(self) -> None:
        self.health_poll()
        for name, value in _DECLARED.items():
            self.assertEqual(value, getattr(self.row(), name), name)
        template = self.row().cluster_template
        self.assertEqual({}, template.labels)

    def test_a_resize_keeps_declared_fields(self) -> None:
        before = self.declared()
        self.resize(5)
        self.finish()
        before["default-worker"]["node_count"] = 5
        self.assertEqual(before, self.declared())

    def test_nodegroups_that_come_and_go_keep_declared_fields(self) -> None:
        before = self.declared()
        self.add(
            "Extra_1",
            labels={"boot_volume_size": " 30", "x": "y"},
            max_node_count=4,
        )
        self.finish()
        added = self.declared()
        self.assertEqual(before, {name: added[name] for name in before})
        self.assertEqual(
            {"boot_volume_size": " 30", "x": "y"}, added["Extra_1"]["labels"]
        )
        self.change("Extra_1", max_node_count=6)
        self.finish()
        added["Extra_1"]["max_node_count"] = 6
        self.assertEqual(added, self.declared())
        self.remove("Extra_1")
        self.capi.remove_group(names.node_group("Extra_1", base.RELEASE))
        self.finish()
        self.assertEqual(before, self.declared())

    def test_a_refused_operation_keeps_declared_fields(self) -> None:
        before = self.declared()
        self.assertRaises(
            exception.InvalidParameterValue,
            self.add,
            "extra",
            flavor_id="no-such-flavor",
        )
        self.health_poll()
        refused = self.declared()
        del refused["extra"]
        self.assertEqual(before, refused)

    def test_a_failure_that_recovers_keeps_declared_fields(self) -> None:
        before = self.declared()
        row = self.row()
        row.status = "UPDATE_FAILED"
        row.save()
        self.finish()
        self.assertEqual(before, self.declared())

    def test_a_deletion_keeps_declared_fields_to_the_end(self) -> None:
        before = self.declared()
        self.delete()
        self.poll()
        self.assertEqual(before, self.declared())


class AutoscaledTest(base.FlowTestCase):
    """Counts that the autoscaler chose are the autoscaler's."""

    def test_polls_write_only_the_count_of_a_scaled_group(self) -> None:
        labels = {"auto_scaling_enabled": "true", "max_node_count": "5"}
        self.created(labels=labels)
        before = _fields(self.row(), _OBSERVED)
        group = _fields(self.groups()["default-worker"], _OBSERVED_OF_GROUP)
        name = f"{base.RELEASE}-default-worker"
        self.server.patch(
            kinds.MACHINE_DEPLOYMENT,
            base.NAMESPACE,
            name,
            {"spec": {"replicas": 4}},
        )
        self.capi.settle()
        self.poll()
        self.health_poll()
        self.assertEqual(before, _fields(self.row(), _OBSERVED))
        after = _fields(self.groups()["default-worker"], _OBSERVED_OF_GROUP)
        self.assertIn(after.pop("node_count"), (2, 4))
        del group["node_count"]
        self.assertEqual(group, after)


def _fields(row: Any, observed: Collection[str]) -> dict[str, Any]:
    return {
        name: getattr(row, name)
        for name in row.fields
        if name not in observed and name != "cluster_template"
    }
