# SPDX-License-Identifier: Apache-2.0

"""A whole cluster, with every reference looked up."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from magnum_capi_helm.chart import upgrade_rules
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import egress
from magnum_capi_helm.features import networking
from magnum_capi_helm.features import storage
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import call
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import names
from magnum_capi_helm.model import versions
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import network
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.resolve import requested_labels


def resolve(
    cluster: Any, cloud: catalogue.Cloud, release: str
) -> cluster_spec.Cluster:
    """Resolve the rows of a new cluster.

    :param cluster: Magnum's row
    :param cloud: as the user sees it
    :raises InvalidInput: the user can correct it
    :raises CloudError: OpenStack did not answer
    """
    check_template(cluster.cluster_template)
    requested_labels.check_unknown(cluster)
    cluster_labels = requested_labels.cluster_labels(cluster)
    chart = requested_labels.wanted_chart(cluster_labels)
    api = _api_server(cluster, cluster_labels)
    api_server.check_port(api, chart.version)
    if api.load_balancer:
        _check_balancer(cluster_labels, cloud)
    resolved = look_up(cluster, cluster_labels, chart, cloud, release)
    if resolved.api.load_balancer:
        return network.with_balancers_network(resolved, cloud)
    return resolved


def check_template(template: Any) -> None:
    """Refuse a template whose clusters work and can't be used.

    Clients write a kubeconfig without certificates for it, and Magnum rotates
    no CA (python-magnumclient's ``_config_cluster_kubernetes``, Magnum's
    ``controllers/v1/certificate.py``).

    :raises InvalidInput: naming the field
    """
    if template.tls_disabled:
        raise errors.InvalidInput(
            "tls_disabled: choose a template without it, since the Kubernetes "
            "API always has TLS and `openstack coe cluster config` would "
            f"leave the certificates out. It is true in cluster template "
            f"{errors.shown(template.name)}"
        )


#: Label -> the question to the cloud for its allowed values.
_OF_BALANCERS: tuple[tuple[labels.Label[str], str], ...] = (
    (api_server.LB_PROVIDER, "providers of load balancers"),
    (api_server.LB_FLAVOR, "flavors of load balancers"),
    (api_server.LB_ZONE, "availability zones of load balancers"),
)


def _check_balancer(
    cluster_labels: labels.Values, cloud: catalogue.Cloud
) -> None:
    """Refuse a provider, flavor or zone that Octavia does not have.

    Cluster API's provider would take the default provider or flavor of
    Octavia without a word.
    """
    for label, question in _OF_BALANCERS:
        name = cluster_labels[label]
        if cluster_labels.given(label) is None or not name:
            continue
        offered = cloud.choices(question)
        if name not in offered:
            raise cluster_labels.refused(
                label,
                label.allowed,
                f"Octavia has {', '.join(offered) or 'none'}",
            )


def look_up(
    cluster: Any,
    cluster_labels: labels.Values,
    chart: cluster_spec.Chart,
    cloud: catalogue.Cloud,
    release: str,
) -> cluster_spec.Cluster:
    """Look up the references of a cluster whose labels are resolved."""
    outlined = _outline(cluster, cluster_labels, chart, release)
    nodegroups = list(cluster.nodegroups)
    # Glance, Nova, Neutron and Cinder: four services at the same time.
    with call.Threads(2) as pool:
        looked_up = pool.submit(network.network, cluster, cloud)
        classes = pool.submit(storage_classes, cloud, cluster_labels)
        cloud.prefetch({each.image_id for each in nodegroups})
        rows = [
            groups.resolve(cluster, each, cloud, outlined)
            for each in nodegroups
        ]
    control_plane, workers = groups.by_role(rows)
    return dataclasses.replace(
        outlined,
        identity_url=cloud.cluster_identity_url(),
        control_plane=control_plane,
        node_groups=workers,
        network=looked_up.result(),
        storage_classes=classes.result(),
    )


_UNKNOWN = cluster_spec.Image("", "", "", upgrade_rules.CHARTS_DISTRO)
_NOT_LOOKED_UP = cluster_spec.NodeGroup("", "", 1, _UNKNOWN, role="master")


def outline(
    cluster: Any,
    chart: cluster_spec.Chart,
    release: str,
    own: Mapping[str, str] | None = None,
) -> cluster_spec.Cluster:
    """Return an existing cluster without the parts that OpenStack looks up.

    This is enough for the values of one more group.

    :param own: as for :func:`requested_labels.living_labels`
    """
    cluster_labels = requested_labels.living_labels(cluster, own)
    return _outline(cluster, cluster_labels, chart, release)


def _outline(
    cluster: Any,
    cluster_labels: labels.Values,
    chart: cluster_spec.Chart,
    release: str,
) -> cluster_spec.Cluster:
    template = cluster.cluster_template
    return cluster_spec.Cluster(
        release=release,
        project_id=cluster.project_id,
        identity_url="",
        cni=_cni(template),
        keypair=cluster.keypair,
        control_plane=_NOT_LOOKED_UP,
        node_groups=(),
        labels=cluster_labels,
        chart=chart,
        allowed_zones=tuple(conf.CONF.capi_helm.csi_cinder_allowed_topologies),
        uuid=cluster.uuid,
        name=cluster.name or "",
        template=template.name or "",
        api=_api_server(cluster, cluster_labels),
        proxy=cluster_spec.Proxy(
            http=template.http_proxy or None,
            https=template.https_proxy or None,
            exceptions=network.split(template.no_proxy),
        ),
        insecure_registry=egress.given(template.insecure_registry) or None,
        site=operator_files.site(cluster_labels),
        namespace=location.namespace(cluster.project_id),
    )


def living(
    cluster: Any, outlined: cluster_spec.Cluster, applied: Mapping[str, Any]
) -> cluster_spec.Cluster:
    """Return the outline of an existing cluster, to check a group.

    Options may have changed since it was created, so immutable fields are
    taken from its values.

    :param applied: the cluster's values; those of 1.4.0 have the same keys
    """
    wanted = upgrade_rules.control_plane_version(applied)
    both = [wanted, str(cluster.coe_version or "").lstrip("v")]
    # In an upgrade, new machines join the control plane that is to come. An
    # older copy of the values says less than the one that runs.
    version = max(both, key=lambda each: versions.number(each) or (0,))
    image = dataclasses.replace(
        outlined.control_plane.image,
        kube_version=version,
        os_distro=upgrade_rules.distribution(applied),
    )
    settled = dataclasses.replace(
        outlined,
        labels=outlined.labels.without_settings(),
        control_plane=dataclasses.replace(outlined.control_plane, image=image),
    )
    return upgrade_rules.living(settled, applied)


def _cni(template: Any) -> str:
    """Return the chart's name of the CNI: with any other it installs none."""
    driver = template.network_driver
    if driver in networking.CNIS:
        return str(driver)
    # Magnum fills an unset driver with its own default, flannel.
    if driver in (None, "", "flannel"):
        return networking.CNIS[0]
    raise errors.InvalidInput(
        f"network_driver: choose one of {', '.join(networking.CNIS)}. It is "
        f"{errors.shown(driver)}"
    )


