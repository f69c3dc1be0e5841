# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The driver's options: ``[capi_helm]`` and ``[capi_helm_cluster_labels]``.

Names, types and defaults of magnum-capi-helm 1.4.0 stay as they are, so its
configuration file goes on working; the one default that changed is the
chart's version. The second group is generated from the labels that the
topics declare.
"""

from __future__ import annotations

import os
from typing import Any, cast

import magnum.conf
from magnum.conf import paths
from oslo_config import cfg
from oslo_config import types

from magnum_capi_helm import features
from magnum_capi_helm import labels
from magnum_capi_helm import option_types

CONF = magnum.conf.CONF

capi_helm_group = cfg.OptGroup(
    name="capi_helm", title="Cluster API driver for Magnum"
)
labels_group = cfg.OptGroup(
    name="capi_helm_cluster_labels",
    title="Defaults of cluster labels, for every cluster of this cloud",
)


capi_helm_opts = [
    cfg.StrOpt(
        "kubeconfig_file",
        default="",
        help="Kubeconfig of the management cluster. Empty: the environment "
        "variable KUBECONFIG, then ~/.kube/config.",
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
        "of a chart on the conductor.",
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
        "hand where conductors can't reach the repository.",
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
    cfg.StrOpt(
        "app_cred_interface_type",
        default="public",
        choices=["public", "internal", "admin"],
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
    cfg.Opt(
        "api_resources",
        type=option_types.ApiResources(),
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
        help="Minutes after which an update, or a create without a time-out "
        "of its own, has failed. 0: never.",
    ),
]


def _option(label: labels.Label[Any]) -> cfg.Opt:
    old = [
        cfg.DeprecatedOpt(name, group=capi_helm_group.name)
        for name in label.former
    ]
    old += [
        cfg.DeprecatedOpt(name, group=labels_group.name)
        for name in label.aliases
        if name in label.former
    ]
    return cfg.Opt(
        label.name,
        type=cast("types.ConfigType", label.type),
        default=label.default,
        deprecated_opts=old,
        help=f"{label.help} Allowed: {label.allowed}.",
    )


label_opts = [
    _option(label)
    for label in features.LABELS
    if label.scope is not labels.Scope.TEMPLATE
]

ALL_OPTS = {capi_helm_group: capi_helm_opts, labels_group: label_opts}

for _group, _opts in ALL_OPTS.items():
    CONF.register_group(_group)
    CONF.register_opts(_opts, group=_group)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For the sample configuration file (oslo.config.opts)."""
    return list(ALL_OPTS.items())


def label_defaults() -> dict[str, Any]:
    """The operator's default of each label."""
    group = CONF[labels_group.name]
    return {opt.name: getattr(group, opt.dest) for opt in label_opts}


def kubeconfig_path() -> str:
    """Where the kubeconfig is looked for, in helm's order."""
    configured = CONF.capi_helm.kubeconfig_file
    if configured:
        return os.path.expanduser(str(configured))
    from_environment = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return from_environment or os.path.expanduser("~/.kube/config")
