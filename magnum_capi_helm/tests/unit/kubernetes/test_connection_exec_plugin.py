# SPDX-License-Identifier: Apache-2.0

"""Credentials of exec plugins: how long they are used, and what is refused."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import os
import pathlib
import stat
from typing import Any

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import server

V1 = "client.authentication.k8s.io/v1"
# Gives token-1, token-2 and so on, and keeps what it was asked.
PLUGIN = """#!/bin/sh
cd "$(dirname "$0")"
echo run >> runs
printf '%s' "$KUBERNETES_EXEC_INFO" > asked
number=$(wc -l < runs)
sed "s/NUMBER/$((number))/" answer
exit "$(cat code 2>/dev/null || echo 0)"
"""


def hours(number: float) -> str:
    now = datetime.datetime.now(datetime.timezone.utc)
    end = now + datetime.timedelta(hours=number)
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")


def _memory_files() -> int:
    found = 0
    for each in pathlib.Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(each).startswith("/memfd:")
    return found


class _Plugin(server.ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.plugin = self.home / "plugin"
        self.plugin.write_text(PLUGIN)
        self.plugin.chmod(0o700)
        self.gives(token="token-NUMBER")

    def gives(self, **status: str) -> None:
        answer = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
        (self.home / "answer").write_text(json.dumps(answer))

    def with_plugin(self, **changes: Any) -> connection.Connection:
        plugin = {"apiVersion": V1, "command": str(self.plugin), **changes}
        return self.connect(user={"exec": plugin})

    def ask(self, connected: connection.Connection) -> int:
        answer = connected.request("GET", "v1", "secrets")
        return int(answer.status_code)

    @property
    def runs(self) -> int:
        path = self.home / "runs"
        return len(path.read_text().split()) if path.exists() else 0

    @property
    def tokens(self) -> list[str | None]:
        return [each.get("Authorization") for each in self.server.headers]


class PluginTest(_Plugin):
    def test_a_run_serves_until_its_credential_ends(self) -> None:
        for end, runs in ((hours(1), 1), ("", 1), (hours(0.01), 3)):
            (self.home / "runs").write_text("")
            self.gives(token="token-NUMBER", expirationTimestamp=end)
            connected = self.with_plugin()
            for _ in range(3):
                self.ask(connected)
            self.assertEqual(runs, self.runs, end)

    def test_a_refused_credential_is_replaced_and_tried_again(self) -> None:
        connected = self.with_plugin()
        self.assertEqual(0, self.runs, "before the first request")
        self.ask(connected)
        self.server.says(401)
        self.assertEqual(200, self.ask(connected))
        self.assertEqual(
            ["Bearer token-1", "Bearer token-1", "Bearer token-2"],
            self.tokens,
        )
        self.assertEqual(
            {
                "apiVersion": V1,
                "kind": "ExecCredential",
                "spec": {"interactive": False},
            },
            json.loads((self.home / "asked").read_text()),
        )

    def test_a_write_is_repeated_with_its_body(self) -> None:
        connected = self.with_plugin()
        self.server.says(401)
        answer = connected.request("POST", "v1", "secrets", json={"a": 1})
        self.assertEqual(200, answer.status_code)
        first, second = self.server.headers
        self.assertEqual(first["Content-Length"], second["Content-Length"])

    def test_two_refusals_of_a_credential_replace_it_once(self) -> None:
        connected = self.with_plugin()

        def refuse_both() -> tuple[int, dict[str, str]]:
            self.server.says(401)
            self.assertEqual(200, self.ask(connected))
            return 401, {}

        self.server.script.append(refuse_both)
        self.assertEqual(200, self.ask(connected))
        self.assertEqual(2, self.runs)
        self.assertEqual(["Bearer token-2"] * 2, self.tokens[2:])

    def test_a_second_refusal_stands(self) -> None:
        self.server.says(401)
        self.server.says(401)
        self.assertEqual(401, self.ask(self.with_plugin()))
        self.assertEqual(2, self.runs)

    def test_a_plugin_gets_arguments_and_environment(self) -> None:
        self.plugin.write_text(
            '#!/bin/sh\nprintf \'{"status": {"token": "%s-%s"}}\' "$1" "$WHO"'
        )
        connected = self.with_plugin(
            args=["given"], env=[{"name": "WHO", "value": "magnum"}]
        )
        self.ask(connected)
        self.assertEqual(["Bearer given-magnum"], self.tokens)

    def test_a_client_certificate_is_its_owners_alone(self) -> None:
        self.gives(clientCertificateData="CERT", clientKeyData="KEY")
        connected = self.with_plugin()
        # Over http nobody looks at it.
        self.ask(connected)
        self.assertEqual([None], self.tokens)
        certificate, key = self.clients[-1].session.cert
        self.assertEqual("CERT", pathlib.Path(certificate).read_text())
        self.assertEqual("KEY", pathlib.Path(key).read_text())
        mode = stat.S_IMODE(os.stat(key).st_mode)
        self.assertEqual(0o600, mode)

    def test_certificates_that_are_over_are_closed(self) -> None:
        self.gives(
            clientCertificateData="CERT",
            clientKeyData="KEY",
            expirationTimestamp=hours(0.01),
        )
        connected = self.with_plugin()
        pairs = []
        descriptors = set()
        for _ in range(6):
            self.ask(connected)
            pairs.append(self.clients[-1].session.cert)
            descriptors.add(_memory_files())
        # urllib3 knows connections by these paths.
        self.assertTrue(
            all(one != next_ for one, next_ in itertools.pairwise(pairs))
        )
        self.assertGreaterEqual(max(descriptors) - min(descriptors), 2)
        self.assertLessEqual(max(descriptors) - min(descriptors), 4)
        for path in (*pairs[-1], *pairs[-2]):
            self.assertIn(pathlib.Path(path).read_text(), ("CERT", "KEY"))


class FailureTest(_Plugin):
    def failure(self) -> str:
        connected = self.with_plugin()
        management = client.Client(lambda: connected)
        target = (kinds.SECRET, "ns", "s")
        error = self.assertRaises(
            errors.ManagementUnreachable, management.get, *target
        )
        return errors.explained(error).replace(str(self.plugin), "PLUGIN")

    def test_a_failure_does_not_quote_the_output(self) -> None:
        table = [
            (
                '{"status": {}}',
                "gave neither a token nor a client certificate",
            ),
            ("hunter2", "gave no ExecCredential (JSONDecodeError)"),
            ('["hunter2"]', "gave no ExecCredential (TypeError)"),
            ('{"hunter2": 1}', "gave no ExecCredential (KeyError)"),
            ('{"status": null}', "gave no ExecCredential (TypeError)"),
            ('{"status": ["hunter2"]}', "gave no ExecCredential (TypeError)"),
            (
                '{"status": {"clientCertificateData": 1, "clientKeyData": 2}}',
                "gave no ExecCredential (TypeError)",
            ),
            (
                '{"status": {"token": "hunter2", "expirationTimestamp": "x"}}',
                "gave the expirationTimestamp 'x': a time is like "
                "2026-01-31T12:00:00Z",
            ),
        ]
        for answer, expected in table:
            (self.home / "answer").write_text(answer)
            self.assertEqual(
                "the management cluster can't be asked. It is "
                f"{self.server.url}; the kubeconfig's exec plugin PLUGIN "
                f"{expected}",
                self.failure(),
            )

    def test_a_plugin_that_fails_is_late_or_missing_is_named(self) -> None:
        (self.home / "code").write_text("3")
        self.assertIn("exec plugin PLUGIN ended with 3", self.failure())
        self.plugin.write_text("#!/bin/sh\nexec sleep 60\n")
        self.patch(connection, "DEADLINE", 0.2)
        late = "exec plugin PLUGIN took longer than 0.2 s"
        self.assertIn(late, self.failure())
        self.plugin.unlink()
        self.assertIn(
            "exec plugin PLUGIN gave no ExecCredential (FileNotFoundError)",
            self.failure(),
        )

    def test_a_plugin_that_a_service_cannot_run_is_refused(self) -> None:
        table = [
            (
                {"apiVersion": "client.authentication.k8s.io/v1alpha1"},
                "exec plugin speaks client.authentication.k8s.io/v1alpha1: ",
            ),
            ({"command": ""}, "the kubeconfig's exec plugin has no command"),
            (
                {"interactiveMode": "Always"},
                "the kubeconfig's exec plugin has interactiveMode Always: ",
            ),
        ]
        for changes, expected in table:
            error = self.assertRaises(
                errors.NotConfigured, self.with_plugin, **changes
            )
            self.assertIn(expected, str(error))
