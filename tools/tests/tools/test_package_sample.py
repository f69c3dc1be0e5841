# SPDX-License-Identifier: Apache-2.0

"""The sample that instantiates packages, with a Magnum of fakes."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

import fixtures
from keystoneauth1 import exceptions
from oslotest import base
import yaml

from tools.tests.tools import stubs

FOLDER = stubs.ROOT / "samples" / "packages"


def sample() -> Any:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location(
        "package_sample", FOLDER / "package.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Answer:
    """An answer of Magnum.

    :param body: decoded JSON, None for an empty answer
    """

    def __init__(self, body: Any) -> None:
        self._body = body
        self.content = b"" if body is None else b"{}"

    def json(self) -> Any:
        """Return the decoded body."""
        return self._body


class Magnum:
    """Magnum's API for one cluster, which carries out requests at once."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.templates: list[dict[str, Any]] = []
        self.groups = [{"name": "default-worker"}]
        self.cluster: dict[str, Any] | None = None
        self.result = "COMPLETE"

    def request(self, path: str, method: str, **options: Any) -> Answer:
        """Answer a request and keep it, unless it only reads."""
        if method == "GET":
            return Answer(self._get(path))
        body = options["json"]
        self.requests.append((method, path, body))
        if path == "/clustertemplates":
            self.templates.append({"name": body["name"], "uuid": "t1"})
            return Answer(self.templates[-1])
        if method == "DELETE" and path == "/clusters/web":
            self.cluster = None
        elif path != "/clustertemplates/t1":
            if path.endswith("/nodegroups"):
                self.groups.append(body)
            self.cluster = {
                "status": f"UPDATE_{self.result}",
                "status_reason": "quota",
                "updated_at": len(self.requests),
            }
        return Answer(None)

    def _get(self, path: str) -> Any:
        if path == "/clustertemplates":
            return {"clustertemplates": self.templates}
        if self.cluster is None:
            raise exceptions.NotFound()
        if path.endswith("/nodegroups"):
            return {"nodegroups": self.groups}
        return self.cluster


class PackageTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch("sys.stdout", io.StringIO()))
        self.module = sample()
        self.magnum = Magnum()
        fields = yaml.safe_load((FOLDER / "web.yaml").read_text())
        self.package = self.module.Package(self.magnum, fields)

    def sent(self) -> list[tuple[str, str]]:
        """Return method and path of each change, and forget them."""
        sent = [(method, path) for method, path, _ in self.magnum.requests]
        self.magnum.requests.clear()
        return sent

    def test_commands_send_these_requests(self) -> None:
        self.package.instantiate()
        self.assertEqual(
            [
                ("POST", "/clustertemplates"),
                ("POST", "/clusters"),
                ("POST", "/clusters/web/nodegroups"),
            ],
            self.sent(),
        )
        self.package.scale("batch", 2)
        self.package.update()
        self.assertEqual(
            [
                (
                    "POST",
                    "/clusters/web/actions/resize",
                    {"node_count": 2, "nodegroup": "batch"},
                ),
                (
                    "POST",
                    "/clusters/web/actions/upgrade",
                    {"cluster_template": "t1", "max_batch_size": 1},
                ),
            ],
            self.magnum.requests,
        )
        self.sent()
        self.package.terminate()
        self.assertEqual(
            [
                ("DELETE", "/clusters/web"),
                ("DELETE", "/clustertemplates/t1"),
            ],
            self.sent(),
        )

    def test_repeated_instantiate_changes_nothing(self) -> None:
        self.package.instantiate()
        self.sent()
        self.package.instantiate()
        self.assertEqual([], self.sent())

    def test_failed_status_is_the_reason(self) -> None:
        self.magnum.result = "FAILED"
        error = self.assertRaises(self.module.Failed, self.package.instantiate)
        self.assertEqual("UPDATE_FAILED quota", str(error))
