# SPDX-License-Identifier: Apache-2.0

"""Samples: what fits together, and what programs do in case of a failure.

The lab runs each command of packages, and renews certificates on nodes.
"""

from __future__ import annotations

import io
import runpy
from types import MappingProxyType
from types import SimpleNamespace
from typing import Any

import fixtures
from keystoneauth1 import exceptions
from oslotest import base
import yaml

from tools.tests.tools import stubs

_SAMPLES = stubs.ROOT / "samples"
_RENEW = str(_SAMPLES / "renew-expired-certificates.sh")
_KUBECTL = """
case "$*" in
    *"get nodes"*) echo "one two"; exit "$NODES" ;;
    *create*) cat >/dev/null ;;
    *wait*two*) exit "$TWO" ;;
esac
"""


class _Magnum:
    """Magnum's API for one cluster, which carries out requests at once."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.rows: dict[str, list[Any]] = {
            "clustertemplates": [],
            "nodegroups": [{"name": "default-worker"}],
        }
        self.status = "CREATE_COMPLETE"

    def request(self, path: str, method: str, **options: Any) -> Any:
        """Answer a request and keep it, unless it only reads."""
        kind = path.rpartition("/")[2]
        body: Any = {kind: self.rows.get(kind)}
        if method == "POST":
            self.requests.append(kind)
            body = {**options["json"], "uuid": "t1"}
            self.rows.setdefault(kind, []).append(body)
        elif kind == "web":
            if "clusters" not in self.requests:
                raise exceptions.NotFound()
            body = {"status": self.status, "status_reason": "quota"}
            body["updated_at"] = len(self.requests)
        return SimpleNamespace(content=b"{}", json=lambda: body)


class PackageTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch("sys.stdout", io.StringIO()))
        self.module = runpy.run_path(str(_SAMPLES / "packages" / "package.py"))
        self.magnum = _Magnum()
        fields = yaml.safe_load(
            (_SAMPLES / "packages" / "web.yaml").read_text()
        )
        self.package = self.module["Package"](self.magnum, fields)

    def test_repeated_instantiate_changes_nothing(self) -> None:
        for _ in range(2):
            self.package.instantiate()
            self.assertEqual(
                ["clustertemplates", "clusters", "nodegroups"],
                self.magnum.requests,
            )

    def test_failed_status_is_the_reason(self) -> None:
        self.magnum.status = "UPDATE_FAILED"
        error = self.assertRaises(
            self.module["Failed"], self.package.instantiate
        )
        self.assertEqual("UPDATE_FAILED quota", str(error))


class RenewExpiredTest(stubs.ScriptTestCase):
    answers = MappingProxyType({"kubectl": _KUBECTL})

    def test_script_ends_with_the_first_failure(self) -> None:
        for nodes, two, code, last in (
            ("0", "0", 0, "delete pod renew-certificates-two --wait=false"),
            ("0", "1", 1, " wait "),
            ("1", "0", 1, " get nodes "),
        ):
            done = self.stubs.bash(_RENEW, NODES=nodes, TWO=two)
            self.assertEqual(code, done.returncode)
            commands = self.stubs.commands()
            self.assertIn(last, commands[-1])
            for each in commands:
                # The certificate of the API has expired, too.
                self.assertIn("--insecure-skip-tls-verify", each)


class FirstWorkloadTest(base.BaseTestCase):
    def test_objects_fit_together(self) -> None:
        text = (_SAMPLES / "first-workload.yaml").read_text()
        objects = {each["kind"]: each for each in yaml.safe_load_all(text)}
        service = objects["Service"]["spec"]
        pod = objects["Deployment"]["spec"]["template"]
        [web], [volume] = pod["spec"]["containers"], pod["spec"]["volumes"]
        self.assertEqual(service["selector"], pod["metadata"]["labels"])
        self.assertEqual(
            [port["targetPort"] for port in service["ports"]],
            [port["containerPort"] for port in web["ports"]],
        )
        self.assertEqual(
            objects["PersistentVolumeClaim"]["metadata"]["name"],
            volume["persistentVolumeClaim"]["claimName"],
        )
        self.assertEqual(volume["name"], web["volumeMounts"][0]["name"])
