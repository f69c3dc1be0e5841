# SPDX-License-Identifier: Apache-2.0

"""``check``: its lines for one and for several management clusters."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import fixtures
import requests_mock

from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.delivery import endpoint
from magnum_capi_helm.tests.unit.delivery import pki

_OF_EACH = (
    "kubeconfig",
    "management cluster",
    "clock",
    "maintenance",
    "permissions",
    "Cluster API",
    "components",
)
_OF_HOST = (
    "configuration",
    "database",
    "driver",
    "helm",
    "chart",
    "network drivers",
    "templates",
    "service user",
    "certificates",
    "delivery",
)


class CheckTest(command_case.CommandCase):
    def states(self) -> dict[str, str]:
        """Return the state of each check, in the order of the lines."""
        return {name: state for name, (state, _) in self.checked().items()}

    def test_check_is_0_when_all_is_well(self) -> None:
        found = self.states()
        self.assertEqual(dict.fromkeys((*_OF_EACH, *_OF_HOST), "ok"), found)
        self.assertEqual([*_OF_EACH, *_OF_HOST], list(found))
        self.assertEqual(0, self.code)

    def test_check_goes_on_after_a_failure(self) -> None:
        self.plane.management.unserved = {kinds.HELM_RELEASE}
        self.plane.helm.published = set()
        self.assertEqual(
            {
                **dict.fromkeys((*_OF_EACH, *_OF_HOST), "ok"),
                "Cluster API": "failed",
                "chart": "failed",
            },
            self.states(),
        )
        self.assertEqual(1, self.code)

    def test_check_says_that_it_is_frozen_and_what_ends_that(self) -> None:
        self.plane.runtime().maintenance.freeze(
            "etcd moves", "op@host", 1000.0
        )
        self.assertEqual(
            (
                "failed",
                "it is frozen by op@host: etcd moves; 'magnum-capi-helm "
                "management-cluster thaw --apply' ends that",
            ),
            self.checked()["maintenance"],
        )

    def delivery(self, certificate: str = "") -> endpoint.Endpoint:
        """A receiver of kubeconfigs, and the options for it."""
        receiver = self.useFixture(endpoint.Endpoint(certificate))
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in (
            ("delivery_key_file", f"{'a' * 44}\n"),
            ("delivery_ca_file", pki.trusted().pem),
        ):
            path = directory / name
            path.write_text(text)
            path.chmod(0o600)
            conf.CONF.set_override(name, str(path), "capi_helm")
        conf.CONF.set_override("delivery_url", receiver.url, "capi_helm")
        return receiver

    def test_check_looks_at_the_receiver_and_sends_nothing(self) -> None:
        receiver = self.delivery()
        self.assertEqual(
            (
                "ok",
                f"kubeconfigs of admin to https://127.0.0.1:{receiver.port}",
            ),
            self.checked()["delivery"],
        )
        self.assertEqual([], receiver.received)

    def test_check_refuses_a_receiver_that_is_not_to_be_trusted(self) -> None:
        stranger = pki.Authority("stranger")
        self.delivery("".join(stranger.signed("receiver", host=True)))
        state, detail = self.checked()["delivery"]
        self.assertEqual("failed", state)
        self.assertIn("is not trusted, and nothing was sent", detail)

    def test_check_stores_a_secret_where_magnum_does(self) -> None:
        conf.CONF.set_override("cert_manager_type", "barbican", "certificates")
        requests: list[str] = []
        status = 201

        def answer(request: Any, context: Any) -> dict[str, str]:
            requests.append(f"{request.method} {request.path}")
            context.status_code = status
            return {"secret_ref": "http://elsewhere.test/v1/secrets/s-1"}

        self.openstack.mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{openstack.KEYS}/v1/secrets"),
            json=answer,
        )
        self.assertEqual(
            ("ok", f"barbican at {openstack.KEYS}"),
            self.checked()["certificates"],
        )
        self.assertEqual(
            ["POST /v1/secrets", "DELETE /v1/secrets/s-1"], requests
        )
        status = 403
        state, detail = self.checked()["certificates"]
        self.assertEqual("failed", state)
        self.assertIn("Barbican, as Magnum's service user", detail)
        conf.CONF.set_override("region_name", "elsewhere", "barbican_client")
        state, detail = self.checked()["certificates"]
        self.assertEqual("failed", state)
        self.assertIn("service in elsewhere region not found", detail)


class CheckPlacesTest(command_case.CommandCase):
    def found(self, *argv: str) -> list[tuple[str, str, str]]:
        """Management cluster, check and state of each line."""
        self.checked(*argv)
        return [
            (row["Management cluster"], row["Check"], row["State"])
            for row in self.lines
        ]

    def test_check_looks_at_all_or_at_those_it_is_told(self) -> None:
        self.several()["b"].management.unreachable()
        of_a = [("a", name, "ok") for name in _OF_EACH]
        of_all = [("(all)", name, "ok") for name in _OF_HOST]
        of_b = [
            ("b", name, state)
            for name, state in zip(
                _OF_EACH, ("ok", "failed", *["unknown"] * 5), strict=True
            )
        ]
        self.assertEqual([*of_a, *of_b, *of_all], self.found())
        self.assertEqual(1, self.code)
        self.assertEqual(
            [*of_a, *of_all], self.found("--management-cluster", "a")
        )
        self.assertEqual(0, self.code)
        error = self.assertRaises(
            errors.NotConfigured, self.checked, "--management-cluster", "x"
        )
        self.assertEqual(
            "there is no management cluster 'x': give one of [capi_helm] "
            "management_clusters (a, b)",
            str(error),
        )

    def test_check_finds_two_names_of_one_management_cluster(self) -> None:
        planes = self.several()
        planes["b"].management.server = planes["a"].server
        self.assertIn(("b", "management cluster", "failed"), self.found())
        self.assertIn("is configured as a as well", self.printed())
