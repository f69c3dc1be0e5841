"""What the addon provider makes of a dual-stack cluster with Calico."""

from __future__ import annotations

from typing import Any

import jinja2
from oslotest import base
import yaml

from magnum_capi_helm.chart import patches
from magnum_capi_helm.chart import values
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.unit.features import specs

_RANGES = {
    "pods_cidr": "10.100.0.0/16 fd00:1::/56",
    "service_cluster_ip_range": "10.254.0.0/16 fd00:2::/112",
}
_NETWORK = cluster_spec.Network(
    fixed_id="net", subnet_cidrs=("192.168.0.0/24", "fd00:3::/64")
)


class CalicoTest(base.BaseTestCase):
    def calico(self, cluster: cluster_spec.Cluster) -> list[Any]:
        """The network of Calico, by the chart and by the driver's values."""
        wanted = values.checked(cluster)
        found = rendering.Rendered(
            [
                *patches.applied(
                    rendering.render(wanted),
                    patches.wanted(wanted, cluster.chart.version),
                )
            ]
        )
        [capi] = found.of("Cluster")
        data = found.get("Secret", "rel-cni-calico-config")["stringData"]
        return [
            yaml.safe_load(jinja2.Template(data[key]).render(cluster=capi))
            .get("installation", {})
            .get("calicoNetwork", {})
            for key in ("defaults", "overrides")
        ]

    def blocks(self, network: dict[str, Any]) -> dict[str, int]:
        return {each["cidr"]: each["blockSize"] for each in network["ipPools"]}

    def test_each_range_has_blocks_of_its_family(self) -> None:
        defaults, overrides = self.calico(
            specs.cluster(_RANGES, network=_NETWORK)
        )
        self.assertEqual(
            {"10.100.0.0/16": 26, "fd00:1::/56": 122}, self.blocks(defaults)
        )
        self.assertEqual(
            {"nodeAddressAutodetectionV6": {"kubernetes": "NodeInternalIP"}},
            overrides,
        )

    def test_ipv4_alone_is_as_the_chart_has_it(self) -> None:
        defaults, overrides = self.calico(specs.cluster())
        self.assertEqual({"172.16.0.0/13": 26}, self.blocks(defaults))
        self.assertEqual({}, overrides)
