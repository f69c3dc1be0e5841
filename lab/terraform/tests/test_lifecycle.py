# SPDX-License-Identifier: Apache-2.0

"""The sample from its first apply to its end: nothing is ever replaced."""

from __future__ import annotations

import pathlib

import fixtures

from lab.terraform.tests import workspace
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_CLUSTER = "openstack_containerinfra_cluster_v1.web"
_BATCH = "openstack_containerinfra_nodegroup_v1.batch"
_TEMPLATE = 'openstack_containerinfra_clustertemplate_v1.k8s["{}"]'


def _lifecycle(address: str, line: str) -> str:
    """What makes another line of a resource's ``lifecycle``."""
    kind, name = address.split(".")
    return f'''
resource "{kind}" "{name}" {{
  lifecycle {{
    {line}
  }}
}}
'''


class LifecycleTest(base.LabCase):
    """One cluster; each plan says what of it Terraform would change."""

    def test_no_plan_replaces_anything(self) -> None:
        # One cluster for all: each step of the provider takes a minute.
        self.old, self.new, self.newest = (
            self.unique(f"k8s-{each}") for each in ("old", "new", "newest")
        )
        self.name = self.unique("web")
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.terraform = workspace.Workspace(
            folder,
            {
                "flavor": "m1.worker",
                "keypair": "demo",
                "name": self.name,
                "template": self.old,
                "templates": {self.old: "ubuntu-v1.34.2"},
            },
        )
        self.addCleanup(self._clear)
        self._is_made()
        self._keeps_its_template()
        self._is_autoscaled()
        self._is_upgraded_beside()
        self._is_upgraded_by_terraform()
        self._is_not_destroyed_by_mistake()
        may_go = _lifecycle(_CLUSTER, "prevent_destroy = false")
        self.terraform.write("may_go_override.tf", may_go)
        self.terraform.destroy()
        self.assertIsNone(self.magnum.find(self.uuid))

    def _clear(self) -> None:
        """What a failed test left."""
        found = self.magnum.find(self.name)
        if found:
            self.delete(str(found["uuid"]))
        listed = self.magnum.call("GET", "/clustertemplates")
        for each in listed["clustertemplates"]:
            if each["name"] in (self.old, self.new, self.newest):
                path = f"/clustertemplates/{each['uuid']}"
                self.magnum.call("DELETE", path)

    def _agrees(self) -> None:
        self.assertEqual({}, self.terraform.plan().actions)

    def _is_made(self) -> None:
        self.terraform.apply()
        made = self.magnum.find(self.name) or {}
        self.uuid, self.release = str(made["uuid"]), str(made["stack_id"])
        # The autoscaler owns the last two, whose minimum is 1.
        self.assertEqual(
            {"default-master": 1, "default-worker": 2, "batch": 2},
            self._counts(),
        )
        self._agrees()
        strict = _lifecycle(_BATCH, "ignore_changes = [name]")
        self.terraform.write("strict_override.tf", strict)
        self._agrees()
        self.terraform.remove("strict_override.tf")

    def _counts(self) -> dict[str, int]:
        groups = self.magnum.nodegroups(self.uuid)
        return {name: each["node_count"] for name, each in groups.items()}

    def _keeps_its_template(self) -> None:
        """The provider would change it; Magnum does not, while it is used."""
        self.terraform.variables["templates"] = {self.old: "ubuntu-v1.35.1"}
        said = self.terraform.refusal("apply", "-auto-approve")
        self.assertIn("referenced by one or multiple clusters", said)
        self.terraform.variables["templates"] = {self.old: "ubuntu-v1.34.2"}
        self._agrees()

    def _is_autoscaled(self) -> None:
        """Both groups get another size from somebody else."""
        for group in ("default-worker", "batch"):
            name = f"{self.release}-{group}"
            self.plane.patch(
                kinds.MACHINE_DEPLOYMENT,
                self.namespace,
                name,
                {"spec": {"replicas": 3}},
            )
        grown = {"default-master": 1, "default-worker": 3, "batch": 3}
        self.until(lambda: self._counts() == grown, 180)
        self._agrees()
        self._would_be_resized()

    def _would_be_resized(self) -> None:
        """Without ``ignore_changes`` of ``node_count``."""
        for number, address in enumerate((_CLUSTER, _BATCH)):
            strict = _lifecycle(address, "ignore_changes = [name]")
            self.terraform.write(f"strict_{number}_override.tf", strict)
        self.assertEqual(
            {_CLUSTER: {"node_count"}, _BATCH: {"node_count"}},
            self.terraform.plan().changed,
        )
        for number in range(2):
            self.terraform.remove(f"strict_{number}_override.tf")

    def _is_upgraded_beside(self) -> None:
        """``openstack coe cluster upgrade``, then in the configuration."""
        self.terraform.variables["templates"] = {
            self.old: "ubuntu-v1.34.2",
            self.new: "ubuntu-v1.35.1",
        }
        self.assertEqual(
            {_TEMPLATE.format(self.new): ["create"]},
            self.terraform.plan().actions,
        )
        self.terraform.apply()
        programs.run(
            "bash",
            "-c",
            f". '{programs.LAB}/openrc'"
            f" && openstack coe cluster upgrade {self.name} {self.new}",
        )
        self.until_status(self.uuid, ("UPDATE_IN_PROGRESS",), 120)
        self._agrees_but_for_the_template()
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED"), 600
        )
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
        self._agrees_but_for_the_template()
        self.terraform.variables["template"] = self.new
        self._agrees()

    def _agrees_but_for_the_template(self) -> None:
        plan = self.terraform.plan()
        self.assertEqual({_CLUSTER: ["update"]}, plan.actions)
        self.assertEqual({"cluster_template_id"}, plan.changed[_CLUSTER])

    def _is_upgraded_by_terraform(self) -> None:
        self.terraform.variables["templates"] = {
            self.new: "ubuntu-v1.35.1",
            self.newest: "ubuntu-v1.35.1",
        }
        self.terraform.variables["template"] = self.newest
        plan = self.terraform.plan()
        self.assertEqual(
            {
                _CLUSTER: ["update"],
                _TEMPLATE.format(self.old): ["delete"],
                _TEMPLATE.format(self.newest): ["create"],
            },
            plan.actions,
        )
        before = self._machines()
        self.terraform.apply()
        self._agrees()
        # The templates are the same, but for their names.
        self.assertEqual(before, self._machines())

    def _machines(self) -> set[str]:
        selector = f"{view.CLUSTER_NAME_LABEL}={self.release}"
        found = self.plane.list(kinds.MACHINE, self.namespace, selector)
        return {view.name_of(each) for each in found}

    def _is_not_destroyed_by_mistake(self) -> None:
        said = self.terraform.refusal("destroy", "-auto-approve")
        self.assertIn("prevent_destroy", said)
        self.assertIsNotNone(self.magnum.find(self.uuid))
