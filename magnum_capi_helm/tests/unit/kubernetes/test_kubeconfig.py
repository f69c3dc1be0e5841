# SPDX-License-Identifier: Apache-2.0
"""The kubeconfig: keys in private files, and never in a message."""

from __future__ import annotations

import base64
import gc
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import traceback
from typing import Any
import unittest

import fixtures
from oslotest import base
import yaml

from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import server

KEY = "-----BEGIN PRIVATE KEY-----hunter2"
_CA = "certificate-authority"
ENCODED = base64.b64encode(KEY.encode()).decode()


def _read(path: str) -> kubeconfig.Kubeconfig:
    return kubeconfig.read(path, kubeconfig.MemoryFiles())


class _KubeconfigTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def _write(self, text: str) -> str:
        path = self.home / "kubeconfig"
        path.write_text(text)
        return str(path)


class ReadTest(_KubeconfigTest):
    def _read(self, found: dict[str, Any]) -> kubeconfig.Kubeconfig:
        return _read(self._write(yaml.safe_dump(found)))

    def test_relative_paths_are_those_beside_the_file(self) -> None:
        user = {
            "client-key": "pki/key.pem",
            "client-certificate": f"{self.home}/cert.pem",
            "tokenFile": "token",
        }
        found = server.document(user, **{_CA: "ca.pem"})
        (self.home / "pki").mkdir()
        key, certificate, ca = (
            f"{self.home}/{name}"
            for name in ("pki/key.pem", "cert.pem", "ca.pem")
        )
        for name in (key, certificate, ca):
            pathlib.Path(name).write_text("")
        current = self._read(found)
        self.assertEqual(
            {
                "client-key": key,
                "client-certificate": certificate,
                "tokenFile": f"{self.home}/token",
            },
            current.user,
        )
        self.assertEqual(
            {"server": "https://api", "certificate-authority": ca},
            current.cluster,
        )
        self.assertEqual({key, certificate, ca}, set(current.files))

    def test_a_plugin_is_found_as_kubectl_finds_it(self) -> None:
        for given, relative, expected in (
            ("./plugin", False, f"{self.home}/plugin"),
            ("bin/plugin", False, f"{self.home}/bin/plugin"),
            ("/usr/bin/plugin", False, "/usr/bin/plugin"),
            ("plugin", False, "plugin"),
            # Paths are absolute where that of the kubeconfig is not.
            ("./plugin", True, f"{self.home}/plugin"),
        ):
            found = server.document({"exec": {"command": given}})
            path = self._write(yaml.safe_dump(found))
            current = _read(os.path.relpath(path) if relative else path)
            command = str(current.user["exec"]["command"])
            self.assertEqual(expected, os.path.normpath(command), given)

    def test_a_file_that_is_not_to_be_read_says_what_to_do(self) -> None:
        missing = (
            "no kubeconfig at /nowhere/kubeconfig: set [capi_helm] "
            "kubeconfig_file to a kubeconfig of the management cluster"
        )
        forbidden = (
            "the kubeconfig /nowhere/kubeconfig can't be read "
            "(PermissionError): let magnum-conductor's user read it, and be "
            "that user"
        )
        for failure, text in (
            (FileNotFoundError(2, "No such file"), missing),
            (PermissionError(13, "Permission denied"), forbidden),
        ):
            with fixtures.MockPatch(
                "pathlib.Path.read_text", side_effect=failure
            ):
                error = self.assertRaises(
                    errors.NotConfigured, _read, "/nowhere/kubeconfig"
                )
            self.assertEqual(text, str(error))

    def test_a_file_that_is_no_kubeconfig_is_refused(self) -> None:
        for text in (
            *("", "[]", "text", "a: b", "clusters: []", "clusters: c"),
            *("clusters: [c]\nusers: []", "clusters: []\nusers: [null]"),
            "expires: 2026-02-30",
            *(
                yaml.safe_dump({**server.document({}), **changes})
                for changes in (
                    {"current-context": None},
                    {"current-context": "other"},
                    {"contexts": [{"name": "x", "context": None}]},
                )
            ),
        ):
            self.assertRaises(errors.NotConfigured, _read, self._write(text))
        self.assertRaises(errors.NotConfigured, _read, str(self.home))
        binary = self.home / "binary"
        binary.write_bytes(b"\xff\xfe\x00")
        self.assertRaises(errors.NotConfigured, _read, str(binary))

    def test_errors_never_quote_the_file(self) -> None:
        for text in (
            f"users: [client-key-data: {KEY}",
            f"client-key-data: {KEY}",
            f"- {KEY}",
            f"token: !!int {KEY}",
        ):
            error = self.assertRaises(
                errors.NotConfigured, _read, self._write(text)
            )
            told = "".join(traceback.format_exception(error))
            self.assertNotIn("hunter2", told)

    def test_a_field_of_another_type_is_named(self) -> None:
        for changes, words in (
            ({"contexts": 5}, "contexts is not allowed: give a list"),
            ({"current-context": ["x"]}, "current-context is not allowed"),
            (
                {"clusters": [{"name": "c", "cluster": {"server": 5}}]},
                "cluster 'c': server is not allowed: give text",
            ),
            (
                {"users": [{"name": "u", "user": {"exec": "hunter2"}}]},
                "user 'u': exec is not allowed: give a mapping",
            ),
            (
                {"users": [{"name": "u", "user": ["hunter2"]}]},
                "user 'u' is not allowed: give a mapping",
            ),
        ):
            found = server.document({}) | changes
            path = self._write(yaml.safe_dump(found))
            error = self.assertRaises(errors.NotConfigured, _read, path)
            self.assertIn(f"the kubeconfig {path}: {words}", str(error))
            self.assertNotIn("hunter2", str(error))

    def test_an_administrator_s_key_is_in_no_text(self) -> None:
        admin = kubeconfig.Administrator("ca", "certificate", KEY, 1.0, 2.0)
        self.assertNotIn("hunter2", repr(admin))