def _api_server(
    cluster: Any, cluster_labels: labels.Values
) -> cluster_spec.ApiServer:
    """Return the way to the API: the row's fields and the options decide."""
    requested_only = conf.CONF.capi_helm.api_load_balancer == "requested"
    floating_ip = cluster_labels[api_server.FLOATING_IP]
    if cluster_labels.given(api_server.FLOATING_IP) is None:
        # A user who said "no floating IPs" is stronger than an option.
        floating_ip = floating_ip and cluster.floating_ip_enabled is not False
    return cluster_spec.ApiServer(
        load_balancer=not requested_only or bool(cluster.master_lb_enabled),
        floating_ip=floating_ip,
        port=cluster.cluster_template.apiserver_port or None,
    )


def storage_classes(
    cloud: catalogue.Cloud, cluster_labels: labels.Values
) -> tuple[cluster_spec.StorageClass, ...]:
    """Return the classes, the default one first, the others by volume type.

    None is the default class if the user may not choose Cinder's default
    type: any other would be a guess, and it may cost or lose data.

    :param cluster_labels: the cluster's labels
    :raises NotConfigured: the operator's default type is not there
    """
    if not cluster_labels[storage.ENABLED]:
        return ()  # the cloud may have no Cinder at all
    types = cloud.choices("volume types")
    default = _default_volume_type(cloud, types)
    if not types and default:
        # There is the placeholder alone, or a type that users don't see.
        name = names.storage_class("default")
        return (
            cluster_spec.StorageClass(name, volume_type=None, default=True),
        )
    classes = [
        cluster_spec.StorageClass(
            name, volume_type, default=volume_type == default
        )
        for volume_type, name in names.storage_classes(types).items()
    ]
    return tuple(sorted(classes, key=lambda each: not each.default))


def _default_volume_type(
    cloud: catalogue.Cloud, types: tuple[str, ...]
) -> str | None:
    """Return the volume type of claims that name no class."""
    chosen: str | None = conf.CONF.capi_helm.csi_cinder_default_volume_type
    if not chosen:
        return cloud.default_volume_type()
    if chosen not in types:
        raise errors.NotConfigured(
            "[capi_helm] csi_cinder_default_volume_type: Cinder has no such "
            f"volume type. It is {errors.shown(chosen)}; Cinder has "
            f"{', '.join(types) or 'no volume types'}"
        )
    return chosen
