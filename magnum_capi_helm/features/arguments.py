# SPDX-License-Identifier: Apache-2.0

"""Arguments of Kubernetes' components, and their TLS cipher suites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import dataclasses
import re
from typing import Any

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

TOPIC = topic.Topic("Component arguments")

#: One argument: its name without dashes, and its value.
Argument = tuple[str, str]

#: No component has a longer name of an argument.
_ARGUMENT = re.compile(r"(?:--)?(?P<name>[a-z][a-z0-9-]{0,79})=(?P<value>\S+)")

#: The allowed characters of a value. Values go through YAML, the templates of
#: cloud-init, an environment file of systemd, envsubst (flatcar) and the
#: ``$(NAME)`` of Kubernetes: none of them reads anything into these.
HARMLESS_FORM = r"[A-Za-z0-9_.,:=/+@%*<\[\]-]"
_HARMLESS = re.compile(f"{HARMLESS_FORM}+")
#: The same in words.
HARMLESS = "letters, digits, full stops and _ , : = / + @ % * < [ ] -"

#: Go's cipher suites for TLS up to 1.2 without known weakness, and the three
#: of TLS 1.3 (crypto/tls, CipherSuites); kube-apiserver and kubelet refuse to
#: start with any other name but those of weak ones.
_CIPHER_SUITES = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    }
)
#: HTTP/2 demands one of them (RFC 9113, 9.2.2): without it Go's server does
#: not start.
_HTTP2 = frozenset(
    {
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    }
)


def harmless(value: str) -> bool:
    """Return whether a value reaches its component unchanged."""
    return _HARMLESS.fullmatch(value) is not None


class ArgumentsType(label_types.TextType):
    """``--name=value`` of a component, separated by spaces, as in Heat.

    The two dashes may be missing. Each name is there once.
    """

    kind = "arguments"
    allowed = "arguments as --name=value, separated by spaces, each once"

    def __call__(
        self, value: str | Iterable[Argument]
    ) -> tuple[Argument, ...]:
        text = value if isinstance(value, str) else self._formatter(value)
        arguments: dict[str, str] = {}
        for word in text.split():
            argument = _ARGUMENT.fullmatch(word)
            if argument is None:
                raise ValueError(f"{word!r} is not --name=value")
            if argument["name"] in arguments:
                raise ValueError(f"{argument['name']} is there twice")
            arguments[argument["name"]] = argument["value"]
        return tuple(arguments.items())

    def _formatter(self, value: Iterable[Argument]) -> str:
        return " ".join(f"--{name}={text}" for name, text in value)


class CipherSuites(label_types.Listed):
    """Cipher suites by Go's names, one that HTTP/2 demands among them."""

    def __init__(self) -> None:
        super().__init__(
            "cipher suites",
            _CIPHER_SUITES.__contains__,
            "a comma separated list of Go's cipher suites without known "
            "weakness, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or "
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 among them",
        )

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        suites = super().__call__(value)
        if suites and not _HTTP2.intersection(suites):
            raise ValueError(f"HTTP/2 needs one of {sorted(_HTTP2)}")
        return suites


_JOIN = f"{paths.REGISTRATION}.kubeletExtraArgs"
_KUBELET = "nodeRegistration.kubeletExtraArgs"

Arguments = labels.Label[tuple[Argument, ...]]


def _options(
    name: str,
    component: str,
    becomes: tuple[str, ...],
    scope: labels.Scope = labels.Scope.CLUSTER,
) -> Arguments:
    return TOPIC.label(
        name,
        ArgumentsType(),
        (),
        help=f"Additional arguments of {component}. The driver refuses "
        "arguments that kubeadm, the chart or another label sets.",
        scope=scope,
        becomes=becomes,
    )


_KUBEADM = "kubeadm sets it"
_CHART = "the chart sets it"

