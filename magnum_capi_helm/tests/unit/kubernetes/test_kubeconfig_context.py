# SPDX-License-Identifier: Apache-2.0

"""The current context of a kubeconfig, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import yaml

from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.kubernetes import server

_CA = "certificate-authority"


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

    def test_a_file_that_can_not_be_read_is_named_with_its_field(
        self,
    ) -> None:
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
        gone = "/gone/ca.pem"
        document = {
            "clusters": [
                {"name": "c", "cluster": {"server": "https://api"}},
                {"name": "d", "cluster": {"server": "d", _CA: gone}},
            ],
            "users": [
                {"name": "u", "user": {"token": "t"}},
                {"name": "v", "user": {"client-key": "/gone/key"}},
            ],
            "contexts": [
                {"name": "y", "context": {"cluster": "d", "user": "v"}},
                {"name": "x", "context": {"cluster": "c", "user": "u"}},
            ],
            "current-context": "x",
        }
        path = self.home / "kubeconfig"
        path.write_text(yaml.safe_dump(document))
        connected = connection.Connection(str(path), server.PATIENT)
        self.assertEqual("https://api", connected.server)
        self.assertEqual((), connected.expiries())
