# SPDX-License-Identifier: Apache-2.0

"""A cluster on its second day, as its operator sees it."""

from __future__ import annotations

import json

from prometheus_client import parser

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

#: Seconds that a command may wait for machines.
_LONGEST = 600
_DONE = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class DayTwoTest(base.LabCase):
    """One cluster; no command replaces a machine."""

    def test_everything_changes_without_the_repository(self) -> None:
        values = self.create_tempfiles(
            [("values", "addons: {metricsServer: {enabled: false}}\n")]
        )[0]
        self.uuid = self.cluster(self.template())
        made = self.until_status(self.uuid, ("CREATE_COMPLETE",))
        self.release = str(made["stack_id"])
        self.assertIn(
            f"audit: cluster {self.uuid}: accepted: create, user ",
            base.magnum_log(),
        )
        # The store has the chart by now.
        programs.lab("stop", "charts")
        self.addCleanup(programs.lab, "start", "charts")
        before = self._machines()
        self._measured()
        self._is_frozen_and_thawed()
        self._tells_the_way_to_the_cloud()
        self.configure(values_files=values)
        self._is_rolled_out()
        self.assertEqual(before, self._machines())
        self.resize(self.uuid, 2)
        self.assertLess(before, self._machines())

    def _machines(self) -> set[str]:
        selector = f"{view.CLUSTER_NAME_LABEL}={self.release}"
        found = self.plane.list(kinds.MACHINE, self.namespace, selector)
        return set(map(view.name_of, found))

    def _line(self, *words: str) -> dict[str, str]:
        """The one line that a command prints."""
        (found,) = json.loads(
            programs.command(*words, "-f", "json", seconds=_LONGEST)
        )
        line: dict[str, str] = found
        return line

    def _measured(self) -> None:
        text = programs.command("metrics")
        found = {
            sample.labels.get("uuid"): sample.labels
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "magnum_capi_helm_cluster_info"
        }
        self.assertEqual(self.release, found[self.uuid]["release"])

    def _is_frozen_and_thawed(self) -> None:
        words = ("freeze", "--reason", "etcd moves", "--apply")
        programs.command("management-cluster", *words)
        thaw = ("management-cluster", "thaw", "--apply")
        self.addCleanup(programs.command, *thaw)
        path = f"/clusters/{self.uuid}/actions/resize"
        self.magnum.call("POST", path, {"node_count": 2})
        refused = self.until_status(self.uuid, ("UPDATE_FAILED",))
        self.assertIn("etcd moves", refused["status_reason"])
        programs.command(*thaw)
        done = self.until_status(self.uuid, ("UPDATE_COMPLETE",))
        self.assertEqual(1, done["node_count"])

    def _tells_the_way_to_the_cloud(self) -> None:
        line = self._line("cluster", "apply", "--cloud-settings", self.uuid)
        self.assertEqual("nothing to do", line["Result"], str(line))

    def _is_rolled_out(self) -> None:
        words = ("cluster", "apply", "--values-files", self.uuid)
        self.assertEqual("would change", self._line(*words)["Result"])
        line = self._line(*words, "--apply")
        self.assertEqual("changed", line["Result"], str(line))
        self.assertEqual("nothing to do", self._line(*words)["Result"])
        row = self.until_status(self.uuid, _DONE)
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
