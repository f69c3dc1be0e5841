# SPDX-License-Identifier: Apache-2.0
"""The connection, its kubeconfig and exec plugins, against a real server."""

from __future__ import annotations

import base64
import contextlib
import datetime
import itertools
import json
import os
import pathlib
import stat
import tempfile
import threading
import time
import traceback
from typing import Any
from unittest import mock

from cryptography import x509
import fixtures
import requests

from magnum_capi_helm import runtime
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.kubernetes import server

SHORT = (0.2, 0.2)
NOBODY = "http://127.0.0.1:9"


class RequestTest(server.ServerTest):
    def test_core_groups_and_discovery_have_their_paths(self) -> None:
        connected = self.connect()
        connected.request("GET", "v1", "secrets/s", namespace="ns")
        connected.request("GET", "cluster.x-k8s.io/v1beta2", "clusters")
        connected.request("GET", "/apis/cluster.x-k8s.io")
        self.assertEqual(
            [
                ("GET", "/api/v1/namespaces/ns/secrets/s"),
                ("GET", "/apis/cluster.x-k8s.io/v1beta2/clusters"),
                ("GET", "/apis/cluster.x-k8s.io"),
            ],
            [
                (method, path.rstrip("/"))
                for method, path in self.server.requests
            ],
        )

    def test_a_connection_is_used_again(self) -> None:
        connected = self.connect()
        for _ in range(5):
            connected.request("GET", "v1", "secrets")
        self.assertEqual(1, len(self.server.clients))

    def test_a_server_that_does_not_answer_is_a_time_out(self) -> None:
        self.server.hangs()
        connected = self.connect(SHORT)
        began = time.monotonic()
        request = ("PATCH", "v1", "secrets/s")
        self.assertRaises(requests.Timeout, connected.request, *request)
        self.assertLess(time.monotonic() - began, 1)

    def test_a_dead_server_is_given_up_soon(self) -> None:
        began = time.monotonic()
        dead = self.connect(server=NOBODY)
        self.assertRaises(
            requests.ConnectionError, dead.request, "GET", "v1", "secrets"
        )
        self.assertLess(time.monotonic() - began, 1)

    def test_the_server_does_not_choose_how_long_to_wait(self) -> None:
        self.server.says(503, Retry_After="30")
        connected = self.connect()
        done = threading.Event()

        def ask() -> None:
            connected.request("GET", "v1", "secrets")
            done.set()

        threading.Thread(target=ask, daemon=True).start()
        self.assertTrue(done.wait(0.9), "still waits for Retry-After")

    def test_each_request_is_sent_once(self) -> None:
        """Only ``insistence`` repeats requests."""
        for method in ("GET", "PATCH", "POST", "DELETE"):
            for code in (200, 401, 403, 404, 410, 429, 500, 502, 503, 504):
                del self.server.requests[:]
                self.server.says(code, Retry_After="0")
                answer = self.connect().request(method, "v1", "secrets")
                self.assertEqual(
                    (code, 1), (answer.status_code, len(self.server.requests))
                )


class AuthenticationTest(server.ServerTest):
    def test_a_token_file_is_read_for_each_request(self) -> None:
        token = self.home / "token"
        token.write_text("first\n")
        connected = self.connect(user={"tokenFile": "token"})
        connected.request("GET", "v1", "secrets")
        token.write_text("second\n")
        connected.request("GET", "v1", "secrets")
        self.assertEqual(["Bearer first", "Bearer second"], self.tokens)

    def test_a_token_that_fits_no_header_is_not_quoted(self) -> None:
        token = self.home / "token"
        connected = self.connect(user={"tokenFile": "token"})
        management = client.Client(lambda: connected)
        rows = (None, b"canary\ntwo", b"canary\xe2\x82\xac", b"canary\xff")
        for content in rows:
            if content:
                token.write_bytes(content)
            error = self.assertRaises(
                errors.CapiHelmError, management.get, kinds.SECRET, "ns", "s"
            )
            if content:
                self.assertIn("one line of ASCII", errors.explained(error))
            told = "".join(traceback.format_exception(error))
            self.assertNotIn("canary", told)


