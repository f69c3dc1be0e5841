# SPDX-License-Identifier: Apache-2.0

"""Load balancers; the Kubernetes API: its addresses and certificate."""

from __future__ import annotations

from typing import Any

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

LOAD_BALANCERS = topic.Topic("Load balancers")

_SECTION = "addons.openstack.cloudConfig.LoadBalancer"
_OVN = "ovn"
#: The one algorithm of Octavia's OVN driver, that its amphora driver lacks.
_OVN_ALGORITHM = "SOURCE_IP_PORT"
_AMPHORA = ("amphora", "amphorav2", "octavia")

LB_PROVIDER = LOAD_BALANCERS.label(
    "octavia_provider",
    types.String(regex=r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z"),
    "amphora",
    allowed="the name of an Octavia provider, such as amphora or ovn",
    help="Octavia provider of all load balancers of the cluster. Load "
    "balancers of the provider ovn need open node ports. Charts before 0.24.0 "
    "do not open them: open them in a security group.",
    becomes=(paths.API_LB_PROVIDER, f"{_SECTION}.lb-provider"),
)
LB_ALGORITHM = LOAD_BALANCERS.choice(
    "octavia_lb_algorithm",
    ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
    help="Algorithm of the load balancers of Services. Default: "
    "SOURCE_IP_PORT for the provider ovn, which has no other, else "
    "ROUND_ROBIN. The load balancer of the API always has the default.",
    becomes=(f"{_SECTION}.lb-method",),
)
LB_HEALTH_CHECK = LOAD_BALANCERS.switch(
    "octavia_lb_healthcheck",
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


LOAD_BALANCERS.leaves = _load_balancer_leaves
LOAD_BALANCERS.check = _check_load_balancers


TOPIC = topic.Topic("Kubernetes API")

#: The one that CAPO's managed security group opens (``getSGControlPlaneHTTPS``
#: in its ``securitygroups_rules.go``).
_PORT = 6443
#: Charts whose provider opens another one, and lets the driver choose the
#: load balancer's tests, as ``patches.yaml`` says.
_NEWER_CAPO = (versions.Range(since="0.24.0"),)
#: Tests of an API server. CAPO's own take half a minute to find a lost one,
#: and 50 seconds to use a new one, which is often alone by then
#: (``defaultMonitorMaxRetries`` in its ``loadbalancer.go``). A new one accepts
#: connections before it answers, so it gets none for 20 seconds.
_MONITOR = {"delay": 2, "timeout": 1, "maxRetries": 10, "maxRetriesDown": 2}

FLOATING_IP = TOPIC.switch(
    "master_lb_floating_ip_enabled",
    default=True,
    help="Give the Kubernetes API a floating IP. Magnum's "
    "floating_ip_enabled applies if the label is not set.",
    becomes=(paths.API_HAS_FLOATING_IP,),
)
FIXED_FLOATING_IP: labels.Label[str | None] = TOPIC.label(
    "api_server_floating_ip",
    types.IPAddress(version=4),
    allowed="an IPv4 address",
    help="Existing floating IP of the project for the Kubernetes API. "
    "Default: a new floating IP.",
    becomes=(paths.API_FLOATING_IP,),
)
FIXED_IP: labels.Label[str | None] = TOPIC.label(
    "api_server_fixed_ip",
    types.IPAddress(version=4),
    allowed="an IPv4 address of the cluster's network",
    help="Virtual IP of the load balancer. Without load balancer and "
    "floating IP, it is the address of an existing port; software of the "
    "user, such as kube-vip, routes it to the control plane.",
    becomes=(paths.API_FIXED_IP,),
)
ALLOWED_CIDRS: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "api_master_lb_allowed_cidrs",
    label_types.IPv4Networks(),
    details="an example is 192.0.2.0/24, or 192.0.2.1/32 for one address",
    help="Networks that can reach the Kubernetes API, in addition to the "
    "networks of the cluster. Load balancers of the provider ovn can't "
    "filter. Default: all networks.",
    aliases=("master_lb_allowed_cidrs",),
    becomes=("apiServer.allowedCIDRs",),
)
LB_FLAVOR = TOPIC.text(
    "api_server_lb_flavor",
    "the name of an Octavia flavor",
    help="Octavia flavor of the load balancer. Default: as in Octavia.",
    becomes=(paths.API_LB_FLAVOR,),
    charts=(versions.Range(since="0.12.0"),),
)
LB_ZONE = TOPIC.text(
    "api_server_lb_availability_zone",
    "the name of an Octavia availability zone",
    help="Octavia availability zone of the load balancer. Default: as in "
    "Octavia.",
    becomes=(paths.API_LB_ZONE,),
    charts=(versions.Range(since="0.11.0"),),
)
LB_NETWORK = TOPIC.text(
    "api_server_network",
    "the name or UUID of a network",
    help="Network of the load balancer's address, such as one that the "
    "management cluster reaches. Give master_lb_floating_ip_enabled=false "
    "with it. Default: the network of the cluster.",
    becomes=(f"{paths.API_LB_NETWORK}.id",),
    charts=(versions.Range(since="0.11.0"),),
)
CERT_SANS: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "api_server_cert_sans",
    label_types.HOSTS,
    help="Additional names in the certificate of the Kubernetes API.",
    becomes=(f"{paths.API_SERVER}.certSANs",),
)
LOG_LEVEL = TOPIC.label(
    "api_server_log_level",
    label_types.Integer(0, 10, "a number"),
    2,
    help="Verbosity of the API server's log.",
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
    elif settings[LB_NETWORK] and api.floating_ip:
        # Neutron gives none to a port of an external network.
        raise settings.refused(LB_NETWORK, f"it with {FLOATING_IP.name}=false")
    elif settings[LB_PROVIDER] == _OVN:
        _check_ovn(settings)


def _check_ovn(settings: labels.Values) -> None:
    """Refuse what load balancers of the provider ovn ignore without a word.

    All networks would reach the API. A value of the operator's options is
    refused, too, if a user chose the provider.
    """
    chosen = topic.is_given(settings, LB_PROVIDER)
    lacking: dict[labels.Label[Any], str] = {
        ALLOWED_CIDRS: "filter",
        LB_NETWORK: "connect two networks",
    }
    for label, lack in lacking.items():
        if settings[label] and (chosen or topic.is_given(settings, label)):
            raise settings.refused(
                label,
                f"it with another {LB_PROVIDER.name} than {_OVN}, whose load "
                f"balancers can't {lack}",
            )


def _check_bare(cluster: cluster_spec.Cluster) -> None:
    """Refuse settings that need a load balancer, where there is none."""
    settings, machines = cluster.labels, cluster.control_plane.count
    if settings[ALLOWED_CIDRS]:
        raise settings.refused(
            ALLOWED_CIDRS,
            "it with master_lb_enabled: only a load balancer can filter",
        )
    for label in (LB_FLAVOR, LB_ZONE, LB_NETWORK):
        if topic.is_given(settings, label):
            raise settings.refused(label, "it with master_lb_enabled")
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


def check_port(api: cluster_spec.ApiServer, chart: str) -> None:
    """Refuse a port that stays closed on the machines of a new cluster.

    :raises InvalidInput: naming the field
    """
    if _opened(api.port) and not versions.applies(_NEWER_CAPO, chart):
        raise errors.InvalidInput(
            f"apiserver_port: give {_PORT}, or a chart version that opens "
            f"another port. It is {api.port}; charts "
            f"{versions.describe(_NEWER_CAPO)} do, and this is {chart}"
        )


def _opened(port: int | None) -> list[paths.Values]:
    """Return the rules of the control plane's security group for a port."""
    text = "Kubernetes API, apiserver_port"
    rule = {
        **dict.fromkeys(("name", "description"), text),
        "direction": "ingress",
        "etherType": "IPv4",
        "protocol": "tcp",
        **dict.fromkeys(("portRangeMin", "portRangeMax"), port),
    }
    return [] if port in (None, _PORT) else [rule]


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings, api = cluster.labels, cluster.api
    version = cluster.chart.version
    return {
        paths.API_BALANCER: api.load_balancer,
        # Even without it: for ovn the chart opens the workers' node ports,
        # which load balancers of Services need.
        paths.API_LB_PROVIDER: settings[LB_PROVIDER],
        paths.API_HAS_FLOATING_IP: api.floating_ip,
        # 0.10.1 applies this spelling alone; CAPO drops what others render.
        "apiServer.allowedCidrs": settings[ALLOWED_CIDRS]
        if version in versions.Range(until="0.10.1")
        else None,
        "apiServer.loadBalancerMonitor": _MONITOR
        if api.load_balancer and versions.applies(_NEWER_CAPO, version)
        else None,
        paths.API_PORT: api.port,
        "apiServer.securityGroupRules": _opened(api.port),
        # The provider forwards the port to the machines unchanged, so the
        # API server has to listen on it.
        f"{paths.BIND_OF_FIRST}.bindPort": api.port,
        f"{paths.BIND_OF_OTHERS}.bindPort": api.port,
        **topic.changed(
            settings,
            FIXED_FLOATING_IP,
            FIXED_IP,
            ALLOWED_CIDRS,
            CERT_SANS,
            LOG_LEVEL,
            *((LB_FLAVOR, LB_ZONE, LB_NETWORK) if api.load_balancer else ()),
        ),
    }


TOPIC.leaves = _leaves
TOPIC.check = _check
