# SPDX-License-Identifier: Apache-2.0

"""The options of ``[capi_helm_management_<name>]``, one group for each.

There is such a group only where there are several management clusters. And
the option of ``[capi_helm]`` for those that share one.
"""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "kubeconfig_file",
        default="",
        help="Kubeconfig of this management cluster. Required.",
    ),
    cfg.IntOpt(
        "weight",
        default=100,
        min=0,
        help="Share of the new clusters that go to this management cluster, "
        "against the weights of the others that take them. 0: no new "
        "clusters, while those that it has live on.",
    ),
    cfg.ListOpt(
        "projects",
        default=[],
        help="IDs of the projects whose new clusters are made here. Empty: "
        "of any.",
    ),
    cfg.ListOpt(
        "availability_zones",
        default=[],
        help="Only new clusters whose availability zones, as the labels "
        "availability_zone and control_plane_availability_zones name them, "
        "are all among these are made here. Empty: those of any zone, or "
        "none.",
    ),
    cfg.BoolOpt(
        "only_labelled",
        default=False,
        help="Only new clusters of templates that name this management "
        "cluster in the label capi_management_cluster are made here.",
    ),
]

#: In ``[capi_helm]``.
SHARING: list[cfg.Opt] = [
    cfg.StrOpt(
        "region_name",
        default="",
        regex="^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$",
        help="Region of this Magnum, where several regions of one cloud "
        "share a management cluster: namespaces are marked with it, and no "
        "cluster is made in one of another region. Up to 63 letters, "
        "digits, -, _ and dots. Empty: namespaces are not marked.",
    ),
]
