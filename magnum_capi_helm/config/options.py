# SPDX-License-Identifier: Apache-2.0

"""The options of ``[capi_helm]``.

All of magnum-capi-helm 1.4.0's are here under their names, so its
configuration file goes on working; the one default that changed is the
chart's version.
"""

from __future__ import annotations

import dataclasses
import re

from magnum.conf import paths
from oslo_config import cfg

from magnum_capi_helm.model import label_types

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "kubeconfig_file",
        default="",
        help="Kubeconfig of the management cluster. Empty: the environment "
        "variable KUBECONFIG, then ~/.kube/config.",
    ),
    cfg.ListOpt(
        "management_clusters",
        default=[],
        help="Names of the management clusters, where there are several: "
        "each has a group [capi_helm_management_<name>], and "
        "kubeconfig_file above is not used. Add to it at will, and leave a "
        "name in it as long as the management cluster has clusters. Empty: "
        "the one of kubeconfig_file.",
    ),
    cfg.StrOpt(
        "namespace_prefix",
        default="magnum",
        help="Prefix of the namespace that each project gets on the "
        "management cluster: <prefix>-<project id>. Two clouds that share "
        "one management cluster need different prefixes.",
    ),
    cfg.StrOpt(
        "helm_chart_repo",
        default="https://azimuth-cloud.github.io/capi-helm-charts",
        help="Repository of the helm chart. Empty when helm_chart_name is a "
        "path or an oci:// reference.",
    ),
    cfg.StrOpt(
        "helm_chart_name",
        default="openstack-cluster",
        help="Name of the helm chart, or an oci:// reference, or the path "
        "of a chart on the conductor, a directory or an archive. A path "
        "gives the version that its chart has, and no other.",
    ),
    cfg.StrOpt(
        "default_helm_chart_version",
        default="0.27.0",
        help="Version of the chart for new clusters whose template has no "
        "label capi_helm_chart_version. Existing clusters keep theirs.",
    ),
    cfg.StrOpt(
        "chart_store",
        default=paths.state_path_def("capi_helm", "charts"),
        help="Directory where charts are kept, one <name>-<version>.tgz for "
        "each version. A chart that is here is never downloaded: fill it by "
        "hand where conductors can't reach the repository. If it is not set "
        "and magnum-conductor can't write the default, which without "
        "state_path is in Magnum's Python package, new charts go to a "
        "directory of magnum-conductor's user in temporary space.",
    ),
    cfg.IntOpt(
        "minimum_flavor_ram",
        default=2048,
        min=0,
        help="Least memory of a flavor for nodes, in MiB.",
    ),
    cfg.IntOpt(
        "minimum_flavor_vcpus",
        default=2,
        min=0,
        help="Least number of VCPUs of a flavor for nodes.",
    ),
    cfg.StrOpt(
        "csi_cinder_default_volume_type",
        help="Cinder volume type of the default StorageClass. Unset: "
        "Cinder's own default type.",
    ),
    cfg.ListOpt(
        "csi_cinder_allowed_topologies",
        default=[],
        help="Zones in which volumes of the StorageClasses may be made; "
        "empty for all.",
    ),
    cfg.Opt(
        "api_resources",
        type=label_types.ApiResources(),
        default={},
        help="JSON object that pins API versions of the management cluster: "
        'kind -> {"api_version": ..., "plural_name": ...}. What is not in '
        "it is discovered.",
    ),
    cfg.ListOpt(
        "k8s_control_plane_resource_conditions",
        default=[
            "MachinesReady",
            "Ready",
            "EtcdClusterHealthy",
            "ControlPlaneComponentsHealthy",
        ],
        help="Conditions of the control plane that must be true, where it "
        "has them, before a cluster is complete.",
    ),
    cfg.IntOpt(
        "helm_timeout",
        default=300,
        min=10,
        help="Seconds that one run of helm may take.",
    ),
    cfg.IntOpt(
        "max_helm_processes",
        default=0,
        min=0,
        help="How many helm processes one process of magnum-conductor runs "
        "at once; what is more waits in line. 0: as many as the host has "
        "processors for each of the [conductor] workers, at least 2.",
    ),
    cfg.FloatOpt(
        "api_connect_timeout",
        default=3.05,
        min=0.1,
        help="Seconds to wait for a connection to the management cluster.",
    ),
    cfg.FloatOpt(
        "api_read_timeout",
        default=15.0,
        min=0.1,
        help="Seconds to wait for an answer of the management cluster.",
    ),
    cfg.IntOpt(
        "operation_timeout",
        default=60,
        min=0,
        help="Minutes after which an update without progress, a delete, or "
        "a create without a time-out of its own has failed. 0: never. An "
        "update makes progress when it has more new machines with a ready "
        "node, or fewer old ones, than ever before. What has failed and "
        "gets there after all is complete all the same.",
    ),
    cfg.StrOpt(
        "cleanup",
        default="auto",
        choices=["auto", "driver", "none"],
        help="Who deletes the load balancers, floating IPs, security groups "
        "and volumes that Kubernetes made, when a cluster is deleted: auto, "
        "the driver, unless cluster-api-janitor-openstack takes care of the "
        "cluster; driver, always the driver; none, never the driver.",
    ),
    cfg.IntOpt(
        "cleanup_timeout",
        default=10,
        min=0,
        help="Minutes for which the deletion of a cluster waits for load "
        "balancers, floating IPs, security groups or volumes that Kubernetes "
        "made and of which none goes any more. Then it goes on without them, "
        "and the log names them.",
    ),
    cfg.StrOpt(
        "unknown_labels",
        default="warn",
        choices=["warn", "reject"],
        help="What to do with a label that has no effect: log a warning, or "
        "refuse the cluster. It is one that no driver knows, or that asks "
        "for what clusters of another driver have and these have not.",
    ),
    cfg.StrOpt(
        "api_load_balancer",
        default="always",
        choices=["always", "requested"],
        help="When the Kubernetes API gets an Octavia load balancer: always, "
        "as with 1.4.0, or only where template or cluster have "
        "master_lb_enabled. Without one, the floating IP goes to the only "
        "control plane machine.",
    ),
    cfg.DictOpt(
        "server_metadata",
        default={},
        help="Nova metadata of every server of a new cluster, beside the "
        "cluster's UUID, name and template: for billing.",
    ),
    cfg.StrOpt(
        "quota_check",
        default="off",
        choices=["off", "warn", "refuse"],
        help="Compare what a new cluster or nodegroup, or a larger one, "
        "needs with the project's free quota of Nova, Cinder and Neutron, "
        "one more machine for each rollout included, and log or refuse what "
        "does not fit.",
    ),
    cfg.ListOpt(
        "values_files",
        default=[],
        help="YAML files with chart values that are laid over those of every "
        "cluster that is created or upgraded, the last one on top. Names, "
        "counts and credentials are out of their reach.",
    ),
    cfg.StrOpt(
        "values_profile_dir",
        default="",
        help="Directory of named profiles, NAME.yaml each, with chart "
        "values. A template picks them with the label "
        "capi_helm_values_profiles.",
    ),
    cfg.StrOpt(
        "registry_mirror",
        default="",
        help="Registry, may be with a path, that mirrors every registry "
        "below the name of each: MIRROR/docker.io, MIRROR/quay.io and so "
        "on. Machines and addons pull from it alone.",
    ),
    cfg.StrOpt(
        "registry_auth_file",
        default="",
        help="YAML file with passwords of registries: host -> {username, "
        "password}. They reach the machines through a Secret.",
    ),
    cfg.ListOpt(
        "trusted_ca_files",
        default=[],
        help="PEM files with CAs that the machines of new clusters trust, "
        "beside those of [drivers] openstack_ca_file: of a registry, a "
        "proxy and the like. 16 KiB together.",
    ),
    cfg.StrOpt(
        "audit_policy_file",
        default="",
        help="YAML file with the audit policy (audit.k8s.io) of clusters "
        "that have an audit log. Empty: the driver's own, with the level "
        "that the label audit_log_policy_level chooses.",
    ),
    cfg.StrOpt(
        "addon_repository",
        default="",
        help="Helm repository that has the charts of all addons. Empty: each "
        "addon's own. `magnum-capi-helm chart mirror` fills one.",
    ),
    cfg.StrOpt(
        "app_cred_interface_type",
        default="public",
        choices=[
            "public",
            "internal",
            "admin",
            # As Keystone's older clients spell them, and 1.4.0 took them.
            "publicURL",
            "internalURL",
            "adminURL",
        ],
        help="Endpoint interface by which a cluster's machines and the "
        "management cluster reach OpenStack.",
    ),
    cfg.ListOpt(
        "app_cred_roles",
        default=[],
        help="Roles of a cluster's application credential, as far as the "
        "creating user has them. Empty: all of that user's roles. The role "
        "admin is never passed on.",
    ),
    cfg.StrOpt(
        "app_cred_access_rules",
        default="",
        help="YAML or JSON file with Keystone access rules, a list of "
        "{service, method, path}: a cluster's application credential is good "
        "for nothing else. Empty: for all that its roles allow.",
    ),
    cfg.IntOpt(
        "app_cred_check_interval",
        default=3600,
        min=0,
        help="Seconds after which a health poll logs in again with a "
        "cluster's own application credential, to see whether it still "
        "works. 0: never.",
    ),
    cfg.IntOpt(
        "app_cred_grace",
        default=600,
        min=0,
        help="Seconds for which a rotated application credential is kept "
        "once a cluster has a new one: its pods have to be restarted, which "
        "the reloader does.",
    ),
    cfg.IntOpt(
        "app_cred_grace_without_reloader",
        default=86400,
        min=0,
        help="The same for a cluster without the reloader, whose users "
        "restart the pods.",
    ),
    cfg.IntOpt(
        "renew_certificates_days",
        default=0,
        min=0,
        max=300,
        help="Renew the certificates of a control plane when they expire "
        "within so many days, by new machines: what `magnum-capi-helm "
        "cluster apply --certificates` "
        "does, one cluster at a time for each process of magnum-conductor. "
        "Clusters with the label certificates_expiry_days are left to Cluster "
        "API. 0: never.",
    ),
    cfg.StrOpt(
        "region_name",
        default="",
        regex="^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$",
        help="Region of this Magnum, where several regions of one cloud "
        "share a management cluster: namespaces are marked with it, and no "
        "cluster is made in one of another region. Up to 63 letters, "
        "digits, -, _ and dots. Empty: namespaces are not marked.",
    ),
    cfg.StrOpt(
        "metrics_dir",
        default="",
        help="Directory for node_exporter's textfile collector, where each "
        "process of magnum-conductor that polls writes a file with what it "
        "measures, every 15 seconds. Magnum's user must be able to write "
        "there. Empty: nothing is measured.",
    ),
    cfg.StrOpt(
        "delivery_url",
        default="",
        secret=True,
        help="Where a kubeconfig of each cluster is sent by POST when the "
        "cluster is ready, and again when it changes: an https:// URL. "
        "Empty: nothing is sent.",
    ),
    cfg.StrOpt(
        "delivery_key_file",
        default="",
        help="File with the key that signs what is sent (HMAC-SHA256): 24 to "
        "64 bytes in base64, ``whsec_`` before it or not. A second line may "
        "have the former key: then both sign. Others must not be able to read "
        "the file. Read again for each delivery.",
    ),
    cfg.StrOpt(
        "delivery_ca_file",
        default="",
        help="PEM file with the CAs that the receiver's certificate may be "
        "of. Empty: those that Python's requests trusts.",
    ),
    # One choice: a file that asks for a user with fewer rights is refused,
    # and does not send the administrator's kubeconfig.
    cfg.StrOpt(
        "delivery_user",
        default="admin",
        choices=["admin"],
        help="User of the kubeconfig that is sent. admin: the administrator "
        "of the cluster, from the kubeconfig that Cluster API makes.",
    ),
    cfg.FloatOpt(
        "delivery_timeout",
        default=10.0,
        min=0.1,
        max=60.0,
        help="Seconds to wait for a connection to the receiver, and then for "
        "its answer.",
    ),
    cfg.IntOpt(
        "delivery_check_interval",
        default=3600,
        min=60,
        help="Seconds after which each conductor looks again whether a "
        "cluster's CA or credential has changed since it was delivered.",
    ),
]