class InlineTest(_KubeconfigTest):
    def setUp(self) -> None:
        super().setUp()
        self.files = kubeconfig.MemoryFiles()

    def read(self, found: dict[str, Any]) -> kubeconfig.Kubeconfig:
        path = self._write(yaml.safe_dump(found))
        return kubeconfig.read(path, self.files)

    def test_inline_keys_become_files_of_the_owner_alone(self) -> None:
        given = dict.fromkeys(
            ("client-key-data", "client-certificate-data"), ENCODED
        )
        ca = base64.b64encode(b"the CA").decode()
        current = self.read(server.document(given, **{f"{_CA}-data": ca}))
        user = current.user
        self.assertEqual({"client-key", "client-certificate"}, set(user))
        files = {
            user["client-key"]: KEY,
            user["client-certificate"]: KEY,
            current.cluster["certificate-authority"]: "the CA",
        }
        self.assertEqual(3, len(files))
        for path, content in files.items():
            self.assertEqual(content, pathlib.Path(path).read_text())
            self.assertEqual(0o600, stat.S_IMODE(os.stat(path).st_mode))
        self.assertEqual((), current.files)
        self.assertEqual(["kubeconfig"], os.listdir(self.home))

    def test_data_that_is_no_base64_names_the_key_alone(self) -> None:
        error = self.assertRaises(
            errors.NotConfigured,
            self.read,
            server.document({"client-key-data": "hunter2"}),
        )
        self.assertEqual(
            "the kubeconfig's client-key-data is not base64", str(error)
        )


class CurrentTest(server.ServerTest):
    def said(self, **changes: Any) -> str:
        """What is said of a kubeconfig, without its path; empty: nothing."""
        try:
            self.connect(**changes).expiries()
        except errors.NotConfigured as error:
            said = str(error)
            self.assertIn(f"the kubeconfig {self.home}/kubeconfig: ", said)
            return said.partition(": ")[2].replace(str(self.home), "HERE")
        return ""

    def test_an_unreadable_file_is_named_with_its_field(self) -> None:
        (self.home / "empty").write_text("")
        gone = "No such file or directory"
        user = {"client-certificate": "empty", "client-key": "/gone/key"}
        rows: list[tuple[dict[str, Any], str]] = [
            ({_CA: "ca.pem"}, f"{_CA} HERE/ca.pem: {gone}"),
            ({_CA: "."}, f"{_CA} HERE: Is a directory"),
            (
                {"user": {"client-certificate": "a.crt"}},
                f"client-certificate HERE/a.crt: {gone}",
            ),
            ({"user": user}, f"client-key /gone/key: {gone}"),
            ({"user": {"tokenFile": "t"}}, f"tokenFile HERE/t: {gone}"),
            ({"user": {"tokenFile": "empty"}}, ""),
            # What is inline is taken in the place of the file.
            ({_CA: "ca.pem", f"{_CA}-data": "Y2E="}, ""),
        ]
        for changes, expected in rows:
            with self.subTest(str(changes)):
                self.assertEqual(expected, self.said(**changes))

    def test_a_server_that_is_no_url_is_named_and_not_shown(self) -> None:
        wrong = (
            "its cluster's server is no URL: give one such as "
            "https://api.example.org:6443"
        )
        for url, expected in (
            ("api.example.org:6443", wrong),
            ("10.0.0.1", wrong),
            ("ftp://api.example.org", wrong),
            ("https://", wrong),
            ("https://[::1", wrong),
            ("https://user:canary@api:99999", wrong),
            ("https://api:port", wrong),
            ("https://[::1]:6443", ""),
            ("http://api.example.org", ""),
            ("https://api.example.org:6443/k8s/clusters/c-1", ""),
        ):
            with self.subTest(url):
                self.assertEqual(expected, self.said(server=url))

    def test_a_token_file_may_come_after_the_connection(self) -> None:
        path = self.kubeconfig(user={"tokenFile": "token"})
        connected = connection.Connection(path, server.PATIENT)
        (self.home / "token").write_text("t")
        self.assertEqual((), connected.expiries())

    def test_files_of_other_contexts_may_be_missing(self) -> None:
        found = server.document({"token": "t"})
        gone = {"server": "d", _CA: "/gone/ca.pem"}
        found["clusters"].append({"name": "d", "cluster": gone})
        key = {"client-key": "/gone/key"}
        found["users"].append({"name": "v", "user": key})
        other = {"cluster": "d", "user": "v"}
        found["contexts"].insert(0, {"name": "y", "context": other})
        path = self.home / "kubeconfig"
        path.write_text(yaml.safe_dump(found))
        connected = connection.Connection(str(path), server.PATIENT)
        self.assertEqual("https://api", connected.server)
        self.assertEqual((), connected.expiries())


