# SPDX-License-Identifier: Apache-2.0

"""What each template becomes passes the live webhooks.

The values in ``tests/data``, rendered by helm with the lab's API server at
hand, so that what the chart looks up is found, and applied there in a dry
run: Cluster API's and its OpenStack provider's own webhooks judge them.
"""

from __future__ import annotations

import base64
import os
import pathlib
import subprocess
import types
from typing import Any

import yaml

from magnum_capi_helm.helm import manifests
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import holding
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

_VALUES = pathlib.Path(data.__file__).parent / "values"


class TemplatesTest(base.LabCase):
    """A dry run of every template."""

    def setUp(self) -> None:
        super().setUp()
        self.namespace = self.unique("templates")
        self.plane.apply(
            kinds.NAMESPACE, {"metadata": {"name": self.namespace}}
        )
        self.addCleanup(self.plane.delete, kinds.NAMESPACE, "", self.namespace)

    def test_every_template_passes_the_webhooks(self) -> None:
        refused = {}
        for path in sorted(_VALUES.glob("*.yaml")):
            values = yaml.safe_load(path.read_text())
            objects = self._rendered(path.stem, values)
            if complaint := self._dry_run(objects):
                refused[path.stem] = complaint
        self.assertEqual({}, refused)

    def test_a_key_that_is_kept_encrypts_secrets(self) -> None:
        values = yaml.safe_load((_VALUES / "authentication.yaml").read_text())
        text = self._rendered("authentication", values)
        key = self.plane.get(
            kinds.SECRET, self.namespace, names.etcd_key("authentication")
        )
        assert key is not None
        self.assertEqual(32, len(base64.b64decode(key["data"]["key"])))
        self.assertIn(f'secret: "{key["data"]["key"]}"', text)

    def test_an_object_that_the_webhooks_refuse_is_found(self) -> None:
        values = yaml.safe_load((_VALUES / "plain.yaml").read_text())
        values["controlPlane"]["machineCount"] = 2
        complaint = self._dry_run(self._rendered("plain", values))
        self.assertIn("cannot be an even number", complaint)

    def _rendered(self, release: str, values: dict[str, Any]) -> str:
        if (values.get("etcd") or {}).get("encryption"):
            held: Any = types.SimpleNamespace(
                management=self.plane,
                namespace=self.namespace,
                release=release,
                object_labels={},
            )
            holding.Held.ensure_etcd_key(held)
        return self._run(
            rendering.find_helm(),
            "template",
            release,
            str(rendering.CHART),
            "--namespace",
            self.namespace,
            "--dry-run=server",
            "--values",
            "-",
            text=yaml.safe_dump(values),
        )

    def _dry_run(self, objects: str) -> str:
        """What the API server has against the objects; empty if nothing."""
        converted = manifests.converted(objects, self._converted_groups())
        ours = [
            each
            for each in yaml.safe_load_all(converted)
            if each and ".x-k8s.io/" in each["apiVersion"]
        ]
        try:
            self._run(
                "kubectl",
                "apply",
                "--server-side",
                "--dry-run=server",
                "--namespace",
                self.namespace,
                "-f",
                "-",
                text=yaml.safe_dump_all(ours),
            )
        except AssertionError as refused:
            return str(refused)
        return ""

    def _converted_groups(self) -> list[str]:
        return [
            kind.group
            for kind in (
                kinds.CLUSTER,
                kinds.CONTROL_PLANE,
                kinds.CONFIG_TEMPLATE,
            )
            if "v1beta1" not in self.plane.served(kind.group)[kind.name]
        ]

    def _run(self, *command: str, text: str) -> str:
        done = subprocess.run(
            command,
            input=text,
            env={
                **os.environ,
                "KUBECONFIG": str(programs.LAB / "kubeconfig"),
                "PATH": f"{programs.LAB / 'bin'}:{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise AssertionError(done.stderr)
        return done.stdout
