# SPDX-License-Identifier: Apache-2.0

"""Options of Magnum, and the OpenStack objects that they end in."""

from __future__ import annotations

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional.cloud import cluster_rows

Row = cluster_rows.Row

_MASTER = "control-plane"
_WORKER = "default-worker"
_RULE = """\
clusterNetworking:
  workerNodesSecurityGroupRules:
    - name: metrics
      description: Metrics
      direction: ingress
      etherType: IPv4
      protocol: tcp
      portRangeMin: 9100
      portRangeMax: 9100
      remoteIPPrefix: 192.0.2.0/24
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
ROWS = (
    Row(
        "option api_load_balancer",
        "requested",
        "load balancer",
        "",
        "number",
        0,
    ),
    Row(
        "option api_load_balancer",
        "requested",
        "floating IP",
        "",
        "port_id",
        "a control plane machine's port",
    ),
    Row(
        "option server_metadata",
        "cost_center:42",
        "server",
        _MASTER,
        "metadata.cost_center",
        "42",
    ),
    Row(
        "option app_cred_roles",
        "member",
        "application credential",
        "",
        "roles",
        # Keystone adds the role that another one implies.
        ["member", "reader"],
    ),
    Row(
        "option values_files",
        "clusterNetworking.workerNodesSecurityGroupRules",
        "rule",
        "worker Metrics",
        "remote_ip_prefix",
        "192.0.2.0/24",
    ),
    Row(
        "option [cinder] default_boot_volume_size",
        "23",
        "boot volume",
        _WORKER,
        "size",
        23,
    ),
    Row(
        "option [cinder] default_boot_volume_type",
        "ssd",
        "boot volume",
        _WORKER,
        "volume_type",
        "ssd",
    ),
    Row(
        "option [cinder] default_docker_volume_type",
        "ssd",
        "container volume",
        _WORKER,
        "volume_type",
        "ssd",
    ),
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