_OF_ALL = {
    r"cloud-(provider|config)": _CHART,
    r".*kubeconfig": _KUBEADM,
    r"(tls-)?(client-ca|cert|private-key|root-ca)-file": _KUBEADM,
    r".*-(file|files|dir|directory)|config": "machines have no such file",
}
_API_SERVER = {
    r"audit-.*": "see audit_log_enabled",
    r"oidc-.*|authentication-config": "see oidc_issuer_url",
    r"enable-admission-plugins": "see admission_control_list",
    r"disable-admission-plugins": "see admission_control_disabled_list",
    r"admission-control-config-file": "see pod_security_enforce",
    r"encryption-provider-.*": "see etcd_encryption_enabled",
    r"tls-cipher-suites": "see api_server_tls_cipher_suites",
    r"tls-min-version": "see api_server_tls_min_version",
    r"authorization-.*|authentication-.*": "see keystone_auth_enabled",
    r"service-cluster-ip-range": "see service_cluster_ip_range",
    r"secure-port": "see the template's apiserver_port",
    r"v": "see api_server_log_level",
    r"anonymous-auth": "kubelet's probes are anonymous",
    r"(advertise|bind)-address": _KUBEADM,
    r"(etcd|service-account|requestheader)-.*": _KUBEADM,
    r"(proxy|kubelet)-client-.*": _KUBEADM,
    r"allow-privileged|enable-bootstrap-token-auth": _KUBEADM,
    **_OF_ALL,
}
_CONTROLLER_MANAGER = {
    r"bind-address": _CHART,
    r"allocate-node-cidrs|cluster-(cidr|name)": _KUBEADM,
    r"cluster-signing-.*-file|requestheader-.*": _KUBEADM,
    r"controllers|leader-elect|secure-port": _KUBEADM,
    r"service-account-private-key-file": _KUBEADM,
    r"service-cluster-ip-range": "see service_cluster_ip_range",
    r"use-service-account-credentials": _KUBEADM,
    **_OF_ALL,
}
_SCHEDULER = {
    r"bind-address": _CHART,
    r"leader-elect|secure-port": _KUBEADM,
    **_OF_ALL,
}
_KUBELET_ARGUMENTS = {
    r"node-labels": "see node_labels",
    r"register-with-taints": "see node_taints",
    r"tls-cipher-suites": "see kubelet_tls_cipher_suites",
    r"tls-min-version": "see kubelet_tls_min_version",
    r"hostname-override|node-ip|provider-id": "each machine has its own",
    r"cluster-(dns|domain)|container-runtime-endpoint": _KUBEADM,
    r"anonymous-auth|authentication-.*|authorization-.*": _KUBEADM,
    r"pod-manifest-path|root-dir|register-node": _KUBEADM,
    **_OF_ALL,
}


