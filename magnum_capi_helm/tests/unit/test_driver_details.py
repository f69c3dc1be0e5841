# SPDX-License-Identifier: Apache-2.0

"""Addresses, options and UIDs of the operator stay in the log."""

from __future__ import annotations

from magnum.common import exception

from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.unit.lifecycle import moving
from magnum_capi_helm.tests.unit.lifecycle import upgrading

_NO_ANSWER = "the management cluster does not answer (ConnectTimeout)"
_ELSEWHERE = (
    "the management cluster is not the one that the cluster was made on: the "
    "operator has to end that, the log says how"
)
_OPTION = "[capi_helm] kubeconfig_file"
_NOT_CONFIGURED = (
    "Magnum is not configured for this: its operator finds the reason in the "
    "log of the conductor"
)


class DetailsTest(moving.OriginTestCase, upgrading.UpgradeTestCase):
    """A tenant reads statuses and answers, the operator reads the log."""

    def reasons(self) -> list[str]:
        """Return all reasons that a tenant sees."""
        row = self.health_poll()
        health = (row.health_status_reason or {}).values()
        return [str(row.status_reason), *map(str, health)]

    def assert_hidden(self, *details: str) -> None:
        """The log has each of them, and no reason has any."""
        told = " ".join(self.reasons())
        for each in details:
            self.assertIn(each, self.log.output)
            self.assertNotIn(each, told)

    def test_the_health_hides_an_address(self) -> None:
        self.management.unreachable()
        self.assertIn(_NO_ANSWER, self.reasons())
        self.assert_hidden(management.ADDRESS)

    def test_a_refused_upgrade_hides_an_address(self) -> None:
        self.management.unreachable()
        error = self.assertRaises(
            exception.NotSupported,
            self.upgrade,
            self.template(image_id="ubuntu-1.35"),
        )
        self.assertIn(_NO_ANSWER, str(error))
        self.assertNotIn(management.ADDRESS, str(error))
        self.assert_hidden(management.ADDRESS)

    def test_a_deletion_hides_an_address(self) -> None:
        self.delete()
        self.management.unreachable()
        self.poll()
        self.assertIn(f"deletion waits: {_NO_ANSWER}", self.reasons())
        self.assert_hidden(management.ADDRESS)

    def test_another_management_cluster_hides_option_and_identities(
        self,
    ) -> None:
        self.resize(3)
        other = self.move()
        self.poll()
        self.assertIn(_ELSEWHERE, self.reasons())
        identities = (
            each.management.identity() for each in (other, self.plane)
        )
        self.assert_hidden(_OPTION, *identities)

    def test_a_wrong_option_is_hidden(self) -> None:
        for source in ("one", "another"):
            error = errors.NotConfigured(f"[capi_helm] {source} is wrong")
            self.management.fail(error, times=None)
            refused = self.assertRaises(
                exception.NotSupported,
                self.upgrade,
                self.template(image_id="ubuntu-1.35"),
            )
            self.assertIn(_NOT_CONFIGURED, str(refused))
            self.assertIn(_NOT_CONFIGURED, self.reasons())
            self.assert_hidden(f"[capi_helm] {source} is wrong")
            self.management.recover()
