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
        help="Names of the management clusters, if there are several. Each "
        "name has a group [capi_helm_management_<name>], and kubeconfig_file "
        "above is not used. The first one that answers and is not frozen "
        "gets a new cluster, unless the template names one in the label "
        "capi_management_cluster. Add names at any time; keep a name as long "
        "as its management cluster has clusters. Empty: one management "
        "cluster, with kubeconfig_file.",
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
        help="Name of the helm chart, or an oci:// reference, or the path of "
        "a chart on the conductor (a directory or an archive). A path "
        "provides only the version of its chart.",
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
        help="Directory of the charts, with one file <name>-<version>.tgz "
        "for each version. The driver never downloads a chart that is in it: "
        "fill it by hand if conductors can't reach the repository. If this "
        "option is not set and magnum-conductor can't write to the default, "
        "new charts go to a directory of magnum-conductor's user in "
        "temporary space. Without state_path, the default is in Magnum's "
        "Python package.",
    ),
    cfg.IntOpt(
        "minimum_flavor_ram",
        default=2048,
        min=0,
        help="Minimum memory of a flavor for nodes, in MiB.",
    ),
    cfg.IntOpt(
        "minimum_flavor_vcpus",
        default=2,
        min=0,
        help="Minimum number of VCPUs of a flavor for nodes.",
    ),
    cfg.StrOpt(
        "csi_cinder_default_volume_type",
        help="Cinder volume type of the default StorageClass. Unset: "
        "Cinder's own default type.",
    ),
    cfg.ListOpt(
        "csi_cinder_allowed_topologies",
        default=[],
        help="Zones in which volumes of the StorageClasses may be created. "
        "Empty: all zones.",
    ),
    cfg.Opt(
        "api_resources",
        type=label_types.ApiResources(),
        default={},
        help="JSON object that pins API versions of the management cluster: "
        'kind -> {"api_version": ..., "plural_name": ...}. The driver '
        "discovers the versions of all other kinds, and of a kind whose "
        "version is not served any more.",
    ),
    cfg.ListOpt(
        "k8s_control_plane_resource_conditions",
        default=[
            "MachinesReady",
            "Ready",
            "EtcdClusterHealthy",
            "ControlPlaneComponentsHealthy",
        ],
        help="Conditions of the control plane that must be true before a "
        "cluster is complete. The driver ignores conditions that the control "
        "plane does not have.",
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
        help="Number of helm processes that one process of magnum-conductor "
        "runs at the same time; further runs wait. 0: the number of the "
        "host's processors for each of the [conductor] workers, at least 2.",
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
        help="Minutes after which an operation has failed: an update without "
        "progress, a delete, or a create without a timeout of its own. 0: "
        "never. An update makes progress when it has more new machines with "
        "a ready node, or fewer old machines, than ever before. An operation "
        "that succeeds after it has failed becomes complete.",
    ),
    cfg.StrOpt(
        "cleanup",
        default="auto",
        choices=["auto", "driver", "none"],
        help="Deletion of the load balancers, floating IPs, security groups "
        "and volumes that Kubernetes created, when a cluster is deleted. "
        "auto: by the driver, unless cluster-api-janitor-openstack takes "
        "care of the cluster; driver: always by the driver; none: never by "
        "the driver.",
    ),
    cfg.IntOpt(
        "cleanup_timeout",
        default=10,
        min=0,
        help="Minutes for which the deletion of a cluster waits for load "
        "balancers, floating IPs, security groups and volumes that "
        "Kubernetes created, while none of them disappears. Then the "
        "deletion continues without them, and the log names them.",
    ),
    cfg.StrOpt(
        "unknown_labels",
        default="warn",
        choices=["warn", "reject"],
        help="Handling of a label that has no effect: log a warning, or "
        "refuse the cluster. A label has no effect if no driver has it, or "
        "if it asks for a feature of another driver's clusters.",
    ),
    cfg.StrOpt(
        "api_load_balancer",
        default="always",
        choices=["always", "requested"],
        help="Octavia load balancer of the Kubernetes API. always: every "
        "cluster has one, as with 1.4.0; requested: only a cluster with "
        "master_lb_enabled, in the template or its own. Without a load "
        "balancer, the only control plane machine gets the floating IP.",
    ),
    cfg.DictOpt(
        "server_metadata",
        default={},
        help="Nova metadata of every server of a new cluster, in addition to "
        "the cluster's UUID, name and template. Use it for billing.",
    ),
    cfg.StrOpt(
        "quota_check",
        default="off",
        choices=["off", "warn", "refuse"],
        help="Compare the demand of a new or larger cluster or nodegroup, or "
        "of an upgrade by several minor versions, with the project's free "
        "quota of Nova, Cinder and Neutron. The demand includes one more "
        "machine for each rollout. warn: log what does not fit; refuse: "
        "refuse the request.",
    ),
    cfg.ListOpt(
        "values_files",
        default=[],
        help="YAML files with chart values for every cluster that is created "
        "or upgraded. They override the driver's values, and a later file "
        "overrides an earlier one. They can't change names, counts and "
        "credentials.",
    ),
    cfg.StrOpt(
        "values_profile_dir",
        default="",
        help="Directory of named profiles: one file NAME.yaml with chart "
        "values for each. A template selects profiles with the label "
        "capi_helm_values_profiles.",
    ),
    cfg.StrOpt(
        "nodegroup_profile_dir",
        default="",
        help="Directory of named profiles for single nodegroups: one file "
        "NAME.yaml with keys of one item of nodeGroups for each. Every user "
        "can select them with the label capi_helm_nodegroup_profiles.",
    ),
    cfg.StrOpt(
        "registry_mirror",
        default="",
        help="Registry, with or without a path, that mirrors every registry "
        "under its name: MIRROR/docker.io, MIRROR/quay.io and so on. "
        "Machines and addons pull images only from it.",
    ),
    cfg.StrOpt(
        "registry_auth_file",
        default="",
        help="YAML file with passwords of registries: host -> {username, "
        "password}. The machines get them through a Secret.",
    ),
    cfg.ListOpt(
        "trusted_ca_files",
        default=[],
        help="PEM files with CAs that the machines of new clusters trust, in "
        "addition to [drivers] openstack_ca_file. Use the option for the CA "
        "of a registry or a proxy. 16 KiB together.",
    ),
    cfg.StrOpt(
        "audit_policy_file",
        default="",
        help="YAML file with the audit policy (audit.k8s.io) of clusters "
        "that have an audit log. Empty: the driver's own policy, with the "
        "level that the label audit_log_policy_level selects.",
    ),
    cfg.StrOpt(
        "addon_repository",
        default="",
        help="Helm repository that has the charts of all addons. "
        "`magnum-capi-helm chart mirror` creates such a repository. Empty: "
        "each addon's own repository.",
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
        help="Interface of the OpenStack endpoints that a cluster's machines "
        "and the management cluster use.",
    ),
    cfg.ListOpt(
        "app_cred_roles",
        default=[],
        help="Roles of a cluster's application credential. The credential "
        "gets only the roles that the creating user has. Empty: all roles of "
        "the user. The credential never gets the role admin.",
    ),
    cfg.StrOpt(
        "app_cred_access_rules",
        default="",
        help="YAML or JSON file with Keystone access rules, a list of "
        "{service, method, path}. A cluster's application credential can be "
        "used for nothing else. CAPO needs --scope-cache-max-size=0. Empty: "
        "for everything that its roles allow.",
    ),
    cfg.IntOpt(
        "app_cred_check_interval",
        default=3600,
        min=0,
        help="Seconds after which a health poll logs in again with a "
        "cluster's application credential, to check that it still works. 0: "
        "never.",
    ),
    cfg.IntOpt(
        "app_cred_grace",
        default=600,
        min=0,
        help="Seconds for which the driver keeps a rotated application "
        "credential once the cluster has a new one. In this time the "
        "reloader restarts the pods that use it.",
    ),
    cfg.IntOpt(
        "app_cred_grace_without_reloader",
        default=86400,
        min=0,
        help="The same for a cluster without the reloader, whose users "
        "restart the pods.",
    ),
    cfg.StrOpt(
        "region_name",
        default="",
        regex="^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$",
        help="Region of this Magnum, if several regions of one cloud share a "
        "management cluster. The driver marks namespaces with it, and "
        "creates no cluster in a namespace of another region. Up to 63 "
        "letters, digits, -, _ and dots. Empty: namespaces are not marked.",
    ),
    cfg.StrOpt(
        "metrics_dir",
        default="",
        help="Directory for node_exporter's textfile collector. Each process "
        "of magnum-conductor that polls writes a file with its metrics "
        "there, every 15 seconds. Magnum's user must be able to write to it. "
        "Empty: nothing is measured.",
    ),
    cfg.StrOpt(
        "delivery_url",
        default="",
        secret=True,
        help="https:// URL of the receiver of kubeconfigs. The driver sends "
        "each cluster's kubeconfig by POST when the cluster is ready, and "
        "again when it changes. Empty: nothing is sent.",
    ),
    cfg.StrOpt(
        "delivery_key_file",
        default="",
        help="File with the key that signs each kubeconfig that is sent "
        "(HMAC-SHA256): 24 to 64 bytes in base64, with or without ``whsec_`` "
        "before it. A second line may have the old key: then both sign. "
        "Other users must not be able to read the file. The driver reads it "
        "again for each delivery.",
    ),
    cfg.StrOpt(
        "delivery_ca_file",
        default="",
        help="PEM file with the CAs that may have signed the receiver's "
        "certificate. Empty: the CAs that Python's requests trusts.",
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
    cfg.IntOpt(
        "delivery_check_interval",
        default=3600,
        min=60,
        help="Seconds after which each conductor checks again if a cluster's "
        "CA or credential has changed since the delivery.",
    ),
]


_CLUSTER_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")

MANAGEMENT_CLUSTER_OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "kubeconfig_file",
        default="",
        help="Kubeconfig of this management cluster. Required.",
    ),
]


@dataclasses.dataclass(frozen=True)
class ManagementCluster:
    """A management cluster as it is configured.

    :param name: empty: the only one, which needs no name
    :param kubeconfig: path of its kubeconfig
    :param option: option with that path, for error messages
    """

    name: str
    kubeconfig: str
    option: str


def is_management_cluster_name(text: str) -> bool:
    """Return whether a management cluster may have this name."""
    return _CLUSTER_NAME.fullmatch(text) is not None