_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")
_SWITCHES = {"true": True, "false": False}


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of values of kube-proxy's arguments.

    :param allowed: the allowed values, for the error message
    :param read: the value in the file; KeyError or ValueError: none
    """

    allowed: str
    read: Callable[[str], Any]


def _duration(text: str) -> str:
    if not _DURATION.fullmatch(text):
        raise ValueError(text)
    return text


def _gates(text: str) -> dict[str, bool]:
    pairs = (gate.partition("=") for gate in text.split(","))
    return {name: _SWITCHES[state] for name, _, state in pairs}


def _one_of(*words: str) -> _Kind:
    return _Kind(
        errors.one_of(words), {word: word for word in words}.__getitem__
    )


_NUMBER = _Kind("a whole number", label_types.Integer())
_SWITCH = _Kind("true or false", _SWITCHES.__getitem__)
_TIME = _Kind("a duration such as 90s or 1h30m", _duration)
_TEXT = _Kind("text", str)
_LIST = _Kind("a comma separated list", lambda text: text.split(","))
_GATES = _Kind("a list such as Name=true,Other=false", _gates)

_LOCAL_MODE = _one_of(
    "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"
)
_TCP_TIMEOUT = "conntrack-tcp-timeout"

#: Name of an argument -> path of its field, and the kind of its values.
_FIELDS: dict[str, tuple[str, _Kind]] = {
    "bind-address": ("bindAddress", _TEXT),
    "cluster-cidr": ("clusterCIDR", _TEXT),
    "config-sync-period": ("configSyncPeriod", _TIME),
    "conntrack-max-per-core": ("conntrack.maxPerCore", _NUMBER),
    "conntrack-min": ("conntrack.min", _NUMBER),
    "conntrack-tcp-be-liberal": ("conntrack.tcpBeLiberal", _SWITCH),
    f"{_TCP_TIMEOUT}-close-wait": ("conntrack.tcpCloseWaitTimeout", _TIME),
    f"{_TCP_TIMEOUT}-established": ("conntrack.tcpEstablishedTimeout", _TIME),
    "conntrack-udp-timeout": ("conntrack.udpTimeout", _TIME),
    "conntrack-udp-timeout-stream": ("conntrack.udpStreamTimeout", _TIME),
    "detect-local-mode": ("detectLocalMode", _LOCAL_MODE),
    "feature-gates": ("featureGates", _GATES),
    "healthz-bind-address": ("healthzBindAddress", _TEXT),
    "iptables-localhost-nodeports": ("iptables.localhostNodePorts", _SWITCH),
    "iptables-masquerade-bit": ("iptables.masqueradeBit", _NUMBER),
    "iptables-min-sync-period": ("iptables.minSyncPeriod", _TIME),
    "iptables-sync-period": ("iptables.syncPeriod", _TIME),
    "ipvs-exclude-cidrs": ("ipvs.excludeCIDRs", _LIST),
    "ipvs-min-sync-period": ("ipvs.minSyncPeriod", _TIME),
    "ipvs-scheduler": ("ipvs.scheduler", _TEXT),
    "ipvs-strict-arp": ("ipvs.strictARP", _SWITCH),
    "ipvs-sync-period": ("ipvs.syncPeriod", _TIME),
    "ipvs-tcp-timeout": ("ipvs.tcpTimeout", _TIME),
    "ipvs-tcpfin-timeout": ("ipvs.tcpFinTimeout", _TIME),
    "ipvs-udp-timeout": ("ipvs.udpTimeout", _TIME),
    "metrics-bind-address": ("metricsBindAddress", _TEXT),
    "nodeport-addresses": ("nodePortAddresses", _LIST),
    "oom-score-adj": ("oomScoreAdj", _NUMBER),
    "profiling": ("enableProfiling", _SWITCH),
    "proxy-mode": ("mode", _one_of("iptables", "ipvs", "nftables")),
    "v": ("logging.verbosity", _NUMBER),
}

#: All that have a field.
KUBE_PROXY_ARGUMENTS = tuple(_FIELDS)


def kube_proxy_configuration(
    arguments: Iterable[Argument],
) -> paths.Values:
    """Return the fields of a KubeProxyConfiguration.

    :raises ValueError: its text says which arguments or values are allowed
    """
    leaves: dict[str, Any] = {}
    for name, text in arguments:
        if name not in _FIELDS:
            raise ValueError(
                f"it without {name}; kube-proxy takes "
                f"{', '.join(KUBE_PROXY_ARGUMENTS)}"
            )
        path, kind = _FIELDS[name]
        try:
            leaves[path] = kind.read(text)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{name} as {kind.allowed}") from error
    return topic.nest(leaves)


KUBE_API = _options(
    "kubeapi_options",
    "kube-apiserver",
    (f"{paths.API_SERVER}.extraArgs",),
)
CONTROLLER = _options(
    "kubecontroller_options",
    "kube-controller-manager",
    (
        f"{paths.PLANE_KUBEADM}.clusterConfiguration.controllerManager.extraArgs",
    ),
)
SCHEDULER = _options(
    "kubescheduler_options",
    "kube-scheduler",
    (f"{paths.PLANE_KUBEADM}.clusterConfiguration.scheduler.extraArgs",),
)
KUBELET = _options(
    "kubelet_options",
    "kubelet",
    paths.of_machines(_JOIN),
    labels.Scope.NODEGROUP,
)
KUBE_PROXY = _options(
    "kubeproxy_options",
    "kube-proxy; the label applies when the cluster is created",
    (f"{paths.PLANE_KUBEADM}.kubeProxyConfiguration",),
)


def _tls(
    component: str, text: str, label: Arguments
) -> tuple[labels.Label[tuple[str, ...]], labels.Label[str]]:
    """Declare the cipher suites and the least TLS version of a component.

    :param label: the further arguments of the component
    """
    suites: labels.Label[tuple[str, ...]] = TOPIC.label(
        f"{component}_tls_cipher_suites",
        CipherSuites(),
        (),
        help=f"Cipher suites of {text} for TLS 1.2. Default: as in "
        "Kubernetes.",
        scope=label.scope,
        becomes=tuple(f"{path}.tls-cipher-suites" for path in label.becomes),
    )
    version = TOPIC.choice(
        f"{component}_tls_min_version",
        ("1.2", "1.3"),
        # Without a full stop.
        allowed="one of two versions of TLS",
        details="they are 1.2 and 1.3",
        help=f"Minimum TLS version of {text}. Default: as in Kubernetes, 1.2.",
        scope=label.scope,
        becomes=tuple(f"{path}.tls-min-version" for path in label.becomes),
    )
    return suites, version


#: Arguments of a component -> its cipher suites, and its least TLS version.
_TLS = {
    KUBE_API: _tls("api_server", "the API server", KUBE_API),
    KUBELET: _tls("kubelet", "kubelet", KUBELET),
}

#: Label -> names that users can't give with it.
_OWNED: dict[Arguments, Mapping[str, str]] = {
    KUBE_API: _API_SERVER,
    CONTROLLER: _CONTROLLER_MANAGER,
    SCHEDULER: _SCHEDULER,
    KUBELET: _KUBELET_ARGUMENTS,
    # kube-proxy takes only arguments that are fields of its configuration.
    KUBE_PROXY: {},
}


def _check(cluster: cluster_spec.Cluster) -> None:
    """Refuse arguments that kubeadm, the chart or another label sets.

    :raises LabelError: naming the argument
    """
    for label in (KUBE_API, CONTROLLER, SCHEDULER, KUBE_PROXY):
        _check_arguments(cluster.labels, label)
    _check_tls(cluster.labels, KUBE_API)
    for group in (cluster.control_plane, *cluster.node_groups):
        _check_arguments(group.labels, KUBELET)
        _check_tls(group.labels, KUBELET)
    _check_kube_proxy(cluster)


def _check_kube_proxy(cluster: cluster_spec.Cluster) -> None:
    settings = cluster.labels
    if cluster.cni == "cilium" and settings.given(KUBE_PROXY):
        raise settings.refused(
            KUBE_PROXY, "none: with cilium there is no kube-proxy"
        )
    arguments = settings[KUBE_PROXY]
    try:
        kube_proxy_configuration(arguments)
    except ValueError as error:
        raise settings.refused(KUBE_PROXY, str(error)) from error


def _check_arguments(settings: labels.Values, label: Arguments) -> None:
    arguments = settings[label]
    for name, value in arguments:
        if not harmless(value):
            raise settings.refused(label, f"{name} a value of only {HARMLESS}")
        for form, reason in _OWNED[label].items():
            if re.fullmatch(form, name):
                raise settings.refused(label, f"it without {name}: {reason}")


def _check_tls(settings: labels.Values, label: Arguments) -> None:
    suites, version = _TLS[label]
    if settings[suites] and settings[version] == "1.3":
        raise settings.refused(
            suites,
            f"none with this {version.name}",
            "TLS 1.3 has cipher suites of its own",
        )


def _leaves(cluster: cluster_spec.Cluster) -> topic.Leaves:
    settings = cluster.labels
    proxy = () if cluster.cni == "cilium" else settings[KUBE_PROXY]
    kubelet = _extra_arguments(cluster.control_plane.labels, KUBELET)
    return {
        **{
            label.becomes[0]: _extra_arguments(settings, label)
            for label in (KUBE_API, CONTROLLER, SCHEDULER)
        },
        f"{paths.PLANE_KUBEADM}.initConfiguration.{_KUBELET}": kubelet,
        f"{paths.CONTROL_PLANE}.{_JOIN}": kubelet,
        KUBE_PROXY.becomes[0]: kube_proxy_configuration(proxy),
    }


def _group_leaves(
    _: cluster_spec.Cluster, group: cluster_spec.NodeGroup
) -> topic.Leaves:
    arguments = _extra_arguments(group.labels, KUBELET)
    return {_JOIN: arguments}


def _extra_arguments(
    settings: labels.Values, label: Arguments
) -> dict[str, str]:
    """Return the arguments of a component, with those of its TLS labels."""
    own = settings[label]
    arguments = dict(own)
    if label in _TLS:
        suites, version = _TLS[label]
        if names := settings[suites]:
            arguments["tls-cipher-suites"] = ",".join(names)
        if number := settings[version].replace(".", ""):
            arguments["tls-min-version"] = f"VersionTLS{number}"
    return arguments


TOPIC.leaves = _leaves
TOPIC.group_leaves = _group_leaves
TOPIC.check = _check