_CLUSTER_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")

MANAGEMENT_CLUSTER_OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "kubeconfig_file",
        default="",
        help="Kubeconfig of this management cluster. Required.",
    ),
    cfg.IntOpt(
        "weight",
        default=100,
        min=0,
        help="Share of the clusters that this management cluster gets, "
        "against the weights of the others that take them: a new cluster "
        "goes where the fewest are for the weight. 0: no new clusters, while "
        "those that it has live on.",
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


@dataclasses.dataclass(frozen=True)
class ManagementCluster:
    """A management cluster as it is configured.

    :param name: empty: the only one, which needs no name
    :param kubeconfig: path of its kubeconfig
    :param option: option with that path, for error messages
    :param weight: its share of new clusters; 0: it takes none
    :param projects: IDs of the projects whose clusters it takes; empty: any
    :param zones: Nova availability zones that its clusters have to name;
        empty: any, or none
    :param only_labelled: whether it takes only clusters of templates that
        name it
    """

    name: str
    kubeconfig: str
    option: str
    weight: int = 100
    projects: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    only_labelled: bool = False


#: A single one of which nothing is configured.
UNNAMED = ManagementCluster("", "", "[capi_helm] kubeconfig_file")


def is_management_cluster_name(text: str) -> bool:
    """Return whether a management cluster may have this name."""
    return _CLUSTER_NAME.fullmatch(text) is not None
