# SPDX-License-Identifier: Apache-2.0

"""The data of a new chart are written from its package."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
from typing import Any
from unittest import mock

import fixtures
from oslotest import base
import yaml

from magnum_capi_helm.model import paths
from magnum_capi_helm.tests import value_paths
from magnum_capi_helm.tests.fakes import chart as fake_chart
from magnum_capi_helm.tests.unit.chart import renamed
from tools import new_chart

_DEPENDENCIES = {
    "addon-provider": "0.13.0",
    "azimuth-images": "0.30.0",
    "cert-manager": "v1.21.0",
    "cluster-api": "v1.14.0",
    "cluster-api-janitor-openstack": "0.15.0",
    "cluster-api-provider-openstack": "v0.15.0",
    "helm": "v3.18.0",
}


class NewChartTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for module, name in ((value_paths, "DATA"), (new_chart, "VERSIONS")):
            place = self.folder / name
            place.write_text(getattr(module, name).read_text())
            patch = fixtures.MockPatchObject(module, name, place)
            self.useFixture(patch)
        # Effects are rendered by a helm.
        patch = fixtures.MockPatchObject(new_chart, "write_effects")
        self.effects = self.useFixture(patch).mock
        new_chart.forget_paths()
        self.addCleanup(new_chart.forget_paths)

    def run_tool(self) -> tuple[int, str]:
        """Run it for the next chart; return the exit code and the text."""
        values: paths.Values = {}
        for path in value_paths.table()["paths"]:
            paths.put(values, path, "any")
        for moved in renamed.MOVED[:2]:
            values = paths.moved(values, moved[0], moved[2])
        paths.put(values, "addons.headlamp.enabled", False)
        chart = self.folder / f"openstack-cluster-{renamed.VERSION}.tgz"
        chart.write_bytes(
            fake_chart.package("openstack-cluster", renamed.VERSION, values)
        )
        (self.folder / "dependencies.json").write_text(
            json.dumps(_DEPENDENCIES)
        )
        words = [
            str(chart),
            f"--dependencies={self.folder / 'dependencies.json'}",
            *("--kubernetes", "1.34", "1.36"),
        ]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = new_chart.main(words)
        return code, output.getvalue()

    def written(self) -> tuple[Any, Any]:
        """Return the paths, and the last entry of the versions."""
        table = json.loads((self.folder / "DATA").read_text())
        entries = yaml.safe_load((self.folder / "VERSIONS").read_text())
        return table, entries[-1]

    def test_renamed_values_are_named_until_the_source_has_them(self) -> None:
        code, text = self.run_tool()
        self.assertEqual(1, code)
        self.assertEqual(
            ["addons.reloader.enabled", "apiServer.loadBalancerProvider"],
            [line.partition(":")[0] for line in text.splitlines()],
        )
        rows = (*paths.MOVED, *renamed.MOVED[:2])
        self.effects.assert_not_called()
        with mock.patch.object(paths, "MOVED", rows):
            self.assertEqual((0, ""), self.run_tool())
        self.effects.assert_called_once()

    def test_each_file_gets_the_chart_once(self) -> None:
        self.run_tool()
        first = self.written()
        table, entry = first
        self.assertEqual(renamed.VERSION, table["newest"])
        self.assertEqual(
            {
                "absent": [
                    "addons.headlamp.enabled",
                    "addons.restarts.enabled",
                    "apiServer.provider",
                ],
                "also": [
                    "addons.reloader.enabled",
                    "apiServer.loadBalancerProvider",
                ],
            },
            table["older"][renamed.LAST],
        )
        self.assertEqual(
            {
                "charts": [renamed.VERSION],
                "cluster_api": "1.14.0",
                "provider": "0.15.0",
                "addons": "0.13.0",
                "janitor": "0.15.0",
                "cert_manager": "1.21.0",
                "helm": "3.18.0",
                "kubernetes": ["1.34", "1.36"],
            },
            entry,
        )
        self.run_tool()
        self.assertEqual(first, self.written())