_KILLED = """
import os, signal
from magnum_capi_helm.kubernetes import kubeconfig
files = kubeconfig.MemoryFiles()
print(open(files.write("key", b"hunter2")).read(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class FilesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.files = kubeconfig.MemoryFiles()

    def test_a_file_has_its_content_and_its_owner(self) -> None:
        path = self.files.write("key", b"hunter2")
        self.assertEqual("hunter2", pathlib.Path(path).read_text())
        self.assertEqual(0o100600, os.stat(path).st_mode)
        self.assertNotIn("key", path)

    def test_children_do_not_inherit_it(self) -> None:
        path = self.files.write("key", b"hunter2")
        number = int(path.rpartition("/")[2])
        self.assertFalse(os.get_inheritable(number))
        child = [sys.executable, "-c", f"import os; os.fstat({number})"]
        done = subprocess.run(
            child, close_fds=False, capture_output=True, check=False
        )
        self.assertIn(b"Bad file descriptor", done.stderr)

    def test_a_file_goes_when_forgotten_or_with_its_owner(self) -> None:
        paths = [self.files.write("key", b"") for _ in range(3)]
        self.files.forget([paths[0], "/etc/passwd", "/proc/self/fd/1"])
        self.assertEqual(
            [False, True, True], [os.path.exists(each) for each in paths]
        )
        os.fstat(1)
        del self.files
        gc.collect()
        self.assertEqual([], [each for each in paths if os.path.exists(each)])

    def test_a_killed_process_leaves_none(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", _KILLED],
                env={**os.environ, "TMPDIR": folder},
                capture_output=True,
                check=False,
            )
            self.assertEqual(b"hunter2\n", done.stdout)
            self.assertEqual(-signal.SIGKILL, done.returncode)
            self.assertEqual([], os.listdir(folder))


def token(claims: object) -> str:
    """Such a token as the API server gives, signed by nobody."""
    parts = ({"alg": "RS256"}, claims)
    coded = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=")
        for each in parts
    ]
    return b".".join([*coded, b"signature"]).decode()


class EndingsTest(base.BaseTestCase):
    def test_each_kind_of_credential_has_its_expiry(self) -> None:
        claims = {"exp": 1763870400, "sub": "system:serviceaccount:a:b"}
        [path] = self.create_tempfiles([("token", f"{token(claims)}\n")])
        rows: list[tuple[str, dict[str, Any], list[tuple[str, float]]]] = [
            ("a token", {"token": token(claims)}, [("token", 1763870400.0)]),
            ("in a file", {"tokenFile": path}, [("token", 1763870400.0)]),
            ("one without an end", {"token": token({"sub": "x"})}, []),
            ("an end that is none", {"token": token({"exp": "soon"})}, []),
            ("claims that are none", {"token": token(["exp"])}, []),
            ("one of another kind", {"token": "abcdef.0123456789"}, []),
            ("three parts of nothing", {"token": "!.!.!"}, []),
            ("a file that is gone", {"tokenFile": "/nonexistent"}, []),
            ("a certificate gone", {"client-certificate": "/none"}, []),
            ("a plugin", {"exec": {"command": "login"}}, []),
            ("nothing", {}, []),
        ]
        for name, user, expected in rows:
            with self.subTest(name):
                found = [
                    (e.credential, e.time) for e in kubeconfig.expiries(user)
                ]
                self.assertEqual(expected, found)
