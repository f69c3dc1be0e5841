# SPDX-License-Identifier: Apache-2.0

"""Profiles of values in samples/, as the driver lays them over its values."""

from __future__ import annotations

import pathlib

from oslotest import base
import yaml

from magnum_capi_helm.chart import overlays
from magnum_capi_helm.tests.contract import rendering

_SAMPLES = pathlib.Path(__file__).parents[3] / "samples" / "values"


def rendered(name: str) -> rendering.Rendered:
    """Return the objects of a cluster with a sample, by the lab's chart."""
    file = _SAMPLES / f"{name}.yaml"
    sample = yaml.safe_load(file.read_text())
    values = rendering.load_values("plain")
    return rendering.render(overlays.apply(values, sample, str(file)))


class SamplesTest(base.BaseTestCase):
    def test_headlamp_is_a_release_whose_account_has_no_rights(self) -> None:
        objects = rendered("headlamp")
        self.assertEqual(
            {
                "clusterName": "rel",
                "bootstrap": True,
                "chart": {
                    "repo": "https://kubernetes-sigs.github.io/headlamp/",
                    "name": "headlamp",
                    "version": "0.43.0",
                },
                "targetNamespace": "headlamp",
                "releaseName": "headlamp",
                "valuesSources": [
                    {
                        "secret": {
                            "name": "rel-headlamp-config",
                            "key": "values",
                        }
                    }
                ],
            },
            objects.get("HelmRelease", "rel-headlamp")["spec"],
        )
        secret = objects.get("Secret", "rel-headlamp-config")
        text = secret["stringData"]["values"]
        values = yaml.safe_load(
            text.replace("{% raw %}", "").replace("{% endraw %}", "")
        )
        self.assertEqual(
            {
                "clusterRoleBinding": {"create": False},
                "config": {"inCluster": True},
            },
            values,
        )
