# SPDX-License-Identifier: Apache-2.0

"""Admission plugins and the defaults of Pod Security."""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import versions

#: kubeadm's only plugin beside Kubernetes' own defaults; without it a node
#: may change any other.
_ALWAYS = "NodeRestriction"

#: Plugins with which the API server does not start, and why.
_UNUSABLE = {
    "DenyEscalatingExec": "Kubernetes has it no more",
    "DenyExecOnPrivileged": "Kubernetes has it no more",
    "EventRateLimit": "it needs a configuration of its own",
    "ImagePolicyWebhook": "it needs a configuration of its own",
    "PersistentVolumeLabel": "Kubernetes has it no more",
    "PodSecurityPolicy": "Kubernetes has it no more; see pod_security_enforce",
    "SecurityContextDeny": "Kubernetes has it no more",
}

#: Namespaces of the chart's addons. Some addons break every level above
#: privileged, and users can't change them.
_ADDON_NAMESPACES = (
    "calico-apiserver",
    "calico-system",
    "cert-manager",
    "csi-ceph-system",
    "gpu-operator",
    "ingress-nginx",
    "intel",
    "kube-amd-gpu",
    "kube-system",
    "monitoring-system",
    "network-operator",
    "node-feature-discovery",
    "node-problem-detector",
    "openstack-system",
    "tigera-operator",
    "traefik",
)

_ARGUMENTS = (
    "controlPlane.kubeadmConfigSpec.clusterConfiguration.apiServer.extraArgs"
)
_PLUGINS_ALLOWED = (
    "a comma separated list of admission plugins such as "
    "AlwaysPullImages,PodNodeSelector"
)
PLUGINS: labels.Label[tuple[str, ...]] = labels.Label(
    name="admission_control_list",
    type=label_types.ADMISSION_PLUGINS,
    default=(),
    allowed=_PLUGINS_ALLOWED,
    help="Admission plugins to switch on beside Kubernetes' own defaults "
    f"and {_ALWAYS}.",
    becomes=(f"{_ARGUMENTS}.enable-admission-plugins",),
)
DISABLED: labels.Label[tuple[str, ...]] = labels.Label(
    name="admission_control_disabled_list",
    type=label_types.ADMISSION_PLUGINS,
    default=(),
    allowed=_PLUGINS_ALLOWED,
    help="Admission plugins to switch off that Kubernetes has on by default.",
    becomes=(f"{_ARGUMENTS}.disable-admission-plugins",),
)

_POD_SECURITY = "apiServer.admissionConfiguration.PodSecurity"
_WITH_CONFIGURATION = (versions.Range(since="0.11.0"),)


def _level(mode: str, help_text: str) -> labels.Label[str]:
    return label_types.choice(
        f"pod_security_{mode}",
        ("privileged", "baseline", "restricted"),
        help=f"Pod Security Standard that {help_text}, for namespaces "
        "without a label of their own. Empty: Kubernetes' default, "
        "privileged.",
        becomes=(_POD_SECURITY,),
        charts=_WITH_CONFIGURATION,
    )


_LEVELS = {
    "enforce": _level("enforce", "pods must keep"),
    "audit": _level("audit", "pods break only with a mark in the audit log"),
    "warn": _level("warn", "pods break only with a warning to the user"),
}
EXEMPT: labels.Label[tuple[str, ...]] = labels.Label(
    name="pod_security_exempt_namespaces",
    type=label_types.NAMESPACES,
    default=(),
    allowed="a comma separated list of namespaces, each of lower case "
    "letters, digits and -",
    help="Namespaces without Pod Security, beside those of the addons; goes "
    "with a pod_security level.",
    becomes=(_POD_SECURITY,),
    charts=_WITH_CONFIGURATION,
)


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse lists with which the API server would not start.

    Also namespaces that are exempt from nothing.

    :raises LabelError: naming the plugin
    """
    settings = cluster.labels
    topic.check_dependents(settings, (EXEMPT,), *_LEVELS.values())
    for plugin in settings[PLUGINS]:
        if plugin in _UNUSABLE:
            raise settings.refused(
                PLUGINS, f"it without {plugin}: {_UNUSABLE[plugin]}"
            )
    enabled = {_ALWAYS, *settings[PLUGINS]}
    for plugin in settings[DISABLED]:
        if plugin in enabled:
            raise settings.refused(
                DISABLED, f"it without {plugin}, which is switched on"
            )


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    disabled = settings[DISABLED]
    # A list in the values replaces kubeadm's own.
    enabled = (_ALWAYS, *settings[PLUGINS]) if settings[PLUGINS] else ()
    return {
        PLUGINS.becomes[0]: ",".join(dict.fromkeys(enabled)),
        DISABLED.becomes[0]: ",".join(disabled),
        _POD_SECURITY: _pod_security(settings),
    }


def _pod_security(settings: labels.Values) -> topic.Values:
    """Return a PodSecurityConfiguration; empty where no level is wanted."""
    levels = {
        mode: settings[label]
        for mode, label in _LEVELS.items()
        if settings[label]
    }
    if not levels:
        return {}
    namespaces = {*_ADDON_NAMESPACES, *settings[EXEMPT]}
    return {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": levels,
        "exemptions": {"namespaces": sorted(namespaces)},
    }


TOPIC = topic.Topic(
    name="Admission",
    labels=(PLUGINS, DISABLED, *_LEVELS.values(), EXEMPT),
    leaves=_leaves,
    check=_check,
)
