# SPDX-License-Identifier: Apache-2.0
"""Verdicts on objects that a real Cluster API 1.13 wrote.

``_both_versions.json``: one control plane and one worker, read with both
versions of the API; once complete, once with a worker that no host has room
for.
"""

from __future__ import annotations

import json
from typing import Any

from oslotest import base

from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import documents

VERSIONS = ("v1beta1", "v1beta2")
NOW = 1795287000.0
_RECORDED = json.loads((documents.FOLDER / "_both_versions.json").read_text())


def seen(what: str, version: str) -> view.View:
    record: dict[str, Any] = _RECORDED[what]
    objects = record[version]
    return view.View(
        release=record["release"],
        cluster=objects["cluster"][0],
        control_plane=objects["control_plane"][0],
        deployments=tuple(objects["deployments"]),
        machines=tuple(objects["machines"]),
        addons=tuple(record["addons"]),
        revisions=(view.Revision(1, "deployed"),),
        infrastructure=record["infrastructure"][0],
        infra_machines=tuple(record["infra_machines"]),
        clock=view.Clock(NOW),
    )


def verdict(view_: view.View) -> cluster_status.Verdict:
    rows = requested_groups.Rows(
        uuid="u",
        release=view_.release,
        groups=(
            requested_groups.Group(
                "u-m", "default-master", "default-master", True, 1
            ),
            requested_groups.Group(
                "u-w", "default-worker", "default-worker", False, 1
            ),
        ),
    )
    return cluster_status.verdict(
        view_,
        cluster_status.Expected(
            rows,
            documents.REQUIRED,
            frozenset(map(view.name_of, view_.addons)),
        ),
    )


class CompleteTest(base.BaseTestCase):
    def test_a_recorded_cluster_is_complete_in_both_versions(self) -> None:
        for version in VERSIONS:
            self.assertEqual(
                cluster_status.Verdict(
                    reason="",
                    groups={
                        "default-master": cluster_status.GroupVerdict(
                            "", ("192.168.3.237",), version="v1.34.2"
                        ),
                        "default-worker": cluster_status.GroupVerdict(
                            "", ("192.168.3.117",), version="v1.34.2"
                        ),
                    },
                    api_address="https://127.88.150.138:6443",
                    coe_version="v1.34.2",
                ),
                verdict(seen("complete", version)),
            )

    def test_a_recorded_cluster_is_healthy_in_both_versions(self) -> None:
        for version in VERSIONS:
            self.assertEqual(
                health.Health(
                    "HEALTHY",
                    {
                        "api": "ok",
                        "p1-c5f41ff2be12-control-plane-qqbh5.Ready": "True",
                        "p1-c5f41ff2be12-default-worker-4mbk9-n8r7k.Ready": (
                            "True"
                        ),
                    },
                ),
                health.health(seen("complete", version)),
            )


class NoHostTest(base.BaseTestCase):
    MACHINE = "nh-45f11a8de301-default-worker-w22vn-kjnr8"

    def test_the_reason_names_group_machine_and_what_nova_said(self) -> None:
        reason = (
            f"nodegroup default-worker: machine {self.MACHINE}: "
            "No valid host was found: the cloud has no room for a server of "
            "this flavor there; choose another flavor or availability zone, "
            "or ask the operator; auto-healing then replaces the machine, or "
            "resize with --nodes-to-remove [no-host]"
        )
        for version in VERSIONS:
            found = verdict(seen("no_host", version))
            self.assertEqual(reason, found.reason)
            self.assertEqual(
                cluster_status.GroupVerdict(reason, ()),
                found.groups["default-worker"],
            )
            self.assertEqual("", found.groups["default-master"].reason)

    def test_its_health_is_not_known(self) -> None:
        for version in VERSIONS:
            found = health.health(seen("no_host", version))
            self.assertEqual("UNKNOWN", found.status)
            self.assertEqual("Unknown", found.reason[f"{self.MACHINE}.Ready"])
