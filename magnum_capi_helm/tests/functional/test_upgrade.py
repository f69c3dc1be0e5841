# SPDX-License-Identifier: Apache-2.0

"""A cluster moves to another template, and back from one that fails."""

from __future__ import annotations

import json
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_OLD = "ubuntu-v1.34.2"
_NEW = "ubuntu-v1.35.1"
_NEW_LABELS = {
    "api_server_log_level": "4",
    # Frozen in what is there: must not be in the way.
    "octavia_provider": "ovn",
    "fixed_subnet_cidr": "10.9.0.0/24",
}
_BUSY = "try again in a moment"
#: What an upgrade changes in ``coe cluster show``, and nothing else.
_CHANGED = {
    "cluster_template_id",
    "coe_version",
    "health_status_reason",
    "links",
    "master_addresses",
    "node_addresses",
    "status",
    "updated_at",
    # Magnum compares with the template that the cluster has.
    "labels_added",
    "labels_overridden",
    "labels_skipped",
}


class UpgradeCase(base.LabCase):
    """A cluster that is upgraded; the test sets its UUID."""

    uuid: str

    def accept(self, template: str, **options: str) -> None:
        """Ask for it; what other tests are in the way of, in a moment."""
        path = f"/clusters/{self.uuid}/actions/upgrade"
        body = {"cluster_template": template, "max_batch_size": 1, **options}
        for _ in range(10):
            try:
                self.magnum.call("POST", path, body)
            except ka_exceptions.BadRequest as error:
                if _BUSY not in str(error):
                    raise
            else:
                return
        self.fail(f"ten times: {_BUSY}")

    def upgrade(self, template: str, **options: str) -> None:
        self.accept(template, **options)
        self.complete()

    def complete(self) -> None:
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED")
        )
        self.assertEqual(
            ("UPDATE_COMPLETE", None), (done["status"], done["status_reason"])
        )


class UpgradeTest(UpgradeCase):
    """One cluster for all: making one takes most of the time."""

    def setUp(self) -> None:
        super().setUp()
        self.old = self.template(
            image_id=_OLD,
            labels={
                "capi_helm_chart_version": "0.26.1",
                "kube_tag": "v1.34.2",
                "api_server_log_level": "3",
            },
        )
        self.new = self.template(image_id=_NEW, labels=_NEW_LABELS)
        self.uuid = self.cluster(self.old)
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])

    def test_a_cluster_is_upgraded(self) -> None:
        self._add("keeps", image_id=self._image(_OLD))
        self.templates_that_do_not_fit_are_refused()
        self.a_whole_upgrade()
        self.one_group_is_upgraded()
        self.an_upgrade_that_fails_is_rolled_back()

    def templates_that_do_not_fit_are_refused(self) -> None:
        before = self._cluster_shown()
        for fields, text in (
            ({"image_id": "ubuntu-no-version"}, "kube_version"),
            (
                {"labels": {"capi_helm_chart_version": "0.26.0"}},
                "can't go back to an older chart",
            ),
            (
                {"labels": {"octavia_lb_algorithm": "x"}},
                "octavia_lb_algorithm",
            ),
        ):
            self._refused(self.template(**fields), text)
        self.assertEqual(before, self._cluster_shown())

    def a_whole_upgrade(self) -> None:
        before, machines = self._cluster_shown(), self._machines()
        self.upgrade(self.new)
        after = self._cluster_shown()
        self.assertLessEqual(
            {key for key in after if after[key] != before[key]}, _CHANGED
        )
        self.assertEqual("v1.35.1", after["coe_version"])
        kept = {each for each in machines if "-keeps-" in each}
        now = self._machines()
        self.assertEqual(kept, machines.keys() & now.keys())
        self.assertEqual(
            {"v1.35.1"}, {now[each] for each in now.keys() - kept}
        )
        # What is wanted is what is there: the next change rolls nothing.
        self.assertEqual(
            [], json.loads(programs.command("diff", self.uuid, "-f", "json"))
        )
        self._refused(self.old, "can't go back to an older chart")
        older = self.template(image_id=_OLD)
        self._refused(older, "can't go back to an older Kubernetes")

    def one_group_is_upgraded(self) -> None:
        machines = self._machines()
        group = self.magnum.nodegroups(self.uuid)["keeps"]["uuid"]
        self.upgrade(self.new, nodegroup=group)
        now = self._machines()
        self.assertEqual({"v1.35.1"}, set(now.values()))
        gone = machines.keys() - now.keys()
        self.assertEqual(1, len(gone), str(gone))
        self.assertIn("-keeps-", gone.pop())

    def an_upgrade_that_fails_is_rolled_back(self) -> None:
        machines = self._machines()
        # The control plane stays the same.
        bad = self.template(
            image_id=_NEW, labels=_NEW_LABELS, flavor_id="m1.worker.nohost"
        )
        self.accept(bad)
        self.until(
            lambda: (
                "No valid host" in str(self._cluster_shown()["status_reason"])
            ),
            120,
        )
        self.assertEqual(bad, self._cluster_shown()["cluster_template_id"])
        programs.command("cluster", "rollback", self.uuid, "--apply")
        self.complete()
        self.assertEqual(
            self.new, self._cluster_shown()["cluster_template_id"]
        )
        groups = self.magnum.nodegroups(self.uuid).values()
        self.assertNotIn(
            "m1.worker.nohost", {each["flavor_id"] for each in groups}
        )
        control_plane = {k for k in machines if "-control-plane-" in k}
        self.assertLessEqual(control_plane, self._machines().keys())
        # The same template again is legal, and rolls nothing.
        machines = self._machines()
        self.upgrade(self.new)
        self.assertEqual(machines, self._machines())

    # Helpers

    def _cluster_shown(self) -> dict[str, Any]:
        """``coe cluster show``, but for what any poll may change."""
        found = self.magnum.find(self.uuid) or {}
        for key in ("updated_at", "health_status", "health_status_reason"):
            found.pop(key, None)
        return found

    def _refused(self, template: str, text: str) -> None:
        refused = self.assertRaises(
            ka_exceptions.BadRequest, self.accept, template
        )
        assert refused.response is not None
        # All that `openstack coe` shows.
        title = refused.response.json()["errors"][0]["title"]
        self.assertIn(text, title)

    def _add(self, name: str, **fields: str) -> None:
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        path = f"/clusters/{self.uuid}/nodegroups"
        self.magnum.call("POST", path, {**body, **fields})
        self.until(
            lambda: (
                self.magnum.nodegroups(self.uuid).get(name, {}).get("status")
                == "CREATE_COMPLETE"
            ),
            180,
        )
        self.complete()

    def _image(self, name: str) -> str:
        """The UUID of an image: other words than the template's for it."""
        found = self.magnum.session.get(
            "/v2/images",
            endpoint_filter={"service_type": "image"},
            params={"name": name},
        )
        return str(found.json()["images"][0]["id"])

    def _machines(self) -> dict[str, str]:
        """Name of each machine, which no other will have -> version."""
        found = self.plane.list(
            kinds.MACHINE,
            self.namespace,
            f"{view.CLUSTER_NAME_LABEL}={self.release}",
        )
        return {
            view.name_of(e): str(view.spec_of(e)["version"]) for e in found
        }
