# SPDX-License-Identifier: Apache-2.0

"""The keypair of a cluster whose owner changes by a rotation."""

from __future__ import annotations

from typing import cast

from magnum.common import exception

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.credentials import keypair
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.credentials import rotating
from magnum_capi_helm.tests.unit.lifecycle import base

KEY = "ssh-ed25519 AAAA mine"


class KeypairTest(rotating.RotationTestCase):
    """The new owner gets the keypair that machines ask for."""

    def setUp(self) -> None:
        self.keypairs = {("", "mine"): KEY}
        super().setUp()
        self.login(user="other_user")

    def forget(self) -> None:
        """As with a cluster of 1.4.0."""
        change = {"data": {"keypair.json": None}}
        self.edit(kinds.SECRET, base.INTENT, change)

    def outcome(
        self, asking: str, owner: str, user: str = "other_user"
    ) -> str:
        """The key that a user gets, or why he gets none.

        :param asking: what he has under that name
        :param owner: what Nova has for the owner so far
        """
        keys = {("", "mine"): asking, ("fake_user", "mine"): owner}
        self.keypairs = {name: key for name, key in keys.items() if key}
        try:
            found = keypair.to_import(
                self.new_operation(),
                cast("catalogue.Cloud", self.catalogue(None)),
                user,
            )
        except errors.InvalidInput as error:
            return str(error)
        return found.public_key if found else ""

    def test_the_new_owner_gets_the_clusters_key_or_is_refused(self) -> None:
        """A cluster of 1.4.0 has the key of its old owner."""
        another = "your keypair is not the cluster's of that name"
        other = "ssh-ed25519 BBBB"
        self.assertEqual("", self.outcome(other, "", "fake_user"))
        for old, title, asking, owner, expected in (
            (False, "he has none", "", "", KEY),
            (False, "another comment", f"{KEY}-at-home", "", ""),
            (False, "he has another one", other, KEY, another),
            (True, "he has none", "", KEY, KEY),
            (True, "nobody has", "", "", "nobody has the cluster's keypair"),
            (True, "he alone has one", other, "", ""),
        ):
            if old:
                self.forget()
            found = self.outcome(asking, owner)
            self.assertEqual(expected, found[: len(expected) or None], title)

    def test_the_key_is_imported_and_kept(self) -> None:
        self.forget()
        self.keypairs = {("fake_user", "mine"): KEY}
        self.rotate()
        self.assertEqual(KEY, self.keypairs["", "mine"])
        self.assertIn("keypair.json", self.intent_keys())

    def test_a_refusal_comes_before_the_first_write(self) -> None:
        self.keypairs = {("", "mine"): "ssh-ed25519 BBBB"}
        before = self.secret()
        self.assertRaises(exception.InvalidParameterValue, self.rotate)
        self.assertEqual(before, self.secret())

    def test_a_cluster_without_a_key_pair_needs_none(self) -> None:
        self.save(keypair=None)
        self.keypairs = {}
        self.rotate()
        self.assertEqual({}, self.keypairs)
