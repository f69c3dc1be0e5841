# SPDX-License-Identifier: Apache-2.0

"""Whose clusters a template makes: this driver's and 1.4.0's, or others."""

from __future__ import annotations

from typing import Any
from unittest import mock

from oslotest import base

from magnum_capi_helm.swap import witnesses


def template(**fields: Any) -> Any:
    """The row of a cluster template."""
    known = {
        "coe": "kubernetes",
        "driver": None,
        "server_type": "vm",
        "cluster_distro": "ubuntu",
    }
    return mock.Mock(**(known | fields))


#: A template -> whether its clusters are 1.4.0's, or this driver's.
TEMPLATES: dict[str, tuple[dict[str, Any], bool]] = {
    "by its driver": (
        {"driver": "k8s_capi_helm_v1", "cluster_distro": "any"},
        True,
    ),
    "by its operating system, as before Magnum had drivers there": ({}, True),
    "of another driver": ({"driver": "k8s_cluster_api_ubuntu"}, False),
    "of another operating system": ({"cluster_distro": "rocky"}, False),
    "of another orchestrator": ({"coe": "swarm"}, False),
}


class TemplatesTest(base.BaseTestCase):
    def test_whose_clusters_they_are(self) -> None:
        provides = [{"server_type": "vm", "os": "ubuntu", "coe": "kubernetes"}]
        for name, (fields, expected) in TEMPLATES.items():
            with self.subTest(name):
                found = witnesses.ours(template(**fields), provides)
                self.assertEqual(expected, found)
