# SPDX-License-Identifier: Apache-2.0

"""What tests of ``export`` and ``import`` start with."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pathlib
from typing import Any

import fixtures

from magnum_capi_helm.cmd import export
from magnum_capi_helm.cmd import import_
from magnum_capi_helm.cmd import main
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.unit.lifecycle import base

INTENT = names.intent(base.RELEASE)
RECORD = names.helm_record(base.RELEASE, 1)
CREDENTIALS = names.credentials(base.RELEASE)
CA, ETCD, PROXY, SA = (
    names.certificate(base.RELEASE, each)
    for each in ("ca", "etcd", "proxy", "sa")
)


class BackupTestCase(base.FlowTestCase):
    """A cluster that is complete, and a place for files."""

    def setUp(self) -> None:
        super().setUp()
        self.place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.directory = self.place / "exports"
        self.said = ""

    def run_command(self, kind: Any, *argv: str) -> tuple[int, Any]:
        """The exit code, and the lines."""
        app = main.Application()
        app.stdout, app.stderr = io.StringIO(), io.StringIO()
        command = kind(app, None)
        command.pauses = (0.0, 0.0)
        words = [*argv, "-f", "json"]
        code = command.run(command.get_parser("test").parse_args(words))
        self.said += app.stdout.getvalue() + app.stderr.getvalue()
        return int(code), json.loads(app.stdout.getvalue())

    def export(self, *argv: str) -> tuple[int, str, str]:
        """The exit code, and the result of the first line and its detail."""
        code, lines = self.run_command(
            export.Export,
            *(argv or ("web",)),
            "--directory",
            str(self.directory),
        )
        return code, lines[0]["Result"], lines[0]["Detail"]

    def bring(self, *argv: str) -> tuple[int, str, str]:
        """As :meth:`export`, for an import of the whole directory."""
        code, lines = self.run_command(
            import_.Import, str(self.directory), *argv
        )
        if not lines:
            return code, "", ""
        return code, lines[0]["Result"], lines[0]["Detail"]

    @property
    def file(self) -> pathlib.Path:
        """Of the cluster."""
        return self.directory / f"{base.RELEASE}.jsonl.gz"

    def secrets(self) -> dict[str, api_server.Object]:
        """What matters of each Secret that there is."""
        found = {}
        for each in self.server.list(kinds.SECRET, base.NAMESPACE):
            meta = each["metadata"]
            found[meta["name"]] = {
                "labels": meta.get("labels"),
                "annotations": meta.get("annotations"),
                "type": each.get("type"),
                "data": each.get("data"),
                "immutable": each.get("immutable"),
            }
        return found

    def lose(self, *chosen: str) -> None:
        """Somebody deletes Secrets: all, if none is named."""
        for name in chosen or tuple(self.secrets()):
            self.server.delete(kinds.SECRET, base.NAMESPACE, name)

    def change(self, name: str, **data: str) -> None:
        """Somebody writes into a Secret."""
        self.server.patch(kinds.SECRET, base.NAMESPACE, name, {"data": data})

    def writes(self) -> list[str]:
        """Requests to the management cluster that change something."""
        reads = ("get", "list", "scan", "watch")
        return [
            f"{each.verb} {each.name}"
            for each in self.management.requests
            if each.verb not in reads
        ]


class ExportTestCase(BackupTestCase):
    """One cluster, which is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and objects of the file."""
        head, body = gzip.decompress(self.file.read_bytes()).splitlines()
        return json.loads(head), json.loads(body)


class ImportTestCase(BackupTestCase):
    """On the management cluster that a cluster was exported from."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.assertEqual(0, self.export()[0])
        self.before = self.secrets()
        self.management.requests.clear()

    def rewrite(self, **changed: Any) -> None:
        """Somebody changes the header, or what is in the file."""
        content = gzip.decompress(self.file.read_bytes())
        head, body = (json.loads(each) for each in content.splitlines())
        body |= {key: changed.pop(key) for key in body if key in changed}
        packed = json.dumps(body).encode() + b"\n"
        head |= {"sha256": hashlib.sha256(packed).hexdigest()} | changed
        first = json.dumps(head).encode() + b"\n"
        self.file.write_bytes(gzip.compress(first + packed))

    def refused(self, *argv: str) -> str:
        """Why an import is refused; nothing is written."""
        self.management.requests.clear()
        code, result, detail = self.bring("--apply", *argv)
        self.assertEqual((1, "refused"), (code, result))
        self.assertEqual([], self.writes())
        return detail
