# SPDX-License-Identifier: Apache-2.0

"""Requests to the management cluster that go wrong while clusters are made."""

from __future__ import annotations

import functools
from typing import Any

from lab.chaos import case
from lab.chaos import faults
from lab.chaos import proxy
from lab.chaos import steps
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_RECORD = "sh.helm.release.v1."
_COMPLETE, _FAILED = "CREATE_COMPLETE", "CREATE_FAILED"

#: What a create asks for, what happens to it, and how the create ends. Before
#: its desired state is stored nobody but the user can go on, who holds the
#: token: what is not worth another attempt, as a refusal, ends it.
_ROWS: tuple[tuple[str, str, faults.Fault, str], ...] = (
    ("PATCH", r"/secrets/{}-\w+-ca\?", faults.answered(403), _FAILED),
    ("PATCH", r"/secrets/{}-\w+-etcd\?", faults.answered(500), _COMPLETE),
    (
        "PATCH",
        r"/secrets/{}-\w+-cloud-credentials\?",
        faults.unanswered,
        _COMPLETE,
    ),
    ("GET", r"/secrets\?.*name%3D{}", faults.delayed(15), _COMPLETE),
    ("POST", rf"/secrets\b.*{_RECORD}{{}}", faults.lost, _COMPLETE),
    ("POST", r"/clusters\?.*{}", faults.answered(503), _COMPLETE),
    ("PUT", rf"/secrets/{_RECORD}{{}}", faults.unanswered, _COMPLETE),
    ("PUT", r"/leases/{}", faults.lost, _COMPLETE),
)


class FaultsTest(base.LabCase):
    """All clusters are made at once."""

    def test_each_create_ends_and_its_deletion_leaves_nothing(self) -> None:
        between = self._between()
        template = self.template()
        rules, made = [], []
        for method, pattern, fault, _ in _ROWS:
            name = self.unique("fault")
            step = steps.Step("", method, pattern)
            asks = step.asks(functools.partial(str, name))
            rules.append(between.when(asks, fault))
            made.append(self.cluster(template, name=name))
        found = [
            self.until_status(each, (_COMPLETE, _FAILED)) for each in made
        ]
        self.assertEqual([True] * len(_ROWS), [r.hit.is_set() for r in rules])
        self.assertEqual(
            [status for *_, status in _ROWS],
            [each["status"] for each in found],
            str([each["status_reason"] for each in found]),
        )
        for each in found:
            self._assert_one_credential(each)
        self.delete(*made)
        for each in found:
            self.assertEqual([], self.credentials_of(each["uuid"]))
            self.assertEqual([], self.left_of(each["name"]))

    def _assert_one_credential(self, cluster: dict[str, Any]) -> None:
        """At most: what failed may have none."""
        count = len(self.credentials_of(cluster["uuid"]))
        if cluster["status"] == _COMPLETE:
            self.assertEqual(1, count)
        else:
            self.assertTrue(cluster["status_reason"])
            self.assertLessEqual(count, 1)

    def _between(self) -> proxy.Proxy:
        """A proxy between Magnum and the management cluster."""
        between, kubeconfig = case.before_kubernetes(
            self, programs.LAB / "driver-kubeconfig"
        )
        self.configure(
            kubeconfig_file=str(kubeconfig),
            # A helm that broke off leaves a revision that is waited for, for
            # as long as helm may take.
            helm_timeout="60",
        )
        return between
