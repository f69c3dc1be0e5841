# SPDX-License-Identifier: Apache-2.0
"""What is left of discovery where a newer version is hidden."""

from __future__ import annotations

import gzip
import json
from typing import Any

from oslotest import base

from lab.chaos import faults
from lab.chaos import older_api
from lab.chaos import proxy

_NAME = "controlplane.cluster.x-k8s.io"
_BOTH = [
    {"groupVersion": f"{_NAME}/{each}", "version": each}
    for each in ("v1beta2", "v1beta1")
]
_GROUP = {"name": _NAME, "versions": _BOTH, "preferredVersion": _BOTH[0]}
_OLD = {"name": _NAME, "versions": _BOTH[1:], "preferredVersion": _BOTH[1]}
_APPS = {"name": "apps", "versions": [{"version": "v1beta2"}]}


class HideTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.between = proxy.Proxy("http://127.0.0.1:1")
        self.addCleanup(self.between.close)
        older_api.hide(self.between, "cluster.x-k8s.io", "v1beta2")

    def ask(
        self, path: str, body: Any = "passed", zipped: bool = False
    ) -> tuple[int, Any]:
        """Status and body, when the API server answers with a body."""
        said = json.dumps(body).encode()
        headers = (("Content-Encoding", "gzip"),) if zipped else ()
        answer = faults.Answer(
            200, headers, gzip.compress(said) if zipped else said
        )
        found = self.between.answer(
            faults.Request("GET", path, b"", 1), lambda: answer
        )
        if found.status != 200:
            return found.status, None
        return found.status, json.loads(found.body)

    def test_what_is_asked_of_it_is_not_there(self) -> None:
        for path, status in (
            (f"/apis/{_NAME}/v1beta2", 404),
            (f"/apis/{_NAME}/v1beta2/namespaces/a/kubeadmcontrolplanes", 404),
            ("/apis/cluster.x-k8s.io/v1beta2/clusters?limit=5", 404),
            ("/apis/cluster.x-k8s.io/v1beta1/clusters?limit=5", 200),
            ("/apis/apps/v1beta2/deployments", 200),
            ("/api/v1/secrets", 200),
        ):
            self.assertEqual(status, self.ask(path)[0], path)

    def test_no_list_of_groups_has_it(self) -> None:
        newer = {"metadata": {"name": _NAME}, "versions": _BOTH}
        old = {"metadata": {"name": _NAME}, "versions": _BOTH[1:]}
        for path, body, left in (
            (f"/apis/{_NAME}", _GROUP, _OLD),
            (f"/apis/{_NAME}/", _GROUP, _OLD),
            ("/apis", {"groups": [_GROUP, _APPS]}, {"groups": [_OLD, _APPS]}),
            ("/apis?timeout=32s", {"items": [newer]}, {"items": [old]}),
        ):
            for zipped in (False, True):
                self.assertEqual((200, left), self.ask(path, body, zipped))
