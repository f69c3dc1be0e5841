# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm list --user``: what breaks when somebody leaves."""

from __future__ import annotations

import json
from typing import Any
import uuid

from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import listed
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing

SECRET = f"{base.RELEASE}-cloud-credentials"
SUCCESSOR = "0123456789abcdef0123456789abcdef"


class OwnersTest(base.FlowTestCase):
    """A cluster that fake_user made, and the credential with it."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def found(self, *argv: str) -> list[tuple[str, str]]:
        """Name and word of each line."""
        return [
            (each["Name"], each["Credential"])
            for each in listed.run("--user", *argv)[1]
        ]

    def give(self, *entries: credential_secret.Entry) -> None:
        """The Secret lists these credentials."""
        change = {
            "metadata": {
                "annotations": credential_secret.entries_annotation(entries)
            }
        }
        self.server.patch(kinds.SECRET, base.NAMESPACE, SECRET, change)

    def named(self, *ids: str) -> None:
        """Keystone knows so many users called Ann."""
        self.openstack.mocker.get(
            f"{openstack.IDENTITY}/users?name=Ann",
            json={"users": [{"id": each, "name": "Ann"} for each in ids]},
        )

    def test_the_column_is_there_for_a_user_alone(self) -> None:
        self.assertNotIn("Credential", listed.run()[1][0])
        self.assertEqual([("web", "theirs")], self.found(openstack.USER))

    def test_nobody_elses_are_listed(self) -> None:
        self.assertEqual([], self.found(SUCCESSOR))

    def test_a_rotation_hands_it_over(self) -> None:
        self.login(user=SUCCESSOR)
        row = self.row()
        row.keypair = None
        row.save()
        self.rotate()
        self.assertEqual([("web", "theirs")], self.found(SUCCESSOR))
        # The old one is to be deleted, and breaks nothing.
        self.named(openstack.USER)
        self.assertEqual([], self.found("Ann"))

    def test_one_whose_credential_is_another_users(self) -> None:
        self.give(
            credential_secret.Entry(openstack.USER, id="1", since=1.0),
            credential_secret.Entry(SUCCESSOR, id="2", since=2.0),
            # Keystone was asked for it, and nobody knows what came of it.
            credential_secret.Entry("third", name="x"),
        )
        self.assertEqual([("web", SUCCESSOR)], self.found(openstack.USER))
        self.assertEqual([("web", "theirs")], self.found(SUCCESSOR))
        self.assertEqual([], self.found("0" * 32))

    def test_without_a_list_the_row_tells(self) -> None:
        change = {
            "metadata": {"annotations": {credential_secret.ANNOTATION: None}}
        }
        self.server.patch(kinds.SECRET, base.NAMESPACE, SECRET, change)
        self.assertEqual([("web", "theirs")], self.found(openstack.USER))
        self.give(credential_secret.Entry("third", name="x"))
        self.assertEqual([("web", "theirs")], self.found(openstack.USER))

    def test_one_that_was_refused_has_none(self) -> None:
        self.saved(
            uuid=str(uuid.uuid4()), name="young", user_id=openstack.USER
        )
        self.assertEqual(
            [("web", "theirs"), ("young", "none")],
            sorted(self.found(openstack.USER)),
        )

    def test_a_name_is_looked_up(self) -> None:
        self.named(openstack.USER)
        self.assertEqual([("web", "theirs")], self.found("Ann"))

    def test_names_that_are_nobodys_or_of_several(self) -> None:
        for ids, text in (
            (
                (),
                "--user 'Ann': no user has that name, and no cluster has a "
                "user with that id: give the id that the user had",
            ),
            (
                ("u-2", "u-1"),
                "--user 'Ann' is the name of 2 users: give one of these ids: "
                "u-1, u-2",
            ),
        ):
            self.named(*ids)
            error = self.assertRaises(errors.InvalidInput, self.found, "Ann")
            self.assertEqual(text, str(error))

    def test_a_keystone_that_says_nothing(self) -> None:
        self.openstack.mocker.get(
            f"{openstack.IDENTITY}/users",
            status_code=403,
            json={"error": {"message": "no", "code": 403}},
        )
        error = self.assertRaises(errors.CloudError, self.found, "Ann")
        self.assertIn("give the user's id", str(error))
        self.openstack.stop(openstack.IDENTITY)
        self.assertRaises(errors.CloudUnreachable, self.found, "Ann")
        # By id it is not asked.
        self.assertEqual([("web", "theirs")], self.found(openstack.USER))
        self.give(credential_secret.Entry(SUCCESSOR, id="2", since=2.0))
        self.assertEqual([("web", SUCCESSOR)], self.found(openstack.USER))

    def test_what_can_not_be_read_is_not_known(self) -> None:
        self.management.unreachable()
        self.assertEqual([("web", "unknown")], self.found(openstack.USER))

    def test_a_list_that_is_damaged_is_not_known(self) -> None:
        change = {
            "metadata": {"annotations": {credential_secret.ANNOTATION: "no"}}
        }
        self.server.patch(kinds.SECRET, base.NAMESPACE, SECRET, change)
        self.assertEqual([("web", "unknown")], self.found(openstack.USER))

    def test_namespaces_are_read_one_by_one_where_it_has_to_be(self) -> None:
        self.give(credential_secret.Entry(SUCCESSOR, id="2", since=2.0))
        original = self.management.list

        def refused(
            kind: kinds.Kind, namespace: str | None, *args: Any, **options: Any
        ) -> Any:
            if namespace is None:
                raise responses.ForbiddenError("forbidden")
            return original(kind, namespace, *args, **options)

        self.management.list = refused  # type: ignore[method-assign]
        self.assertEqual([("web", SUCCESSOR)], self.found(openstack.USER))

    def test_no_secret_is_read(self) -> None:
        self.management.requests.clear()
        self.found(openstack.USER)
        asked = [tuple(each) for each in self.management.requests]
        self.assertNotIn(("get", "Secret", SECRET), asked)
        # Credentials and records of helm.
        self.assertEqual(2, asked.count(("list", "Secret", "")))
        self.assertNotIn("s3cret", json.dumps(self.found(openstack.USER)))


class OwnersOfSeveralTest(placing.LocationTestCase):
    """Two management clusters, and a cluster on b."""

    def test_one_that_is_down_says_nothing_of_the_other(self) -> None:
        self.made()
        self.stop("a")
        lines = listed.run("--user", openstack.USER)[1]
        found = [
            (each["Name"], each["Management cluster"], each["Credential"])
            for each in lines
        ]
        self.assertEqual([("web", "b", "theirs"), ("", "a", "")], found)
