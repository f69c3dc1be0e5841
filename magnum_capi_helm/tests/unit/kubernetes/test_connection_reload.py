# SPDX-License-Identifier: Apache-2.0
"""A kubeconfig that is replaced, against a real HTTP server."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import server


class ReplacedTest(server.ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.token("one")

    def token(self, token: str, **changes: Any) -> str:
        return self.kubeconfig(user={"token": token}, **changes)

    def through(self) -> connection.Connection:
        return connection.Connection(self.path, server.PATIENT)

    def ask(self, through: connection.Connection) -> tuple[int, list[str]]:
        """The answer's status, and with which tokens it was asked for."""
        self.server.headers.clear()
        answer = through.request("GET", "v1", "secrets")
        tokens = [each["Authorization"] for each in self.server.headers]
        return answer.status_code, [
            each.removeprefix("Bearer ") for each in tokens
        ]

    def test_another_token_is_used_from_the_next_request_on(self) -> None:
        through = self.through()
        self.assertEqual((200, ["one"]), self.ask(through))
        self.token("two")
        self.assertEqual((200, ["two"]), self.ask(through))
        self.assertEqual((200, ["two"]), self.ask(through))
        self.assertEqual(2, len(self.clients))

    def test_a_file_that_is_put_in_its_place_is_another_one(self) -> None:
        through = self.through()
        old = os.stat(self.path)
        self.path = self.token("two")
        pathlib.Path(self.path).rename(self.home / "new")
        os.utime(self.home / "new", ns=(old.st_atime_ns, old.st_mtime_ns))
        (self.home / "new").rename(self.path)
        self.assertEqual((200, ["two"]), self.ask(through))

    def test_a_refused_request_is_repeated_after_a_change(self) -> None:
        through = self.through()

        def revoked() -> tuple[int, dict[str, str]]:
            self.token("two")
            return 401, {}

        self.server.script.append(revoked)
        self.assertEqual((200, ["one", "two"]), self.ask(through))

    def test_a_second_refusal_stands(self) -> None:
        through = self.through()

        def revoked() -> tuple[int, dict[str, str]]:
            self.token("two")
            return 401, {}

        self.server.script.append(revoked)
        self.server.says(401)
        self.assertEqual((401, ["one", "two"]), self.ask(through))

    def test_a_refusal_with_the_same_file_stands(self) -> None:
        through = self.through()
        self.server.says(401)
        self.assertEqual((401, ["one"]), self.ask(through))
        self.assertEqual(1, len(self.clients))

    def test_half_a_file_is_left_until_it_is_whole(self) -> None:
        through = self.through()
        whole = pathlib.Path(self.token("two")).read_text()
        for half in (whole[: len(whole) // 2], "{", ""):
            pathlib.Path(self.path).write_text(half)
            self.assertEqual((200, ["one"]), self.ask(through), half)
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        for _ in range(2):
            self.assertEqual((200, ["one"]), self.ask(through))
        self.assertEqual("", log.output)
        pathlib.Path(self.path).write_text(whole)
        self.assertEqual((200, ["two"]), self.ask(through))

    def test_a_file_that_is_gone_is_waited_for(self) -> None:
        through = self.through()
        pathlib.Path(self.path).unlink()
        self.assertEqual((200, ["one"]), self.ask(through))
        self.token("two")
        self.assertEqual((200, ["two"]), self.ask(through))

    def test_another_certificate_makes_another_connection(self) -> None:
        authority = self.home / "ca.pem"
        authority.write_text("one")
        self.token("one", **{"certificate-authority": "ca.pem"})
        through = self.through()
        self.ask(through)
        self.assertEqual(1, len(self.clients))
        authority.write_text("another")
        self.ask(through)
        self.ask(through)
        self.assertEqual(2, len(self.clients))

    def test_a_kubeconfig_that_was_never_good_is_refused(self) -> None:
        pathlib.Path(self.path).write_text("{")
        self.assertRaises(errors.NotConfigured, self.through)

    def test_expiries_are_those_of_the_newest_kubeconfig(self) -> None:
        through = self.through()
        self.assertEqual((), through.expiries())
        # {"exp": 2000000000}
        self.token("e30.eyJleHAiOiAyMDAwMDAwMDAwfQ.e30")
        self.assertEqual([2e9], [each.time for each in through.expiries()])
        self.assertEqual(self.server.url, through.server)


class RuntimeTest(server.ServerTest):
    def test_a_conductor_needs_no_restart(self) -> None:
        path = self.kubeconfig(user={"token": "one"})
        settings = options.ManagementCluster(
            "replaced", path, "kubeconfig_file"
        )
        management = runtime.build(settings=settings).management
        for token in ("one", "two"):
            self.kubeconfig(user={"token": token})
            management.get(kinds.SECRET, "ns", "s")
        self.assertEqual(
            ["Bearer one", "Bearer two"],
            [each["Authorization"] for each in self.server.headers],
        )
