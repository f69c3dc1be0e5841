# SPDX-License-Identifier: Apache-2.0

"""What the drills about management clusters look at."""

from __future__ import annotations

from collections.abc import Sequence
import json
import time
from typing import Any

from lab.drills import case
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import programs

_OVER = ("UPDATE_COMPLETE", "UPDATE_FAILED")


def kubectl(*words: str, seconds: float = 120) -> str:
    """What kubectl prints, as the management cluster's administrator."""
    return programs.run(
        str(programs.LAB / "bin" / "kubectl"),
        f"--kubeconfig={programs.LAB / 'kubeconfig'}",
        *words,
        seconds=seconds,
    )


class PlaneCase(case.DrillCase):
    """Helpers of the drills."""

    def made(self, name: str, template: str, **fields: Any) -> str:
        """The UUID of a complete cluster."""
        found = self.cluster(template, name=self.unique(name), **fields)
        row = self.until_status(found, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", row["status"], str(row))
        return found

    def row(self, cluster: str) -> dict[str, Any]:
        """A cluster that is there."""
        found = self.magnum.find(cluster)
        assert found is not None
        return found

    def release(self, cluster: str) -> str:
        """The name of its helm release."""
        return str(self.row(cluster)["stack_id"])

    def machines(self, cluster: str) -> dict[str, str]:
        """UIDs of its live machines, and their names."""
        selector = f"{view.CLUSTER_NAME_LABEL}={self.release(cluster)}"
        return {
            each["metadata"]["uid"]: view.name_of(each)
            for each in self.plane.list(
                kinds.MACHINE, self.namespace, selector
            )
            if not view.deleting(each)
        }

    def ask(self, cluster: str, count: int) -> None:
        """Ask for a resize, and wait for nothing."""
        path = f"/clusters/{cluster}/actions/resize"
        self.magnum.call("POST", path, {"node_count": count})

    def upgrade(self, cluster: str, template: str) -> None:
        """Ask for an upgrade, and wait for nothing."""
        self.magnum.call(
            "POST",
            f"/clusters/{cluster}/actions/upgrade",
            {"cluster_template": template, "max_batch_size": 1},
        )

    def ended(
        self, cluster: str, wanted: Sequence[str] = _OVER
    ) -> dict[str, Any]:
        """The cluster, once an update is over."""
        self.until_status(cluster, ("UPDATE_IN_PROGRESS",), 120)
        return self.until_status(cluster, wanted)

    def deleted(self, cluster: str) -> None:
        """It goes, and nothing of it stays."""
        release = self.release(cluster)
        began = time.monotonic()
        self.delete(cluster)
        self.assertEqual([], self.left_of(release))
        name = release.partition("-")[0]
        self.tell(
            f"$ openstack coe cluster delete {name}: gone after "
            f"{time.monotonic() - began:.0f} s; nothing of it is left on the "
            "management cluster"
        )

    def tells_history(self, release: str) -> None:
        """The revisions, as helm shows them."""
        self.tell("$ helm history")
        for each in self.history(release):
            self.tell(f"  {each}")

    def history(self, release: str) -> list[str]:
        """Revision, status, chart, description of each revision."""
        text = programs.run(
            str(programs.LAB / "bin" / "helm"),
            "history",
            release,
            f"--namespace={self.namespace}",
            f"--kubeconfig={programs.LAB / 'kubeconfig'}",
            "--output=json",
        )
        return [
            f"{each['revision']}  {each['status']}  {each['chart']}  "
            f"{each['description'].partition(',')[0]}"
            for each in json.loads(text)
        ]
