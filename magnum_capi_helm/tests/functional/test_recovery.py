# SPDX-License-Identifier: Apache-2.0

"""What has failed becomes complete once its reason is gone."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import test_resize

_GROUP = "admissionregistration.k8s.io"
POLICY = kinds.Kind(
    "ValidatingAdmissionPolicy",
    _GROUP,
    ("v1",),
    fixed=True,
)
BINDING = kinds.Kind(
    "ValidatingAdmissionPolicyBinding",
    _GROUP,
    ("v1",),
    fixed=True,
)


class RecoveryTest(test_resize.ResizeCase):
    """A create that took too long, and an update that was refused."""

    def test_failed_clusters_become_complete(self) -> None:
        self.a_create_that_is_ready_too_late()
        self.an_update_that_a_webhook_refused()

    def a_create_that_is_ready_too_late(self) -> None:
        self.uuid = self.cluster(self.template(), create_timeout=1)
        release = self.until(
            lambda: (self.magnum.find(self.uuid) or {}).get("stack_id"), 60
        )
        self.release = str(release)
        self.until(lambda: self.addon("no way out"), 60)
        failed = self.until_status(self.uuid, ("CREATE_FAILED",), 180)
        self.assertIn("not done in time: ", failed["status_reason"])
        self.addon(None)
        done = self.until_status(self.uuid, ("CREATE_COMPLETE",), 240)
        self.assertIsNone(done["status_reason"])
        groups = self.magnum.nodegroups(self.uuid).values()
        self.assertEqual(
            {"CREATE_COMPLETE"}, {each["status"] for each in groups}
        )

    def addon(self, fault: str | None) -> Any:
        """Let an addon fail, or not any more."""
        return self.plane.patch(
            kinds.HELM_RELEASE,
            self.namespace,
            f"{self.release}-ccm-openstack",
            {"metadata": {"annotations": {base.ADDON_FAULT: fault}}},
        )

    def an_update_that_a_webhook_refused(self) -> None:
        name = names.machine_deployment(self.release, "default-worker")
        self.forbid(name)
        self.ask(2)
        failed = self.until_status(self.uuid, ("UPDATE_FAILED",), 90)
        self.assertIn("not on a Saturday", failed["status_reason"])
        self.assertEqual(1, len(self.machines()))
        self.allow(name)
        done = self.until_status(self.uuid, ("UPDATE_COMPLETE",), 360)
        self.assertIsNone(done["status_reason"])
        self.assertEqual(2, done["node_count"])
        self.assertEqual(2, len(self.machines()))

    def forbid(self, name: str) -> None:
        """Let the API server refuse changes of a group by helm."""
        self.plane.apply(
            POLICY,
            {
                "metadata": {"name": name},
                "spec": {
                    "failurePolicy": "Fail",
                    "matchConstraints": {
                        "resourceRules": [
                            {
                                "apiGroups": ["cluster.x-k8s.io"],
                                "apiVersions": ["*"],
                                "operations": ["UPDATE"],
                                "resources": ["machinedeployments"],
                            }
                        ]
                    },
                    "validations": [
                        {
                            "expression": f"object.metadata.name != '{name}'"
                            " || object.spec == oldObject.spec",
                            "message": "not on a Saturday",
                        }
                    ],
                },
            },
        )
        self.addCleanup(self.allow, name)
        binding = {"policyName": name, "validationActions": ["Deny"]}
        self.plane.apply(
            BINDING, {"metadata": {"name": name}, "spec": binding}
        )
        # It takes the API server a moment.
        self.until(lambda: not self._may_change(name), 30)

    def _may_change(self, name: str) -> bool:
        try:
            self.plane.patch(
                kinds.MACHINE_DEPLOYMENT,
                self.namespace,
                name,
                {"spec": {"replicas": 7}},
                dry_run=True,
            )
        except errors.ManagementError as error:
            return "Saturday" not in str(error)
        return True

    def allow(self, name: str) -> None:
        """Let it accept them again."""
        for kind in (BINDING, POLICY):
            self.plane.delete(kind, "", name)
