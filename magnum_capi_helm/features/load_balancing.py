# SPDX-License-Identifier: Apache-2.0

"""Load balancers for Services of type LoadBalancer and for the API."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels

_SECTION = "addons.openstack.cloudConfig.LoadBalancer"
_OVN = "ovn"
#: The one algorithm of Octavia's OVN driver, that its amphora driver lacks.
_OVN_ALGORITHM = "SOURCE_IP_PORT"
_AMPHORA = ("amphora", "amphorav2", "octavia")

PROVIDER = labels.Label(
    name="octavia_provider",
    type=types.String(regex=r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z"),
    default="amphora",
    allowed="the name of an Octavia provider, such as amphora or ovn",
    help="Octavia provider of all load balancers of the cluster. Charts "
    "before 0.24.0 open no node ports for ovn, which load balancers of "
    "Services then need: open them in a security group.",
    becomes=(
        "apiServer.loadBalancerProvider",
        f"{_SECTION}.lb-provider",
    ),
)
ALGORITHM = label_types.choice(
    "octavia_lb_algorithm",
    ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
    help="Octavia algorithm. Empty: SOURCE_IP_PORT for the provider ovn, "
    "which knows no other, else ROUND_ROBIN.",
    becomes=(f"{_SECTION}.lb-method",),
)
HEALTH_CHECK = labels.Switch(
    name="octavia_lb_healthcheck",
    default=True,
    help="Create a health monitor for each load balancer of a Service.",
    becomes=(f"{_SECTION}.create-monitor",),
)


def _check(cluster: cluster_spec.Cluster) -> None:
    provider = cluster.labels[PROVIDER]
    algorithm = cluster.labels[ALGORITHM]
    beside = f"with {PROVIDER.name}={provider}"
    if provider == _OVN and algorithm not in ("", _OVN_ALGORITHM):
        raise cluster.labels.refused(
            ALGORITHM, f"{_OVN_ALGORITHM} or nothing {beside}"
        )
    if provider in _AMPHORA and algorithm == _OVN_ALGORITHM:
        raise cluster.labels.refused(
            ALGORITHM, f"ROUND_ROBIN, LEAST_CONNECTIONS or SOURCE_IP {beside}"
        )


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    provider = cluster.labels[PROVIDER]
    natural = _OVN_ALGORITHM if provider == _OVN else "ROUND_ROBIN"
    return {
        f"{_SECTION}.lb-provider": provider,
        f"{_SECTION}.lb-method": cluster.labels[ALGORITHM] or natural,
        f"{_SECTION}.create-monitor": cluster.labels[HEALTH_CHECK],
    }


TOPIC = topic.Topic(
    name="Load balancers",
    labels=(PROVIDER, ALGORITHM, HEALTH_CHECK),
    leaves=_leaves,
    check=_check,
)
