# SPDX-License-Identifier: Apache-2.0

"""Arguments of Kubernetes' components, and their TLS cipher suites."""

from __future__ import annotations

from collections.abc import Mapping

from oslo_config import types

from magnum_capi_helm.features import kube_proxy
from magnum_capi_helm.features import owned_arguments
from magnum_capi_helm.features import topic
from magnum_capi_helm.model import argument_types
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

_SPEC = "controlPlane.kubeadmConfigSpec"
_KUBELET = "joinConfiguration.nodeRegistration.kubeletExtraArgs"

Arguments = labels.Label[tuple[argument_types.Argument, ...]]


def _options(
    name: str,
    component: str,
    becomes: tuple[str, ...],
    scope: labels.Scope = labels.Scope.CLUSTER,
) -> Arguments:
    return labels.Label(
        name=name,
        type=argument_types.Arguments(),
        default=(),
        allowed="arguments as --name=value, separated by spaces, each once",
        help=f"Further arguments of {component}. Those that kubeadm, the "
        "chart or another label sets are refused.",
        scope=scope,
        becomes=becomes,
    )


KUBE_API = _options(
    "kubeapi_options",
    "kube-apiserver",
    (f"{_SPEC}.clusterConfiguration.apiServer.extraArgs",),
)
CONTROLLER = _options(
    "kubecontroller_options",
    "kube-controller-manager",
    (f"{_SPEC}.clusterConfiguration.controllerManager.extraArgs",),
)
SCHEDULER = _options(
    "kubescheduler_options",
    "kube-scheduler",
    (f"{_SPEC}.clusterConfiguration.scheduler.extraArgs",),
)
KUBELET = _options(
    "kubelet_options",
    "kubelet",
    (f"{_SPEC}.{_KUBELET}", f"nodeGroups[].kubeadmConfigSpec.{_KUBELET}"),
    labels.Scope.NODEGROUP,
)
KUBE_PROXY = _options(
    "kubeproxy_options",
    "kube-proxy, read when the cluster is created",
    (f"{_SPEC}.kubeProxyConfiguration",),
)


def _cipher_suites(
    name: str, help_text: str, label: Arguments
) -> labels.Label[tuple[str, ...]]:
    return labels.Label(
        name=name,
        type=argument_types.CipherSuites(),
        default=(),
        allowed="a comma separated list of Go's cipher suites without known "
        "weakness, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or "
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 among them",
        help=f"Cipher suites of {help_text} for TLS 1.2. Empty: Kubernetes' "
        "own.",
        scope=label.scope,
        becomes=tuple(f"{path}.tls-cipher-suites" for path in label.becomes),
    )


def _tls_version(
    name: str, help_text: str, label: Arguments
) -> labels.Label[str]:
    return labels.Label(
        name=name,
        type=types.String(choices=["", "1.2", "1.3"]),
        default="",
        allowed="one of two versions of TLS",
        details="they are 1.2 and 1.3",
        help=f"Least version of TLS that {help_text} speaks. Empty: "
        "Kubernetes' own, 1.2.",
        scope=label.scope,
        becomes=tuple(f"{path}.tls-min-version" for path in label.becomes),
    )


API_CIPHERS = _cipher_suites(
    "api_server_tls_cipher_suites", "the API server", KUBE_API
)
API_TLS = _tls_version(
    "api_server_tls_min_version", "the API server", KUBE_API
)
KUBELET_CIPHERS = _cipher_suites(
    "kubelet_tls_cipher_suites", "kubelet", KUBELET
)
KUBELET_TLS = _tls_version("kubelet_tls_min_version", "kubelet", KUBELET)

