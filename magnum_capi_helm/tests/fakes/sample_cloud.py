# SPDX-License-Identifier: Apache-2.0

"""The cloud that the templates in ``tests/data`` and samples are for."""

from __future__ import annotations

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.fakes import cloud as fake_cloud

_GROUP = "8a1b2c3d-0000-4000-8000-000000000001"


def images() -> dict[str, cluster_spec.Image]:
    """The images that the templates name."""
    return {
        f"{distro}-v1.34.2": cluster_spec.Image(
            id=f"2b1f0e3c-0000-4000-8000-00000000000{number}",
            name=f"{distro}-v1.34.2",
            kube_version="1.34.2",
            os_distro=distro,
        )
        for number, distro in enumerate(("ubuntu", "flatcar"))
    }


def cloud(_: object) -> fake_cloud.FakeCloud:
    """The cloud that the templates are for."""
    return fake_cloud.FakeCloud(
        images=images(),
        flavors={
            name: name
            for name in (
                *("m1.control", "m1.worker", "g1.gpu"),
                *("m1.medium", "m1.large", "g1.large"),
            )
        },
        networks={
            "public": "6f0c5a2e-0000-4000-8000-000000000001",
            "tenant": "6f0c5a2e-0000-4000-8000-000000000002",
            "storage": "6f0c5a2e-0000-4000-8000-000000000003",
            "corporate": "6f0c5a2e-0000-4000-8000-000000000007",
        },
        subnets={
            name: catalogue.Subnet(
                f"6f0c5a2e-0000-4000-8000-00000000000{number}",
                f"6f0c5a2e-0000-4000-8000-00000000000{network}",
                cidr,
            )
            for number, (name, network, cidr) in enumerate(
                (
                    ("v4", 2, "10.77.0.0/24"),
                    ("v6", 2, "fd00:77::/64"),
                    ("corporate-v4", 7, "10.7.0.0/24"),
                ),
                start=4,
            )
        },
        security_groups={name: name for name in ("web", _GROUP)},
        types=("fast", "slow"),
        machine_zones=("az1", "az2", "az3"),
        zones_of_volumes=("az1", "nova"),
        identity="https://keystone.example.org/v3",
    )
