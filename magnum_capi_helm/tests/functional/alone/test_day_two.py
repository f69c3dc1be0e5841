# SPDX-License-Identifier: Apache-2.0

"""A cluster on its second day, as its operator sees it."""

from __future__ import annotations

import json

from prometheus_client import parser

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

#: Seconds that a command may wait for machines.
_LONGEST = 600
_DONE = ("UPDATE_COMPLETE", "UPDATE_FAILED")


class DayTwoTest(base.LabCase):
    """One cluster, and one command after the other."""

    def test_everything_changes_and_no_machine_but_who_is_to(self) -> None:
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
        before = self._machines()
        self._measured()
        self._is_frozen_and_thawed()
        self._what_is_lost_comes_back()
        self._tells_the_way_to_the_cloud()
        self.configure(values_files=values)
        self._is_rolled_out()
        self.assertEqual(before, self._machines())
        self._is_renewed(before)

    def _machines(self) -> dict[str, bool]:
        """Names, and whether each is of the control plane."""
        selector = f"{view.CLUSTER_NAME_LABEL}={self.release}"
        return {
            view.name_of(each): view.CONTROL_PLANE_LABEL
            in view.labels_of(each)
            for each in self.plane.list(
                kinds.MACHINE, self.namespace, selector
            )
        }

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

    def _what_is_lost_comes_back(self) -> None:
        """An operator puts the desired state back from a backup."""
        secret = (
            kinds.SECRET,
            self.namespace,
            names.desired_state(self.release),
        )
        backup = self.plane.get(*secret)
        assert backup is not None
        self.plane.delete(*secret)
        for field in ("uid", "resourceVersion", "creationTimestamp"):
            del backup["metadata"][field]
        self.plane.create(kinds.SECRET, backup)

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

    def _is_renewed(self, before: dict[str, bool]) -> None:
        label = "certificates_expiry_days=60"
        words = ("cluster", "apply", "--label", label, self.uuid)
        self.assertEqual("would change", self._line(*words)["Result"])
        line = self._line(*words, "--apply")
        self.assertEqual("changed", line["Result"], str(line))
        self.assertEqual(before, self._machines())
        self.expire_certificates(self.release)
        workers = {name for name, masters in before.items() if not masters}
        self.until(
            lambda: before.keys() & self._machines().keys() == workers, 300
        )
        row = self.until_status(self.uuid, _DONE)
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
