# SPDX-License-Identifier: Apache-2.0

"""``list``: clusters that know the cloud as it was."""

from __future__ import annotations

from magnum_capi_helm.cli import inventory
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import listed
from magnum_capi_helm.tests.unit.cli import refreshed
from magnum_capi_helm.tests.unit.lifecycle import base

STALE = "stale: the cloud's endpoint, region, interface or CA has changed"
NODES = (
    "stale: nodes still trust the old CA: they get the new one with the "
    "cluster's next upgrade"
)
INTENT = (kinds.SECRET, base.NAMESPACE, names.desired_state(base.RELEASE))


class StaleTest(refreshed.RefreshTestCase):
    """A complete cluster, made with a private CA."""

    def setUp(self) -> None:
        super().setUp()
        # Its chart is in a label: nobody looks it up in the intent.
        key = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*key, listed.CHART)

    def listed(self) -> tuple[int, str]:
        """Exit code, and the state of the cluster."""
        code, (line,) = listed.run()
        return code, line["State"]

    def test_a_new_ca_is_in_the_secret_first_and_on_nodes_last(self) -> None:
        self.assertEqual((0, "ok"), self.listed())
        self.trust(refreshed.ca("new"))
        self.assertEqual((1, STALE), self.listed())
        self.refresh("--apply")
        self.assertEqual((1, NODES), self.listed())
        self.trust(refreshed.ca("old"))
        self.refresh("--apply")
        self.assertEqual((0, "ok"), self.listed())

    def test_it_says_what_credentials_refresh_says(self) -> None:
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        self.assertEqual(NODES, f"stale: {self.refresh()['Detail']}")

    def test_without_an_intent_its_release_says_it(self) -> None:
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        self.server.delete(*INTENT)
        self.assertEqual((1, NODES), self.listed())

    def test_of_a_damaged_intent_nobody_knows(self) -> None:
        self.trust(refreshed.ca("new"))
        self.refresh("--apply")
        self.server.patch(*INTENT, {"data": {"intent.json": "bm8="}})
        self.assertEqual((0, "ok"), self.listed())

    def test_an_intent_that_is_not_seen_leaves_all_unknown(self) -> None:
        error = errors.ManagementUnreachable("cut off")
        self.management.fail(error, verbs=("get",), kind=kinds.SECRET)
        self.assertEqual((1, "unreachable: cut off"), self.listed())

    def test_intents_are_read_for_nobody_but_list(self) -> None:
        self.management.requests.clear()
        inventory.read(None)
        self.assertNotIn("get", self.asked())
        listed.run()
        self.assertEqual(1, self.asked().count("get"))

    def asked(self) -> list[str]:
        """How Secrets were asked for."""
        return [
            each.verb
            for each in self.management.requests
            if each.kind == "Secret"
        ]
