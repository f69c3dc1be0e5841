# SPDX-License-Identifier: Apache-2.0
"""Requests and polls that a guard refuses, and machines by their UID."""

from __future__ import annotations

import json
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from lab.drills import looks
from lab.drills import planes
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import database

CHART = "0.27.0"
_PARTS = (
    "intent.json",
    "values.json.gz",
    "before.json",
    "before-values.json.gz",
    "moves.json",
)
#: Seconds: several polls of both kinds.
_LONG = 45
_FAILED = ("UPDATE_FAILED",)
_STATUS = (
    "UPDATE cluster SET status = :value, status_reason = NULL"
    " WHERE uuid = :uuid"
)
_COUNT = (
    "UPDATE nodegroup SET node_count = :value"
    " WHERE cluster_id = :uuid AND name = 'default-worker'"
)


class OutdatedCase(planes.PlaneCase):
    """One cluster at a time, with a nodegroup ``extra``."""

    # Steps

    def make(self, name: str) -> None:
        """Make a cluster, and a nodegroup ``extra`` in it."""
        self.name = name
        labels = {"capi_helm_chart_version": CHART}
        self.uuid = self.made(name, self.template(labels=labels))
        self.called = self.release(self.uuid)
        self._group_request("POST", "extra")
        self.until(lambda: self._group("extra").get("node_addresses"), 300)
        self.until_status(self.uuid, ("UPDATE_COMPLETE",))

    def refuses(self, reason: str) -> None:
        """Every request and every poll; nothing changes."""
        before = self.uids(), self.history(self.called)
        self._resize_fails(reason)
        self._group_request("POST", "more")
        self._group_fails("more", "CREATE_FAILED", reason)
        self._group_request("DELETE", "extra")
        self._group_fails("extra", "DELETE_FAILED", reason)
        self._upgrade_refused(reason)
        self._polls(reason)
        self.assertEqual(before[0], self.uids())
        self.assertEqual(before[1], self.history(self.called))
        self.tell(
            f"  {len(before[0])} machines are the same, and helm has no new "
            "revision"
        )

    def _resize_fails(self, reason: str) -> None:
        self.ask(self.uuid, 5)
        row = self.until_status(self.uuid, _FAILED, 60)
        self.assertIn(reason, str(row["status_reason"]))
        self.tell(f"$ openstack coe cluster resize {self.name} 5")
        self.tell(f"  UPDATE_FAILED: {row['status_reason']}")

    def _group_fails(self, name: str, status: str, reason: str) -> None:
        def failed() -> dict[str, Any]:
            found = self._group(name)
            return found if found.get("status") == status else {}

        found = self.until(failed, 60, lambda: str(self._group(name)))
        self.assertIn(reason, found["status_reason"])
        verb = status.partition("_")[0].lower()
        self.tell(
            f"$ openstack coe nodegroup {verb} {self.name} {name}: {status}"
        )

    def _upgrade_refused(self, reason: str) -> None:
        """Of one group: Magnum upgrades nothing that is UPDATE_FAILED."""
        self._write(_STATUS, "UPDATE_COMPLETE")
        body = {
            "cluster_template": self.row(self.uuid)["cluster_template_id"],
            "max_batch_size": 1,
            "nodegroup": "extra",
        }
        path = f"/clusters/{self.uuid}/actions/upgrade"
        error = self.assertRaises(
            ka_exceptions.HttpError, self.magnum.call, "POST", path, body
        )
        # The client shows the first sentence, and the reason with --debug.
        assert error.response is not None
        self.assertIn(reason, error.response.json()["errors"][0]["detail"])
        self.tell(
            f"$ openstack coe cluster upgrade {self.name} TEMPLATE "
            "--nodegroup extra: refused"
        )

    def _polls(self, reason: str) -> None:
        """Alone, with a count that is not applied; in progress and failed."""
        count = self._group("default-worker")["node_count"]
        self._write(_COUNT, 5)
        for status in ("UPDATE_IN_PROGRESS", *_FAILED):
            self._write(_STATUS, status)
            time.sleep(_LONG)
            row = self.row(self.uuid)
            # Polls wait for a chart that may come back.
            self.assertIn(row["status"], ("UPDATE_IN_PROGRESS", *_FAILED))
            self.assertIn(reason, str(row["status_reason"]))
            self.tell(f"polls, {_LONG} s: {status} and 5 nodes in the rows:")
            self.tell(f"  {row['status']} with the same reason")
        self._write(_COUNT, count)

    def works(self, cause: str, count: int) -> None:
        """A resize adds a machine, and replaces none."""
        before = self.uids()
        self.resize(self.uuid, count)
        now = self.uids()
        self.assertLess(before, now)
        self.assertEqual(1, len(now - before))
        self.tell(cause)
        self.tell(f"$ openstack coe cluster resize {self.name} {count}")
        self.tell(
            f"  UPDATE_COMPLETE, {len(before)} machines are the same, 1 is new"
        )

    def adopted(self, count: int) -> None:
        """The other way out: a Secret without a desired state."""
        self.put(dict.fromkeys(_PARTS))
        patch = json.dumps({"data": dict.fromkeys(_PARTS)})
        self.tell(
            f"$ kubectl patch secret {self.name}-intent --type merge "
            f"-p '{patch}'"
        )
        self.works("the driver adopts the release as it is", count)

    # Below

    def uids(self) -> set[str]:
        """UIDs of the machines."""
        return set(self.machines(self.uuid))

    def data(self) -> dict[str, Any]:
        """The parts of the Secret that are the desired state."""
        called = names.desired_state(self.called)
        found = self.plane.get(kinds.SECRET, self.namespace, called)
        assert found is not None
        return {key: found["data"].get(key) for key in _PARTS}

    def put(self, data: dict[str, Any]) -> None:
        """Replace those parts, as an operator does."""
        patch = json.dumps({"data": data})
        called = names.desired_state(self.called)
        looks.kubectl(
            *("-n", self.namespace, "patch", "secret", called),
            *("--type", "merge", "-p", patch),
        )

    def _write(self, statement: str, value: object) -> None:
        database.write(statement, value=value, uuid=self.uuid)

    def _group(self, name: str) -> dict[str, Any]:
        return self.magnum.nodegroups(self.uuid).get(name) or {}

    def _group_request(self, method: str, name: str) -> None:
        path = f"/clusters/{self.uuid}/nodegroups"
        if method == "DELETE":
            self.magnum.call(method, f"{path}/{name}")
            return
        body = {"name": name, "flavor_id": "m1.worker", "node_count": 1}
        self.magnum.call(method, path, body)
        self.until(lambda: self._group(name), 30)
