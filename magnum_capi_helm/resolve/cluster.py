# SPDX-License-Identifier: Apache-2.0

"""A whole cluster, with every reference looked up."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import TYPE_CHECKING, Any

from magnum_capi_helm.chart import immutable_fields
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import api_server
from magnum_capi_helm.features import networking
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import timing
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import network
from magnum_capi_helm.resolve import requested
from magnum_capi_helm.resolve import site
from magnum_capi_helm.resolve import storage

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


def resolve(
    cluster: Any, cloud: catalogue.Cloud, release: str
) -> cluster_spec.Cluster:
    """The whole cluster, checked.

    :param cluster: Magnum's row
    :param cloud: as the user sees it
    :raises InvalidInput: the user can correct it
    :raises CloudError: OpenStack did not answer
    """
    found = requested.cluster_labels(cluster)
    chart = requested.wanted_chart(found)
    wanted = look_up(cluster, found, chart, cloud, release)
    values.check(wanted)
    return wanted


def look_up(
    cluster: Any,
    found: labels.Values,
    chart: cluster_spec.Chart,
    cloud: catalogue.Cloud,
    release: str,
) -> cluster_spec.Cluster:
    """As :func:`resolve`, of labels and a chart that are known.

    What the topics say of it together is not asked.
    """
    nodegroups = list(cluster.nodegroups)
    # Glance, Nova, Neutron and Cinder: four services at the same time.
    with timing.Threads(2) as pool:
        looked_up = pool.submit(network.network, cluster, cloud)
        classes = pool.submit(storage.storage_classes, cloud, found)
        cloud.prefetch({each.image_id for each in nodegroups})
        rows = [
            groups.resolve(cluster, each, cloud, release, found)
            for each in nodegroups
        ]
    control_plane, workers = groups.by_role(rows)
    return dataclasses.replace(
        outline(cluster, found, chart, release),
        identity_url=cloud.cluster_identity_url(),
        control_plane=control_plane,
        node_groups=workers,
        network=looked_up.result(),
        storage_classes=classes.result(),
    )


#: The chart's default of ``osDistro``.
_CHARTS_DISTRO = "ubuntu"
_NOT_LOOKED_UP = cluster_spec.NodeGroup(
    "", "", 1, cluster_spec.Image("", "", "", _CHARTS_DISTRO), role="master"
)


def outline(
    cluster: Any, found: labels.Values, chart: cluster_spec.Chart, release: str
) -> cluster_spec.Cluster:
    """What can be said of a cluster without asking OpenStack.

    Enough for the values of one more group.
    """
    template = cluster.cluster_template
    return cluster_spec.Cluster(
        release=release,
        namespace=location.namespace(cluster.project_id),
        project_id=cluster.project_id,
        identity_url="",
        cni=_cni(template),
        keypair=cluster.keypair,
        control_plane=_NOT_LOOKED_UP,
        node_groups=(),
        labels=found,
        chart=chart,
        allowed_zones=tuple(conf.CONF.capi_helm.csi_cinder_allowed_topologies),
        uuid=cluster.uuid,
        name=cluster.name or "",
        template=template.name or "",
        api=_api_server(cluster, found),
        proxy=_proxy(template),
        insecure_registry=template.insecure_registry or None,
        site=site.site(found),
    )


def living(
    cluster: Any, outlined: cluster_spec.Cluster, applied: Mapping[str, Any]
) -> cluster_spec.Cluster:
    """The outline of a cluster that is there, for the checks of a group.

    Options may say by now what they did not say when it was made, so what
    nobody can change is as in its values.

    :param applied: the cluster's values; those of 1.4.0 have the same keys
    """
    own = applied.get("controlPlane") or {}
    version = (
        cluster.coe_version
        or own.get("kubernetesVersion")
        or applied.get("kubernetesVersion")
        or ""
    )
    image = dataclasses.replace(
        outlined.control_plane.image,
        kube_version=str(version).removeprefix("v"),
        os_distro=str(applied.get("osDistro") or _CHARTS_DISTRO),
    )
    settled = dataclasses.replace(
        outlined,
        labels=outlined.labels.settled(),
        control_plane=dataclasses.replace(outlined.control_plane, image=image),
    )
    return immutable_fields.living(settled, applied)


def _cni(template: Any) -> str:
    """Only a name the chart knows: with any other it installs no CNI."""
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


def _api_server(cluster: Any, found: labels.Values) -> cluster_spec.ApiServer:
    """Magnum's fields, and what the operator makes of them."""
    requested_only = conf.CONF.capi_helm.api_load_balancer == "requested"
    floating_ip = found[api_server.FLOATING_IP]
    if found.given(api_server.FLOATING_IP) is None:
        # A user who said "no floating IPs" is stronger than an option.
        floating_ip = floating_ip and cluster.floating_ip_enabled is not False
    return cluster_spec.ApiServer(
        load_balancer=not requested_only or bool(cluster.master_lb_enabled),
        floating_ip=floating_ip,
        port=cluster.cluster_template.apiserver_port or None,
    )


def _proxy(template: Any) -> cluster_spec.Proxy:
    exempt = (template.no_proxy or "").split(",")
    return cluster_spec.Proxy(
        http=template.http_proxy or None,
        https=template.https_proxy or None,
        exceptions=tuple(each.strip() for each in exempt if each.strip()),
    )
