# SPDX-License-Identifier: Apache-2.0

"""The workload of the quick start fits together, and the page names it."""

from __future__ import annotations

import pathlib
import re
from typing import Any

from oslotest import base
import yaml

_ROOT = pathlib.Path(__file__).parents[3]
_PAGE = _ROOT / "doc" / "source" / "user" / "quickstart.rst"
_SAMPLE = _ROOT / "samples" / "first-workload.yaml"


class FirstWorkloadTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        objects: list[dict[str, Any]] = list(
            yaml.safe_load_all(_SAMPLE.read_text())
        )
        self.objects = {each["kind"]: each for each in objects}
        self.pod = self.objects["Deployment"]["spec"]["template"]

    def test_page_names_each_object_as_it_is_called(self) -> None:
        page = _PAGE.read_text()
        wanted = set(re.findall(r"(\w+)/(first-workload)\b", page))
        wanted.discard(("samples", "first-workload"))
        self.assertEqual(
            {
                (kind.lower(), each["metadata"]["name"])
                for kind, each in self.objects.items()
            },
            wanted,
        )

    def test_load_balancer_reaches_the_port_of_the_pods(self) -> None:
        service = self.objects["Service"]["spec"]
        self.assertEqual("LoadBalancer", service["type"])
        self.assertEqual(service["selector"], self.pod["metadata"]["labels"])
        (web,) = self.pod["spec"]["containers"]
        self.assertEqual(
            [port["targetPort"] for port in service["ports"]],
            [port["containerPort"] for port in web["ports"]],
        )

    def test_pod_mounts_the_claim_where_the_page_writes(self) -> None:
        claim = self.objects["PersistentVolumeClaim"]
        (volume,) = self.pod["spec"]["volumes"]
        self.assertEqual(
            claim["metadata"]["name"],
            volume["persistentVolumeClaim"]["claimName"],
        )
        (web,) = self.pod["spec"]["containers"]
        (mount,) = web["volumeMounts"]
        self.assertEqual(volume["name"], mount["name"])
        self.assertIn(f"> {mount['mountPath']}/", _PAGE.read_text())

    def test_claim_gets_the_default_class(self) -> None:
        self.assertNotIn(
            "storageClassName", self.objects["PersistentVolumeClaim"]["spec"]
        )
