# SPDX-License-Identifier: Apache-2.0

"""Arguments of Kubernetes' components, and their TLS cipher suites."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import re
from typing import Any

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
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

_TABLES = encoding.package_data("features/arguments.yaml")
_CIPHER_SUITES = frozenset(_TABLES["cipher_suites"])
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
    return TOPIC.listed(
        name,
        ArgumentsType(),
        help=f"Additional arguments of {component}. The driver refuses "
        "arguments that kubeadm, the chart or another label sets.",
        scope=scope,
        becomes=becomes,
    )


_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")
_SWITCHES = {"true": True, "false": False}


def _duration(text: str) -> str:
    if not _DURATION.fullmatch(text):
        raise ValueError(text)
    return text


def _gates(text: str) -> dict[str, bool]:
    pairs = (gate.partition("=") for gate in text.split(","))
    return {name: _SWITCHES[state] for name, _, state in pairs}


def _one_of(*words: str) -> tuple[str, Callable[[str], Any]]:
    return errors.one_of(words), {word: word for word in words}.__getitem__


#: Kind of a value -> the allowed values, for the error message, and a function
#: that returns the value in the file; KeyError or ValueError: there is none.
_KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "number": ("a whole number", label_types.Integer()),
    "switch": ("true or false", _SWITCHES.__getitem__),
    "duration": ("a duration such as 90s or 1h30m", _duration),
    "text": ("text", str),
    "list": ("a comma separated list", lambda text: text.split(",")),
    "gates": ("a list such as Name=true,Other=false", _gates),
    "local mode": _one_of(
        "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"
    ),
    "proxy mode": _one_of("iptables", "ipvs", "nftables"),
}
#: Name of an argument -> path of its field, and the kind of its values.
_FIELDS: dict[str, tuple[str, str]] = {
    name: (path, kind)
    for kind, fields in _TABLES["kube_proxy"].items()
    for name, path in fields.items()
}

#: All that have a field.
KUBE_PROXY_ARGUMENTS = tuple(sorted(_FIELDS))


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
        allowed, read = _KINDS[kind]
        try:
            leaves[path] = read(text)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{name} as {allowed}") from error
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
    suites: labels.Label[tuple[str, ...]] = TOPIC.listed(
        f"{component}_tls_cipher_suites",
        CipherSuites(),
        help=f"Cipher suites of {text} for TLS 1.2. Default: as in "
        "Kubernetes.",
        scope=label.scope,
        becomes=tuple(f"{path}.tls-cipher-suites" for path in label.becomes),
    )
    version = TOPIC.choice(
        f"{component}_tls_min_version",
        ("1.2", "1.3"),
        # Not "1.2 or 1.3": a full stop follows it in the message.
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

#: Name of a label -> names of arguments that users can't give with it.
_OWNED: dict[str, dict[str, str]] = {
    label: {**own, **_TABLES["owned_of_all"]}
    for label, own in _TABLES["owned"].items()
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
    for name, value in settings[label]:
        if not harmless(value):
            raise settings.refused(label, f"{name} a value of only {HARMLESS}")
        for form, reason in _OWNED.get(label.name, {}).items():
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
