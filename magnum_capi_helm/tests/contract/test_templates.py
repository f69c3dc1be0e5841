# SPDX-License-Identifier: Apache-2.0

"""The values of each template in ``tests/data`` fit charts and definitions.

The lab's chart, and every version of the public chart that lies in the chart
store ($LAB_CHART_STORE, or the lab's).
"""

from __future__ import annotations

import functools
import os
import pathlib
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.contract import schema

_VALUES = pathlib.Path(__file__).parents[1] / "data" / "values"
_STORE = pathlib.Path(
    os.environ.get("LAB_CHART_STORE") or rendering.LAB_DIR / "charts"
)


def charts() -> list[str]:
    """The charts to render: the lab's, and those of the store."""
    stored = sorted(map(str, _STORE.glob("openstack-cluster-*.tgz")))
    return [str(rendering.CHART), *stored]


def templates() -> list[str]:
    """Names of the templates that have values."""
    return sorted(path.stem for path in _VALUES.glob("*.yaml"))


def load(name: str) -> dict[str, Any]:
    """Values of a template, as `magnum-capi-helm values` prints them."""
    values: dict[str, Any] = yaml.safe_load(
        (_VALUES / f"{name}.yaml").read_text()
    )
    # Looked up in a live cluster; the functional tests render it.
    values.get("etcd", {}).pop("encryption", None)
    return values


@functools.cache
def rendered() -> dict[tuple[str, str], rendering.Rendered]:
    """What each chart makes of each template, and the lab's of its values."""
    found = {
        (name, chart): rendering.render(load(name), chart=chart)
        for name in templates()
        for chart in charts()
    }
    for name in rendering.value_files():
        values = rendering.load_values(name)
        found[f"values/{name}", ""] = rendering.render(values)
    return found


class TemplatesTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.rendered = rendered()

    def test_there_are_templates(self) -> None:
        self.assertGreaterEqual(len(templates()), 12)

    def test_every_object_is_what_its_definition_allows(self) -> None:
        schemas = schema.Schemas(rendering.LAB_DIR / "manifests")
        problems = [
            f"{name}: {item['kind']} {problem}"
            for (name, _), objects in self.rendered.items()
            for item in objects
            if ".x-k8s.io/" in item["apiVersion"]
            for problem in schemas.problems(item)
        ]
        self.assertEqual([], problems)

    def test_no_reference_dangles(self) -> None:
        dangling = [
            f"{name}: {reference}"
            for (name, _), objects in self.rendered.items()
            for reference in _references(objects)
            if reference[1] not in objects.names(reference[0])
        ]
        self.assertEqual([], dangling)


def _references(objects: rendering.Rendered) -> list[tuple[str, str]]:
    """(kind, name) of what machines are made from."""
    found = []
    for item in objects.of("MachineDeployment"):
        machine = item["spec"]["template"]["spec"]
        found += [
            machine["infrastructureRef"],
            machine["bootstrap"]["configRef"],
        ]
    for item in objects.of("KubeadmControlPlane"):
        found.append(item["spec"]["machineTemplate"]["infrastructureRef"])
    for item in objects.of("Cluster"):
        found += [
            item["spec"]["infrastructureRef"],
            item["spec"]["controlPlaneRef"],
        ]
    return [(each["kind"], each["name"]) for each in found]
