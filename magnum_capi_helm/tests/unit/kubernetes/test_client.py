# SPDX-License-Identifier: Apache-2.0

"""The client: absent, unreadable and refused are different answers."""

from __future__ import annotations

from typing import Any

from oslotest import base
import requests

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import api


class GetTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        api.no_pauses(self)

    def test_an_error_names_its_management_cluster(self) -> None:
        rows: list[tuple[api.Answer | Exception, str]] = [
            (
                requests.ConnectTimeout(),
                "the management cluster east does not answer "
                "(ConnectTimeout). It is https://management.example.org",
            ),
            (
                api.status(400, "no"),
                "the management cluster east refused GET Secret s (400). no",
            ),
        ]
        for answer, expected in rows:
            transport = api.Scripted(answer)
            named = client.Client(lambda: transport, {}, "east")  # noqa: B023
            error = self.assertRaises(
                errors.ManagementError, named.get, kinds.SECRET, "ns", "s"
            )
            self.assertEqual(expected, errors.explained(error))

    def test_a_get_returns_the_object(self) -> None:
        management, transport = api.over(api.Answer(200, {"kind": "Secret"}))
        self.assertEqual(
            {"kind": "Secret"}, management.get(kinds.SECRET, "ns", "s")
        )
        self.assertEqual([("GET", "v1 in ns secrets/s")], transport.asked)

    def test_absent_is_none(self) -> None:
        management, _ = api.over(api.status(404))
        self.assertIsNone(management.get(kinds.SECRET, "ns", "s"))

    def test_every_other_refusal_is_an_exception_of_its_class(self) -> None:
        rows = {
            400: errors.ManagementError,
            401: responses.UnauthorizedError,
            403: responses.ForbiddenError,
            409: errors.Conflict,
            410: responses.ExpiredError,
            422: errors.ManagementError,
            429: errors.ManagementUnreachable,
            500: errors.ManagementUnreachable,
            502: errors.ManagementUnreachable,
            503: errors.ManagementUnreachable,
            504: errors.ManagementUnreachable,
        }
        found = {}
        for code in rows:
            # Asked three times, where another answer may come.
            answer = api.status(code, "words of the server")
            management, _ = api.over(*[answer] * 3)
            error = self.assertRaises(
                errors.CapiHelmError,
                management.get,
                kinds.SECRET,
                "ns",
                "s",
            )
            self.assertIn("words of the server", str(error))
            self.assertIn(f"({code})", str(error))
            found[code] = type(error)
        self.assertEqual(rows, found)

    def test_forbidden_says_what_to_check(self) -> None:
        for code in (401, 403):
            management, _ = api.over(api.status(code, "no"))
            error = self.assertRaises(
                errors.ManagementError,
                management.get,
                kinds.SECRET,
                "ns",
                "s",
            )
            self.assertEqual(
                f"the management cluster refused GET Secret s ({code}); "
                "check the kubeconfig's user and its permissions. no",
                str(error),
            )

    def test_a_refused_list_names_the_kind(self) -> None:
        management, _ = api.over(api.status(403, "no"))
        error = self.assertRaises(
            errors.ManagementError, management.list, kinds.SECRET, "ns"
        )
        self.assertIn("refused GET Secret (403)", str(error))

    def test_a_refusal_that_is_no_json(self) -> None:
        bodies: list[Any] = ["<html>", "[]", None, {}]
        for body in bodies:
            management, _ = api.over(
                *[api.Answer(502, body, "Bad Gateway")] * 3
            )
            error = self.assertRaises(
                errors.ManagementUnreachable,
                management.get,
                kinds.SECRET,
                "ns",
                "s",
            )
            self.assertIn("(502). Bad Gateway", str(error))

    def test_an_answer_that_was_cut_short_is_no_absence(self) -> None:
        management, _ = api.over(api.Answer(200, '{"kind": "Sec'))
        self.assertRaises(
            errors.ManagementUnreachable,
            management.get,
            kinds.SECRET,
            "ns",
            "s",
        )

    def test_no_answer_names_the_server_and_no_url(self) -> None:
        management, _ = api.over(
            requests.ConnectTimeout("https://user:secret@host/api")
        )
        error = self.assertRaises(
            errors.ManagementUnreachable,
            management.get,
            kinds.SECRET,
            "ns",
            "s",
        )
        self.assertEqual(
            "the management cluster does not answer (ConnectTimeout). It is "
            "https://management.example.org",
            errors.explained(error),
        )
        self.assertEqual(
            "the management cluster does not answer (ConnectTimeout)",
            str(error),
        )
