# SPDX-License-Identifier: Apache-2.0

"""Load balancers; the Kubernetes API: its addresses and certificate."""

from __future__ import annotations

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

_SECTION = "addons.openstack.cloudConfig.LoadBalancer"
_OVN = "ovn"
#: The one algorithm of Octavia's OVN driver, that its amphora driver lacks.
_OVN_ALGORITHM = "SOURCE_IP_PORT"
_AMPHORA = ("amphora", "amphorav2", "octavia")

LB_PROVIDER = labels.Label(
    name="octavia_provider",
    type=types.String(regex=r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z"),
    default="amphora",
    allowed="the name of an Octavia provider, such as amphora or ovn",
    help="Octavia provider of all load balancers of the cluster. Charts "
    "before 0.24.0 open no node ports for ovn, which load balancers of "
    "Services then need: open them in a security group.",
    becomes=("apiServer.loadBalancerProvider", f"{_SECTION}.lb-provider"),
)
LB_ALGORITHM = label_types.choice(
    "octavia_lb_algorithm",
    ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
    help="Octavia algorithm. Empty: SOURCE_IP_PORT for the provider ovn, "
    "which knows no other, else ROUND_ROBIN.",
    becomes=(f"{_SECTION}.lb-method",),
)
LB_HEALTH_CHECK = labels.Switch(
    name="octavia_lb_healthcheck",
    default=True,
    help="Create a health monitor for each load balancer of a Service.",
    becomes=(f"{_SECTION}.create-monitor",),
)


def _check_load_balancers(cluster: cluster_spec.Cluster) -> None:
    provider = cluster.labels[LB_PROVIDER]
    algorithm = cluster.labels[LB_ALGORITHM]
    beside = f"with {LB_PROVIDER.name}={provider}"
    if provider == _OVN and algorithm not in ("", _OVN_ALGORITHM):
        raise cluster.labels.refused(
            LB_ALGORITHM, f"{_OVN_ALGORITHM} or nothing {beside}"
        )
    if provider in _AMPHORA and algorithm == _OVN_ALGORITHM:
        raise cluster.labels.refused(
            LB_ALGORITHM,
            f"ROUND_ROBIN, LEAST_CONNECTIONS or SOURCE_IP {beside}",
        )


def _load_balancer_leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    provider = cluster.labels[LB_PROVIDER]
    natural = _OVN_ALGORITHM if provider == _OVN else "ROUND_ROBIN"
    return {
        f"{_SECTION}.lb-provider": provider,
        f"{_SECTION}.lb-method": cluster.labels[LB_ALGORITHM] or natural,
        f"{_SECTION}.create-monitor": cluster.labels[LB_HEALTH_CHECK],
    }


LOAD_BALANCERS = topic.Topic(
    name="Load balancers",
    labels=(LB_PROVIDER, LB_ALGORITHM, LB_HEALTH_CHECK),
    leaves=_load_balancer_leaves,
    check=_check_load_balancers,
)


_KUBEADM = "controlPlane.kubeadmConfigSpec"
_BIND_PORT = "localAPIEndpoint.bindPort"

FLOATING_IP = labels.Switch(
    name="master_lb_floating_ip_enabled",
    default=True,
    help="Give the Kubernetes API a floating IP. Where nobody sets it, "
    "Magnum's floating_ip_enabled decides.",
    becomes=("apiServer.associateFloatingIP",),
)
FIXED_FLOATING_IP: labels.Label[str | None] = labels.Label(
    name="api_server_floating_ip",
    type=types.IPAddress(version=4),
    default=None,
    allowed="an IPv4 address",
    help="This floating IP of the project, in place of a new one.",
    becomes=("apiServer.floatingIP",),
)
FIXED_IP: labels.Label[str | None] = labels.Label(
    name="api_server_fixed_ip",
    type=types.IPAddress(version=4),
    default=None,
    allowed="an IPv4 address of the cluster's network",
    help="Virtual IP of the load balancer. With neither a load balancer nor "
    "a floating IP: the address of an existing port, which something of the "
    "user's own, such as kube-vip, brings to the control plane.",
    becomes=("apiServer.fixedIP",),
)
ALLOWED_CIDRS: labels.Label[tuple[str, ...]] = labels.Label(
    name="api_master_lb_allowed_cidrs",
    type=label_types.IPv4Networks(),
    default=(),
    allowed="IPv4 networks without host bits, separated by commas",
    details="an example is 192.0.2.0/24, or 192.0.2.1/32 for one address",
    help="Networks that may reach the Kubernetes API; empty for all. The "
    "cluster's own networks always may.",
    aliases=("master_lb_allowed_cidrs",),
    becomes=("apiServer.allowedCIDRs",),
    # In between, the chart writes a field that its provider does not have:
    # the load balancer would be open to all.
    charts=(versions.Range(until="0.10.1"), versions.Range(since="0.24.0")),
)
CERT_SANS: labels.Label[tuple[str, ...]] = labels.Label(
    name="api_server_cert_sans",
    type=label_types.HOSTS,
    default=(),
    allowed="a comma separated list of DNS names and IP addresses",
    help="Further names of the Kubernetes API in its certificate.",
    becomes=(f"{_KUBEADM}.clusterConfiguration.apiServer.certSANs",),
)
LOG_LEVEL = labels.Label(
    name="api_server_log_level",
    type=label_types.Integer(min=0, max=10),
    default=2,
    allowed="a number from 0 to 10",
    help="How much the API server logs.",
    becomes=("apiServer.logLevel",),
    charts=(versions.Range(since="0.16.0"),),
)


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse addresses that no machine or load balancer would get.

    Without Octavia, Cluster API's OpenStack provider makes one floating IP,
    tied to a control plane machine, or nothing at all
    (reconcileControlPlaneEndpoint of the OpenStackCluster).

    :raises InvalidInput: the user can correct it
    """
    settings, api = cluster.labels, cluster.api
    if settings[FIXED_FLOATING_IP] and not api.floating_ip:
        raise settings.refused(
            FIXED_FLOATING_IP,
            f"it with {FLOATING_IP.name}=true: this cluster's API has no "
            "floating IP",
        )
    if not api.load_balancer:
        _check_bare(cluster)


def _check_bare(cluster: cluster_spec.Cluster) -> None:
    """Refuse settings that need a load balancer, where there is none."""
    settings, machines = cluster.labels, cluster.control_plane.count
    if settings[ALLOWED_CIDRS]:
        raise settings.refused(
            ALLOWED_CIDRS,
            "it with master_lb_enabled: only a load balancer filters",
        )
    if cluster.api.floating_ip:
        if machines != 1:
            raise errors.InvalidInput(
                f"master_count={machines}: without a load balancer the "
                "floating IP leads to one machine; give master_count=1, "
                "or master_lb_enabled"
            )
        if settings[FIXED_IP]:
            raise settings.refused(
                FIXED_IP,
                "it with master_lb_enabled, or with "
                f"{FLOATING_IP.name}=false: here the API has the floating "
                "IP of its machine",
            )
    elif not settings[FIXED_IP]:
        raise errors.InvalidInput(
            "the Kubernetes API has neither a load balancer nor a floating "
            f"IP: give master_lb_enabled, {FLOATING_IP.name}=true, or "
            f"{FIXED_IP.name} with the address of an existing port"
        )


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings, api = cluster.labels, cluster.api
    return {
        "apiServer.enableLoadBalancer": api.load_balancer,
        # Even without it: for ovn the chart opens the workers' node ports,
        # which load balancers of Services need.
        "apiServer.loadBalancerProvider": settings[LB_PROVIDER],
        "apiServer.associateFloatingIP": api.floating_ip,
        # Charts up to 0.23.0 read this spelling, later ones the declared one.
        "apiServer.allowedCidrs": settings[ALLOWED_CIDRS],
        "apiServer.port": api.port,
        # The provider forwards the port to the machines unchanged, so the
        # API server has to listen on it.
        f"{_KUBEADM}.initConfiguration.{_BIND_PORT}": api.port,
        f"{_KUBEADM}.joinConfiguration.controlPlane.{_BIND_PORT}": api.port,
        **topic.changed(
            settings,
            FIXED_FLOATING_IP,
            FIXED_IP,
            ALLOWED_CIDRS,
            CERT_SANS,
            LOG_LEVEL,
        ),
    }


TOPIC = topic.Topic(
    name="Kubernetes API",
    labels=(
        FLOATING_IP,
        FIXED_FLOATING_IP,
        FIXED_IP,
        ALLOWED_CIDRS,
        CERT_SANS,
        LOG_LEVEL,
    ),
    leaves=_leaves,
    check=_check,
)
