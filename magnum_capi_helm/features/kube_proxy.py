# SPDX-License-Identifier: Apache-2.0

"""kube-proxy's command line as fields of its configuration file.

kubeadm starts kube-proxy with a KubeProxyConfiguration
(``kubeproxy.config.k8s.io/v1alpha1``) and gives it no arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import dataclasses
import re
from typing import Any

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import argument_types
from magnum_capi_helm.model import option_types

_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")
_SWITCHES = {"true": True, "false": False}


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of values.

    :param allowed: what is allowed, for the error message
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
    *first, last = words
    return _Kind(
        f"{', '.join(first)} or {last}",
        {word: word for word in words}.__getitem__,
    )


_NUMBER = _Kind("a whole number", option_types.Integer())
_SWITCH = _Kind("true or false", _SWITCHES.__getitem__)
_TIME = _Kind("a duration such as 90s or 1h30m", _duration)
_TEXT = _Kind("text", str)
_LIST = _Kind("a comma separated list", lambda text: text.split(","))
_GATES = _Kind("a list such as Name=true,Other=false", _gates)

#: Name of an argument -> path of its field, and the kind of its values.
_FIELDS: dict[str, tuple[str, _Kind]] = {
    "bind-address": ("bindAddress", _TEXT),
    "cluster-cidr": ("clusterCIDR", _TEXT),
    "config-sync-period": ("configSyncPeriod", _TIME),
    "conntrack-max-per-core": ("conntrack.maxPerCore", _NUMBER),
    "conntrack-min": ("conntrack.min", _NUMBER),
    "conntrack-tcp-be-liberal": ("conntrack.tcpBeLiberal", _SWITCH),
    "conntrack-tcp-timeout-close-wait": (
        "conntrack.tcpCloseWaitTimeout",
        _TIME,
    ),
    "conntrack-tcp-timeout-established": (
        "conntrack.tcpEstablishedTimeout",
        _TIME,
    ),
    "conntrack-udp-timeout": ("conntrack.udpTimeout", _TIME),
    "conntrack-udp-timeout-stream": ("conntrack.udpStreamTimeout", _TIME),
    "detect-local-mode": (
        "detectLocalMode",
        _one_of(
            "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"
        ),
    ),
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
ARGUMENTS = tuple(_FIELDS)


def configuration(
    arguments: Iterable[argument_types.Argument],
) -> topic.Values:
    """The fields of a KubeProxyConfiguration.

    :raises ValueError: its text is what is allowed
    """
    fields: topic.Values = {}
    for name, text in arguments:
        if name not in _FIELDS:
            raise ValueError(
                f"it without {name}; kube-proxy takes {', '.join(ARGUMENTS)}"
            )
        path, kind = _FIELDS[name]
        *parents, leaf = path.split(".")
        place = fields
        for parent in parents:
            place = place.setdefault(parent, {})
        try:
            place[leaf] = kind.read(text)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{name} as {kind.allowed}") from error
    return fields
