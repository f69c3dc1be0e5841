# SPDX-License-Identifier: Apache-2.0

"""Certificate authorities on the machines: whole values."""

from __future__ import annotations

import dataclasses

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import egress
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.unit.features import specs

SITE = cluster_spec.Site(
    trusted_cas=(("openstack", "PEM 1\n"), ("proxy", "PEM 2\n"))
)
FLATCAR = dataclasses.replace(
    specs.cluster().control_plane,
    image=dataclasses.replace(specs.IMAGE, os_distro="flatcar"),
)


class TrustTest(base.BaseTestCase):
    def test_without_any_there_is_nothing_to_say(self) -> None:
        for cluster in (specs.cluster(), specs.cluster(control_plane=FLATCAR)):
            self.assertEqual({}, egress.TRUST.cluster(cluster))

    def test_on_ubuntu_the_chart_does_it(self) -> None:
        cluster = specs.cluster(site=SITE)
        self.assertEqual(
            {"trustedCAs": {"openstack": "PEM 1\n", "proxy": "PEM 2\n"}},
            egress.TRUST.cluster(cluster),
        )

    def test_flatcar_has_another_folder_on_every_machine(self) -> None:
        found = values.build(specs.cluster(site=SITE, control_plane=FLATCAR))
        self.assertNotIn("trustedCAs", found)
        expected = {
            "files": [
                {
                    "path": f"/etc/ssl/certs/{name}.pem",
                    "owner": "root:root",
                    "permissions": "0644",
                    "content": pem,
                }
                for name, pem in SITE.trusted_cas
            ],
            "preKubeadmCommands": ["update-ca-certificates"],
        }
        for machines in ("controlPlane", "nodeGroupDefaults"):
            self.assertEqual(
                expected, found[machines]["kubeadmConfigSpec"], machines
            )
