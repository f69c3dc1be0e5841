# SPDX-License-Identifier: Apache-2.0

"""Check requests against the quota of the project."""

from __future__ import annotations

from oslo_log import log

from magnum_capi_helm.chart import quota_demand
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors

LOG = log.getLogger(__name__)


def check_cluster(
    cloud: catalogue.Cloud, cluster: cluster_spec.Cluster
) -> None:
    """Check a new cluster as ``[capi_helm] quota_check`` configures.

    :raises InvalidInput: it does not fit, and that is to be refused
    """
    if off():
        return
    _check(cloud, cluster, quota_demand.of_cluster(cluster))


def check_group(
    cloud: catalogue.Cloud,
    cluster: cluster_spec.Cluster,
    group: cluster_spec.NodeGroup,
    growth: int | None = None,
) -> None:
    """Check a new nodegroup, or more machines of one that exists.

    :param cluster: may be an outline
    :param group: with the new count, and all looked up
    :param growth: number of machines to add; None: the group is new
    :raises InvalidInput: it does not fit, and that is to be refused
    """
    if off():
        return
    if growth is None:
        needed = quota_demand.of_group(cluster, group)
    else:
        needed = quota_demand.of_growth(cluster, group, growth)
    _check(cloud, cluster, needed)


def off() -> bool:
    """Return whether the check is disabled."""
    return bool(conf.CONF.capi_helm.quota_check == "off")


def _check(
    cloud: catalogue.Cloud,
    cluster: cluster_spec.Cluster,
    needed: quota_demand.Demand,
) -> None:
    short = list(quota_demand.shortages(needed, _quotas(cloud, needed)))
    if not short:
        return
    text = "not enough quota: " + "; ".join(short)
    if conf.CONF.capi_helm.quota_check == "refuse":
        raise errors.InvalidInput(text)
    LOG.warning("cluster %s: %s", cluster.uuid, text)


def _quotas(
    cloud: catalogue.Cloud, needed: quota_demand.Demand
) -> dict[str, quota_demand.Quota]:
    """Ask the services concerned for the quotas of the project."""
    services = ["compute", "network"]
    if needed.get("volumes"):
        services.append("block-storage")
    if needed.get("load_balancer"):
        services.append("load-balancer")

    def ask(service: str) -> dict[str, quota_demand.Quota]:
        """Return no quotas of a service that can't tell.

        Then the cluster is not refused: its machines would say it.
        """
        try:
            return cloud.quotas(service)
        except errors.CloudError as error:
            LOG.debug("Quota not checked: %s", error)
            return {}

    with call.Threads(len(services)) as pool:
        quotas: dict[str, quota_demand.Quota] = {}
        for answer in pool.map(ask, services):
            quotas.update(answer)
    return quotas
