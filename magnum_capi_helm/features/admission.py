# SPDX-License-Identifier: Apache-2.0

"""Admission plugins and the defaults of Pod Security."""

from __future__ import annotations

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

TOPIC = topic.Topic("Admission")

#: kubeadm's only plugin beside Kubernetes' own defaults; without it a node
#: may change any other.
_ALWAYS = "NodeRestriction"

_TABLES = encoding.package_data("features/admission.yaml")

_ARGUMENTS = f"{paths.API_SERVER}.extraArgs"
PLUGINS: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "admission_control_list",
    label_types.ADMISSION_PLUGINS,
    help="Admission plugins to enable in addition to Kubernetes' defaults "
    f"and {_ALWAYS}.",
    becomes=(f"{_ARGUMENTS}.enable-admission-plugins",),
)
DISABLED: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "admission_control_disabled_list",
    label_types.ADMISSION_PLUGINS,
    help="Admission plugins to disable that Kubernetes enables by default.",
    becomes=(f"{_ARGUMENTS}.disable-admission-plugins",),
)

_POD_SECURITY = "apiServer.admissionConfiguration.PodSecurity"
_WITH_CONFIGURATION = (versions.Range(since="0.11.0"),)


def _level(mode: str, help_text: str) -> labels.Label[str]:
    return TOPIC.choice(
        f"pod_security_{mode}",
        ("privileged", "baseline", "restricted"),
        help=f"Pod Security Standard: {help_text} It applies to namespaces "
        "without such a label of their own. Default: privileged, as "
        "in Kubernetes.",
        becomes=(_POD_SECURITY,),
        charts=_WITH_CONFIGURATION,
    )


_LEVELS = {
    "enforce": _level("enforce", "Kubernetes rejects pods that violate it."),
    "audit": _level("audit", "The audit log marks pods that violate it."),
    "warn": _level("warn", "kubectl warns about pods that violate it."),
}
EXEMPT: labels.Label[tuple[str, ...]] = TOPIC.listed(
    "pod_security_exempt_namespaces",
    label_types.NAMESPACES,
    help="Namespaces without Pod Security, in addition to those of the "
    "addons. The label needs one of the other pod_security labels.",
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
        if why := _TABLES["unusable"].get(plugin):
            raise settings.refused(PLUGINS, f"it without {plugin}: {why}")
    enabled = {_ALWAYS, *settings[PLUGINS]}
    for plugin in settings[DISABLED]:
        if plugin in enabled:
            raise settings.refused(
                DISABLED, f"it without {plugin}, which is enabled"
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


def _pod_security(settings: labels.Values) -> paths.Values:
    """Return a PodSecurityConfiguration; empty where no level is wanted."""
    levels = {
        mode: settings[label]
        for mode, label in _LEVELS.items()
        if settings[label]
    }
    if not levels:
        return {}
    namespaces = {*_TABLES["addon_namespaces"], *settings[EXEMPT]}
    return {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": levels,
        "exemptions": {"namespaces": sorted(namespaces)},
    }


TOPIC.leaves = _leaves
TOPIC.check = _check