class EnvironmentTest(server.ServerTest):
    def test_proxies_of_the_environment_are_ignored(self) -> None:
        elsewhere = {
            "HTTP_PROXY": NOBODY,
            "http_proxy": NOBODY,
            "ALL_PROXY": NOBODY,
            "NO_PROXY": "",
            "no_proxy": "",
        }
        with mock.patch.dict(os.environ, elsewhere):
            answer = self.connect().request("GET", "v1", "secrets")
        self.assertEqual(200, answer.status_code)

    def test_netrc_is_ignored(self) -> None:
        netrc = self.home / "netrc"
        netrc.write_text("machine 127.0.0.1 login a password b\n")
        with mock.patch.dict(os.environ, {"NETRC": str(netrc)}):
            self.connect(user={}).request("GET", "v1", "secrets")
        self.assertNotIn("Authorization", self.server.headers[0])

    def test_the_kubeconfigs_own_proxy_is_used(self) -> None:
        connected = self.connect(
            SHORT,
            server="http://api.example.org",
            **{"proxy-url": self.server.url},
        )
        connected.request("GET", "v1", "secrets")
        self.assertEqual(
            "http://api.example.org/api/v1/secrets",
            self.server.requests[0][1],
        )


class ReplacedTest(server.ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.token("one")

    def token(self, token: str, **changes: Any) -> str:
        return self.kubeconfig(user={"token": token}, **changes)

    def through(self) -> connection.Connection:
        return connection.Connection(self.path, server.PATIENT)

    def ask(self, through: connection.Connection) -> tuple[int, list[str]]:
        self.server.headers.clear()
        answer = through.request("GET", "v1", "secrets")
        return answer.status_code, [
            str(each).removeprefix("Bearer ") for each in self.tokens
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

    def test_a_refused_request_is_repeated_after_a_change_once(self) -> None:
        through = self.through()

        def revoked() -> tuple[int, dict[str, str]]:
            self.token("two")
            return 401, {}

        for again in (200, 401):
            self.token("one")
            self.ask(through)
            self.server.script.append(revoked)
            self.server.says(again)
            self.assertEqual((again, ["one", "two"]), self.ask(through))

    def test_a_refusal_with_the_same_file_stands(self) -> None:
        through = self.through()
        self.server.says(401)
        self.assertEqual((401, ["one"]), self.ask(through))
        self.assertEqual(1, len(self.clients))

    def test_half_a_file_or_none_is_left_until_it_is_whole(self) -> None:
        through, path = self.through(), pathlib.Path(self.path)
        whole = pathlib.Path(self.token("two")).read_text()
        for half in (whole[: len(whole) // 2], "{", ""):
            path.write_text(half)
            self.assertRaises(errors.NotConfigured, self.through)
            self.assertEqual((200, ["one"]), self.ask(through), half)
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        for _ in range(2):
            self.assertEqual((200, ["one"]), self.ask(through))
        self.assertEqual("", log.output)
        path.unlink()
        self.assertEqual((200, ["one"]), self.ask(through))
        path.write_text(whole)
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

    def test_expiries_are_those_of_the_newest_kubeconfig(self) -> None:
        through = self.through()
        self.assertEqual((), through.expiries())
        # {"exp": 2000000000}
        self.token("e30.eyJleHAiOiAyMDAwMDAwMDAwfQ.e30")
        self.assertEqual([2e9], [each.time for each in through.expiries()])
        self.assertEqual(self.server.url, through.server)


class KubeconfigTest(server.ServerTest):
    def test_keys_are_in_no_directory_and_go_with_the_connection(self) -> None:
        key = {"client-key-data": "aHVudGVyMg==", "token": "t"}
        temporary = pathlib.Path(tempfile.gettempdir())
        before = set(temporary.rglob("*"))
        connected = self.connect(user=key)
        [made] = self.clients
        path = pathlib.Path(made.config.user["client-key"].filename())
        self.assertEqual("hunter2", path.read_text())
        new = set(temporary.rglob("*")) - before
        self.assertNotIn("hunter2", [each.read_text() for each in new])
        del connected, made
        self.clients.clear()
        self.assertFalse(path.exists())

    def test_a_client_certificate_ends_inline_and_in_a_file(self) -> None:
        pem, key = pki.trusted().signed("admin", days=2.0)
        found = x509.load_pem_x509_certificate(pem.encode())
        ends = found.not_valid_after_utc.timestamp()
        inline, files = {}, {}
        for name, text in (("client-certificate", pem), ("client-key", key)):
            inline[f"{name}-data"] = base64.b64encode(text.encode()).decode()
            files[name] = str(self.home / name)
            (self.home / name).write_text(text)
        for user in (inline, files):
            expiry = kubeconfig.Expiry(kubeconfig.CERTIFICATE, ends)
            self.assertEqual((expiry,), self.connect(user=user).expiries())

    def test_a_conductor_needs_no_restart(self) -> None:
        path = self.kubeconfig(user={"token": "one"})
        settings = options.ManagementCluster(
            "replaced", path, "kubeconfig_file"
        )
        management = runtime.build(settings=settings).management
        for token in ("one", "two"):
            self.kubeconfig(user={"token": token})
            management.get(kinds.SECRET, "ns", "s")
        self.assertEqual(["Bearer one", "Bearer two"], self.tokens)


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
