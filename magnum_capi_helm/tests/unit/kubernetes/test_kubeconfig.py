# SPDX-License-Identifier: Apache-2.0
"""The kubeconfig: keys in private files, and never in a message."""

from __future__ import annotations

import base64
import os
import pathlib
import stat
import traceback
from typing import Any

import fixtures
from oslotest import base
import yaml

from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import errors

KEY = "-----BEGIN PRIVATE KEY-----hunter2"
ENCODED = base64.b64encode(KEY.encode()).decode()


def document(**user: Any) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": "https://api"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


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
        found = document(
            **{
                "client-key": "pki/key.pem",
                "client-certificate": f"{self.home}/cert.pem",
                "tokenFile": "token",
            }
        )
        found["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem"
        (self.home / "pki").mkdir()
        for name in ("pki/key.pem", "cert.pem", "ca.pem"):
            (self.home / name).write_text("")
        current = self._read(found)
        self.assertEqual(
            {
                "client-key": f"{self.home}/pki/key.pem",
                "client-certificate": f"{self.home}/cert.pem",
                "tokenFile": f"{self.home}/token",
            },
            current.user,
        )
        self.assertEqual(
            {
                "server": "https://api",
                "certificate-authority": f"{self.home}/ca.pem",
            },
            current.cluster,
        )
        self.assertEqual(
            {
                f"{self.home}/{name}"
                for name in ("pki/key.pem", "cert.pem", "ca.pem")
            },
            set(current.files),
        )

    def _command(self, given: str, *, relative: bool = False) -> str:
        """What the command of an exec plugin becomes.

        :param relative: the path of the kubeconfig is
        """
        found = document(exec={"command": given})
        path = self._write(yaml.safe_dump(found))
        current = _read(os.path.relpath(path) if relative else path)
        return str(current.user["exec"]["command"])

    def test_a_plugin_is_beside_the_file_or_in_path_as_for_kubectl(
        self,
    ) -> None:
        for given, expected in (
            ("./plugin", f"{self.home}/plugin"),
            ("bin/plugin", f"{self.home}/bin/plugin"),
            ("/usr/bin/plugin", "/usr/bin/plugin"),
            ("plugin", "plugin"),
        ):
            self.assertEqual(expected, self._command(given), given)

    def test_paths_are_absolute_where_that_of_the_file_is_not(self) -> None:
        found = self._command("./plugin", relative=True)
        self.assertEqual(f"{self.home}/plugin", os.path.normpath(found))

    def test_a_missing_file_says_which_option_to_set(self) -> None:
        error = self.assertRaises(
            errors.NotConfigured, _read, "/nowhere/kubeconfig"
        )
        self.assertEqual(
            "no kubeconfig at /nowhere/kubeconfig: set [capi_helm] "
            "kubeconfig_file to a kubeconfig of the management cluster",
            str(error),
        )

    def test_a_file_that_is_no_kubeconfig_is_refused(self) -> None:
        for text in (
            "",
            "[]",
            "text",
            "a: b",
            "clusters: []",
            "clusters: c",
            "clusters: [c]\nusers: []",
            "clusters: []\nusers: [null]",
            "expires: 2026-02-30",
        ):
            self.assertRaises(errors.NotConfigured, _read, self._write(text))

    def test_a_directory_or_binary_file_is_refused(self) -> None:
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
            path = self._write(yaml.safe_dump({**document(), **changes}))
            error = self.assertRaises(errors.NotConfigured, _read, path)
            self.assertIn(f"the kubeconfig {path}: {words}", str(error))
            self.assertNotIn("hunter2", str(error))


class InlineTest(_KubeconfigTest):
    def setUp(self) -> None:
        super().setUp()
        self.files = kubeconfig.MemoryFiles()

    def read(self, found: dict[str, Any]) -> kubeconfig.Kubeconfig:
        path = self._write(yaml.safe_dump(found))
        return kubeconfig.read(path, self.files)

    def test_inline_keys_become_files_of_the_owner_alone(self) -> None:
        found = document(
            **{"client-key-data": ENCODED, "client-certificate-data": ENCODED}
        )
        ca = base64.b64encode(b"the CA").decode()
        found["clusters"][0]["cluster"]["certificate-authority-data"] = ca
        current = self.read(found)
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

    def test_tokens_stay_tokens(self) -> None:
        self.assertEqual({"token": "t"}, self.read(document(token="t")).user)

    def test_data_that_is_no_base64_names_the_key_alone(self) -> None:
        error = self.assertRaises(
            errors.NotConfigured,
            self.read,
            document(**{"client-key-data": "hunter2"}),
        )
        self.assertEqual(
            "the kubeconfig's client-key-data is not base64", str(error)
        )


class AdministratorTest(base.BaseTestCase):
    def test_the_key_is_in_no_text(self) -> None:
        admin = kubeconfig.Administrator("ca", "certificate", KEY, 1.0, 2.0)
        self.assertNotIn("hunter2", repr(admin))
