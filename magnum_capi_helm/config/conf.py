# SPDX-License-Identifier: Apache-2.0

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
from oslo_config import cfg
from oslo_config import types

from magnum_capi_helm import features
from magnum_capi_helm.config import options
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels

CONF = magnum.conf.CONF

#: One process that hangs does not block the others.
_FEWEST_HELMS = 2

capi_helm_group = cfg.OptGroup(
    name="capi_helm", title="Cluster API driver for Magnum"
)
labels_group = cfg.OptGroup(
    name="capi_helm_cluster_labels",
    title="Defaults of cluster labels, for every cluster of this cloud",
)

_MANAGEMENT = "capi_helm_management_"
#: As the sample configuration shows it: one for each name in the list.
management_group = cfg.OptGroup(
    name=f"{_MANAGEMENT}name",
    title="A management cluster, of several",
    help="One group for each name in [capi_helm] management_clusters, with "
    "that name at its end.",
    dynamic_group_owner="management_clusters",
)


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
        help=f"{label.help} Allowed: {label.rule}.",
    )


label_opts = [
    _option(label)
    for label in features.LABELS
    if label.scope is not labels.Scope.TEMPLATE
]

ALL_OPTS = {
    capi_helm_group: options.OPTIONS,
    labels_group: label_opts,
}

for _group, _opts in ALL_OPTS.items():
    CONF.register_group(_group)
    CONF.register_opts(_opts, group=_group)


NO_FILES = (
    "no configuration file was found, so all options have their defaults: "
    "give --config-file"
)


def files() -> list[str]:
    """Return the configuration files and directories that were read."""
    # oslo.config has these two only after it was called.
    return [
        *(getattr(CONF, "config_file", None) or ()),
        *(getattr(CONF, "config_dir", None) or ()),
    ]


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For the sample configuration file (oslo.config.opts)."""
    return [
        *ALL_OPTS.items(),
        (management_group, options.MANAGEMENT_CLUSTER_OPTIONS),
    ]


def label_defaults() -> dict[str, Any]:
    """Return the operator's default of each label."""
    group = CONF[labels_group.name]
    return {opt.name: getattr(group, opt.dest) for opt in label_opts}


def interface() -> str:
    """Endpoint interface of clusters: public, internal or admin."""
    return str(CONF.capi_helm.app_cred_interface_type).removesuffix("URL")


def helm_processes() -> int:
    """Return the number of helm processes that may run at once.

    Magnum runs as many workers as there are processors, unless told
    otherwise; each is a process that takes requests.
    """
    if configured := CONF.capi_helm.max_helm_processes:
        return int(configured)
    processors = len(os.sched_getaffinity(0))
    workers = CONF.conductor.workers or processors
    return int(max(_FEWEST_HELMS, processors // workers))


def chart_store_is_set() -> bool:
    """Return whether the operator chose the directory of the charts."""
    origin = CONF.get_location("chart_store", capi_helm_group.name)
    return bool(origin.location.is_user_controlled)


def management_clusters() -> tuple[options.ManagementCluster, ...]:
    """Return every management cluster; a single one has no name.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    names = CONF.capi_helm.management_clusters
    if not names:
        option = f"[{capi_helm_group.name}] kubeconfig_file"
        return (options.ManagementCluster("", kubeconfig_path(), option),)
    for name in names:
        if (
            not options.is_management_cluster_name(name)
            or names.count(name) > 1
        ):
            raise errors.NotConfigured(
                f"[capi_helm] management_clusters has {name!r}: give each "
                "management cluster a name of its own, of lower case "
                "letters, digits, - and _"
            )
    return tuple(map(_management_cluster, names))


def _management_cluster(
    name: str,
) -> options.ManagementCluster:
    group = _MANAGEMENT + name
    CONF.register_opts(options.MANAGEMENT_CLUSTER_OPTIONS, group=group)
    option = f"[{group}] kubeconfig_file"
    try:
        settings = CONF[group]
        if not settings.kubeconfig_file:
            raise errors.NotConfigured(
                f"[capi_helm] management_clusters names {name}: set {option} "
                "to its kubeconfig"
            )
        return options.ManagementCluster(
            name=name,
            kubeconfig=os.path.expanduser(settings.kubeconfig_file),
            option=option,
            weight=settings.weight,
            projects=tuple(settings.projects),
            zones=tuple(settings.availability_zones),
            only_labelled=settings.only_labelled,
        )
    except cfg.ConfigFileValueError as error:
        raise errors.NotConfigured(str(error)) from error


def kubeconfig_path() -> str:
    """Return the path of the kubeconfig, in the order that helm uses."""
    configured = CONF.capi_helm.kubeconfig_file
    if configured:
        return os.path.expanduser(str(configured))
    from_environment = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return from_environment or os.path.expanduser("~/.kube/config")
