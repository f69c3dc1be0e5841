# SPDX-License-Identifier: Apache-2.0

"""Requests that can't be served: one line that says what to do."""

from __future__ import annotations

from keystoneauth1 import adapter
from keystoneauth1 import session
from keystoneauth1.identity import v3

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api


class RefusalsTest(base.LabCase):
    """Refused creates, and that they can be deleted."""

    def test_what_a_user_can_correct_is_said_and_can_be_deleted(self) -> None:
        plain = self.template()
        cases = {
            self.cluster(
                self.template(image_id="ubuntu-no-version")
            ): "image_id: the image has no property kube_version; set it",
            self.cluster(
                self.template(flavor_id="m1.tiny")
            ): "Flavor 'm1.tiny' has 1 VCPUs and 512 MiB",
            self.cluster(
                self.template(labels={"capi_helm_chart_version": "9.9.9"})
            ): "It is openstack-cluster 9.9.9 of ",
            self.cluster(
                plain, labels={"octavia_lb_algorithm": "RANDOM"}
            ): "label octavia_lb_algorithm: give ROUND_ROBIN",
            self.cluster(
                plain, magnum=self._restricted_user()
            ): "logged in with a restricted one: log in with a password",
        }
        for cluster, text in cases.items():
            failed = self.until_status(
                cluster, ("CREATE_FAILED", "CREATE_COMPLETE"), 60
            )
            self.assertEqual("CREATE_FAILED", failed["status"], text)
            self.assertIn(text, failed["status_reason"])
            self.assertNotIn("\n", failed["status_reason"])
            self.assertNotIn("Traceback", failed["status_reason"])
            self.assertIsNone(failed["stack_id"])
            for group in self.magnum.nodegroups(cluster).values():
                self.assertEqual("CREATE_FAILED", group["status"])
        self.delete(*cases)
        for cluster in cases:
            self.assertEqual([], self.credentials_of(cluster))

    def _restricted_user(self) -> magnum_api.Magnum:
        """The demo user, logged in with a restricted credential."""
        user = self.magnum.session.get_user_id()
        url = f"/users/{user}/application_credentials"
        keystone = adapter.Adapter(
            self.magnum.session, service_type="identity"
        )
        # Its roles are named: those of a token are not always his.
        wanted = {"name": self.unique("ac"), "roles": [{"name": "member"}]}
        made = keystone.post(
            url, json={"application_credential": wanted}
        ).json()["application_credential"]
        self.addCleanup(keystone.delete, f"{url}/{made['id']}")
        auth = v3.ApplicationCredential(
            magnum_api.KEYSTONE,
            application_credential_id=made["id"],
            application_credential_secret=made["secret"],
        )
        return magnum_api.Magnum(session.Session(auth))
