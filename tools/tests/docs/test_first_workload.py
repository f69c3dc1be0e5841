# SPDX-License-Identifier: Apache-2.0

"""The workload of the quick start fits together, and the page names it."""

from __future__ import annotations

import re

from oslotest import base
import yaml

from tools import archives

_PAGE = archives.CHECKOUT / "doc" / "source" / "user" / "quickstart.rst"
_SAMPLE = archives.CHECKOUT / "samples" / "first-workload.yaml"


class FirstWorkloadTest(base.BaseTestCase):
    def test_objects_fit_together_and_the_page_names_each(self) -> None:
        page = _PAGE.read_text()
        objects = {
            each["kind"]: each
            for each in yaml.safe_load_all(_SAMPLE.read_text())
        }
        named = set(re.findall(r"(\w+)/(first-workload)\b", page))
        self.assertEqual(
            {
                (kind.lower(), each["metadata"]["name"])
                for kind, each in objects.items()
            },
            named - {("samples", "first-workload")},
        )
        service = objects["Service"]["spec"]
        pod = objects["Deployment"]["spec"]["template"]
        (web,) = pod["spec"]["containers"]
        self.assertEqual("LoadBalancer", service["type"])
        self.assertEqual(service["selector"], pod["metadata"]["labels"])
        self.assertEqual(
            [port["targetPort"] for port in service["ports"]],
            [port["containerPort"] for port in web["ports"]],
        )
        claim = objects["PersistentVolumeClaim"]
        # It gets the default class.
        self.assertNotIn("storageClassName", claim["spec"])
        (volume,) = pod["spec"]["volumes"]
        (mount,) = web["volumeMounts"]
        self.assertEqual(
            claim["metadata"]["name"],
            volume["persistentVolumeClaim"]["claimName"],
        )
        self.assertEqual(volume["name"], mount["name"])
        self.assertIn(f"> {mount['mountPath']}/", page)
