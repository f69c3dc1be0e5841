# SPDX-License-Identifier: Apache-2.0

"""``cluster apply --cloud-settings``: the CAs that a cluster trusts then."""

from __future__ import annotations

import base64

import certifi

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import refreshed
from magnum_capi_helm.tests.unit.lifecycle import base


class TrustTest(refreshed.RefreshTestCase):
    def test_new_and_old_cas_are_both_trusted_each_once(self) -> None:
        gone = refreshed.ca("gone", days=-1)
        self.trust(refreshed.ca("old"), gone)
        self.refresh("--apply")
        self.trust(refreshed.ca("new"), refreshed.ca("old"))
        self.refresh("--apply")
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        bundle = self.data("cacert")
        self.assertEqual(
            [refreshed.ca("new"), refreshed.ca("old")],
            encoding.pem_certificates(bundle),
        )

    def test_machines_get_a_new_ca_with_an_upgrade_and_it_says_so(
        self,
    ) -> None:
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        self.assertEqual(
            {
                "Result": "nothing to do",
                "Detail": "nodes still trust the old CA: they get the new "
                "one with the cluster's next upgrade",
            },
            self.refresh(),
        )

    def test_the_release_tells_it_without_a_desired_state(self) -> None:
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        name = names.desired_state(base.RELEASE)
        self.server.delete(kinds.SECRET, base.NAMESPACE, name)
        self.assertIn("still trust the old CA", self.refresh()["Detail"])

    def test_an_expired_one_is_not_kept(self) -> None:
        self.trust(refreshed.ca("old"), refreshed.ca("gone", days=-1))
        self.refresh("--apply")
        self.assertIn(refreshed.ca("gone", days=-1), self.data("cacert"))
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        bundle = self.data("cacert")
        self.assertEqual(
            [refreshed.ca("new"), refreshed.ca("old")],
            encoding.pem_certificates(bundle),
        )

    def test_old_cas_go_when_they_are_told_to(self) -> None:
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        detail = self.refresh("--only-new-ca")["Detail"]
        self.assertIn("CAs: 1 old ones are removed", detail)
        self.refresh("--only-new-ca", "--apply")
        bundle = self.data("cacert")
        self.assertEqual(
            [refreshed.ca("new")], encoding.pem_certificates(bundle)
        )

    def test_a_cloud_whose_ca_is_public_by_now(self) -> None:
        conf.CONF.clear_override("openstack_ca_file", "drivers")
        self.assertEqual(
            {
                "Result": "would change",
                "Detail": "CAs: the public ones are new",
            },
            self.refresh(),
        )
        self.refresh("--apply")
        some = set(encoding.pem_certificates(self.data("cacert")))
        public = set(encoding.pem_certificates(certifi.contents()))
        self.assertEqual(public | {refreshed.ca("old")}, some)
        self.assertEqual("nothing to do", self.refresh()["Result"])

    def test_public_cas_that_a_host_has_got_since_are_no_reason(self) -> None:
        conf.CONF.clear_override("openstack_ca_file", "drivers")
        public = encoding.pem_certificates(certifi.contents())
        few = base64.b64encode("".join(public[:3]).encode()).decode()
        self.patch(data={"cacert": few})
        self.assertEqual("nothing to do", self.refresh("--apply")["Result"])
        self.assertEqual(few, self.secret()["data"]["cacert"])

    def test_a_bundle_that_is_none_is_refused(self) -> None:
        self.trust("no certificate")
        why = "[drivers] openstack_ca_file holds no certificates in PEM"
        self.assertEqual(
            {"Result": "refused", "Detail": why}, self.refresh("--apply")
        )