#: Label -> names that users can't give with it.
_OWNED: dict[Arguments, Mapping[str, str]] = {
    KUBE_API: owned_arguments.API_SERVER,
    CONTROLLER: owned_arguments.CONTROLLER_MANAGER,
    SCHEDULER: owned_arguments.SCHEDULER,
    KUBELET: owned_arguments.KUBELET,
    # Only what is a field of a file that kubeadm writes is taken at all.
    KUBE_PROXY: {},
}


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse what belongs to somebody else, or would do harm.

    :raises LabelError: naming the argument
    """
    found = cluster.labels
    for label in (KUBE_API, CONTROLLER, SCHEDULER, KUBE_PROXY):
        _check_arguments(found, label)
    _check_tls(found, API_CIPHERS, API_TLS)
    for group in (cluster.control_plane, *cluster.node_groups):
        _check_arguments(group.labels, KUBELET)
        _check_tls(group.labels, KUBELET_CIPHERS, KUBELET_TLS)
    _check_kube_proxy(cluster)


def _check_kube_proxy(cluster: cluster_spec.Cluster) -> None:
    found = cluster.labels
    if cluster.cni == "cilium" and found.given(KUBE_PROXY):
        raise found.refused(
            KUBE_PROXY, "none: with cilium there is no kube-proxy"
        )
    arguments = found[KUBE_PROXY]
    try:
        kube_proxy.configuration(arguments)
    except ValueError as error:
        raise found.refused(KUBE_PROXY, str(error)) from error


def _check_arguments(found: labels.Values, label: Arguments) -> None:
    arguments = found[label]
    for name, value in arguments:
        if not argument_types.harmless(value):
            raise found.refused(
                label, f"{name} a value of only {argument_types.HARMLESS}"
            )
        if reason := owned_arguments.reason(_OWNED[label], name):
            raise found.refused(label, f"it without {name}: {reason}")


def _check_tls(
    found: labels.Values,
    suites: labels.Label[tuple[str, ...]],
    version: labels.Label[str],
) -> None:
    if found[suites] and found[version] == "1.3":
        raise found.refused(
            suites,
            f"none with this {version.name}",
            "TLS 1.3 has cipher suites of its own",
        )


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    found = cluster.labels
    components = {
        "apiServer": {
            **_given(found, KUBE_API),
            **_tls(found, API_CIPHERS, API_TLS),
        },
        "controllerManager": _given(found, CONTROLLER),
        "scheduler": _given(found, SCHEDULER),
    }
    configuration = {
        component: {"extraArgs": given}
        for component, given in components.items()
        if given
    }
    kubeadm: topic.Values = {}
    if configuration:
        kubeadm["clusterConfiguration"] = configuration
    for phase in ("initConfiguration", "joinConfiguration"):
        # Never one dictionary in two places: other topics add to each.
        if registration := _registration(cluster.control_plane):
            kubeadm[phase] = registration
    arguments = found[KUBE_PROXY]
    if arguments and cluster.cni != "cilium":
        proxy = kube_proxy.configuration(arguments)
        kubeadm["kubeProxyConfiguration"] = proxy
    return {"controlPlane": {"kubeadmConfigSpec": kubeadm}} if kubeadm else {}


def _group(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Values:
    registration = _registration(group)
    if not registration:
        return {}
    return {"kubeadmConfigSpec": {"joinConfiguration": registration}}


def _registration(group: cluster_spec.NodeGroup) -> topic.Values:
    """What kubeadm makes kubelet's command line of."""
    arguments = {
        **_given(group.labels, KUBELET),
        **_tls(group.labels, KUBELET_CIPHERS, KUBELET_TLS),
    }
    if not arguments:
        return {}
    return {"nodeRegistration": {"kubeletExtraArgs": arguments}}


def _given(found: labels.Values, label: Arguments) -> dict[str, str]:
    arguments = found[label]
    return dict(arguments)


def _tls(
    found: labels.Values,
    suites: labels.Label[tuple[str, ...]],
    version: labels.Label[str],
) -> dict[str, str]:
    arguments = {}
    if names := found[suites]:
        arguments["tls-cipher-suites"] = ",".join(names)
    if number := found[version].replace(".", ""):
        arguments["tls-min-version"] = f"VersionTLS{number}"
    return arguments


TOPIC = topic.Topic(
    name="Component arguments",
    labels=(
        KUBE_API,
        CONTROLLER,
        SCHEDULER,
        KUBELET,
        KUBE_PROXY,
        API_CIPHERS,
        API_TLS,
        KUBELET_CIPHERS,
        KUBELET_TLS,
    ),
    cluster=_values,
    group=_group,
    check=_check,
)
