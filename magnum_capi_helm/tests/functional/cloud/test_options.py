# SPDX-License-Identifier: Apache-2.0

"""Options of Magnum, and the OpenStack objects that they end in."""

from __future__ import annotations

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional.cloud import cluster_rows
from magnum_capi_helm.tests.functional.cloud import settings

_METRICS = "192.0.2.0/24"
_RULE = f"""\
clusterNetworking:
  workerNodesSecurityGroupRules:
    - name: metrics
      description: Metrics
      direction: ingress
      etherType: IPv4
      protocol: tcp
      portRangeMin: 9100
      portRangeMax: 9100
      remoteIPPrefix: {_METRICS}
"""
CAPI_HELM = {
    "api_load_balancer": "requested",
    "server_metadata": "cost_center:42",
    "app_cred_roles": "member",
}
CINDER = {
    "default_boot_volume_size": "23",
    "default_boot_volume_type": "ssd",
    "default_docker_volume_type": "ssd",
}
ROWS = tuple(
    settings.rows(
        {
            "option": {
                **CAPI_HELM,
                "values_files": "clusterNetworking."
                "workerNodesSecurityGroupRules",
            },
            "option [cinder]": CINDER,
        },
        {
            "option api_load_balancer": (
                ("load balancer", "", "number", 0),
                (
                    *("floating IP", "", "port_id"),
                    "a control plane machine's port",
                ),
            ),
            "option server_metadata": (
                ("server", settings.MASTER, "metadata.cost_center", "42"),
            ),
            # Keystone adds the role that another one implies.
            "option app_cred_roles": (
                ("application credential", "", "roles", ["member", "reader"]),
            ),
            "option values_files": (
                ("rule", "worker Metrics", "remote_ip_prefix", _METRICS),
            ),
            "option [cinder] default_boot_volume_size": (
                ("boot volume", settings.WORKER, "size"),
            ),
            "option [cinder] default_boot_volume_type": (
                ("boot volume", settings.WORKER, "volume_type"),
            ),
            "option [cinder] default_docker_volume_type": (
                ("container volume", settings.WORKER, "volume_type"),
            ),
        },
    )
)


class OptionsTest(base.LabCase):
    """A cluster with the operator's options."""

    def test_each_option_is_in_openstack(self) -> None:
        """Every row of the table, and nothing is left afterwards."""
        [values] = self.create_tempfiles([("values", _RULE)])
        self.configure_sections(
            {
                "capi_helm": {**CAPI_HELM, "values_files": values},
                "cinder": CINDER,
            }
        )
        cluster = self.cluster(
            self.template(master_lb_enabled=False, docker_volume_size=3)
        )
        made = self.until_status(cluster, ("CREATE_COMPLETE", "CREATE_FAILED"))
        self.assertEqual("CREATE_COMPLETE", made["status"], str(made))
        read = cluster_rows.ClusterRows(
            self.openstack, made["stack_id"], cluster, {}
        )
        seen = [(row, read.read(row)) for row in ROWS]
        cluster_rows.keep("options", seen)
        self.assertEqual(
            [],
            [
                f"{row}: {value}"
                for row, value in seen
                if value != row.expected
            ],
        )
        self.delete(cluster)
        self.assert_all_gone(made["stack_id"])
