# SPDX-License-Identifier: Apache-2.0

"""Convert a chart's objects from v1beta1 to v1beta2.

Released charts render v1beta1 of Cluster API and of its provider for
OpenStack (CAPO). Cluster API 1.16 does not serve it; CAPO 0.15 still does.
The tables have all fields that v1beta1 has in a ``spec``, without
``topology`` and ``flavorID``, which no chart renders. The result is the object
that Cluster API stores when it gets the v1beta1 one: if a field differed,
Cluster API would replace machines. Hence a value that v1beta1 takes for absent
is left out.

Source: ``ConvertTo`` of Cluster API 1.13 in ``api/core/v1beta1``,
``api/bootstrap/kubeadm/v1beta1`` and ``api/controlplane/kubeadm/v1beta1``;
the fields of 1.14. CAPO: ``api/v1beta1/conversion.go`` and the types of
``api/v1beta2`` before the release of 0.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import re
from typing import Any, NamedTuple, TypeAlias

from magnum_capi_helm.model import api_versions
from magnum_capi_helm.model import errors

#: The version that charts render, and the one that it is converted to.
OLD = "v1beta1"
NEW = "v1beta2"

Object: TypeAlias = Mapping[str, Any]


class Field(NamedTuple):
    """The place of a v1beta1 field in v1beta2.

    :ivar to: dotted paths; empty: v1beta2 does not have it
    :ivar how: a key of :data:`CONVERSIONS`
    :ivar rows: the fields of the object, or of each item of the list
    """

    to: tuple[str, ...]
    how: str
    rows: dict[str, Field] | None = None


#: Dotted path in v1beta1 -> field.
Rows: TypeAlias = dict[str, Field]


def _table(text: str) -> Rows:
    """Return the rows of a text.

    A line has paths, new paths if they differ, and a conversion:
    ``old old``, ``old -> new: seconds``, ``old -> new new``.
    """
    rows = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        paths, _, how = line.partition(": ")
        old, _, new = paths.partition(" -> ")
        for each in old.split():
            to = () if how == "dropped" else tuple(new.split()) or (each,)
            rows[each] = Field(to, how or "filled")
    return rows


def _under(path: str, rows: Rows) -> Rows:
    """Return rows with a path before both paths of each."""
    return {
        f"{path}.{old}": field._replace(
            to=tuple(f"{path}.{new}" for new in field.to)
        )
        for old, field in rows.items()
    }


def _inner(path: str, rows: Rows, to: str = "", how: str = "filled") -> Rows:
    """Return the row of a list of objects, or of one object."""
    return {path: Field((to or path,), how, rows)}


_METADATA = _table("metadata.labels metadata.annotations")
_GATES = _table("conditionType polarity")
_MACHINE_TAINTS = _table("key value effect propagation")
_TIMEOUTS = """
    nodeDrainTimeout -> deletion.nodeDrainTimeoutSeconds: seconds
    nodeDeletionTimeout -> deletion.nodeDeletionTimeoutSeconds: seconds
    nodeVolumeDetachTimeout -> deletion.nodeVolumeDetachTimeoutSeconds: seconds
"""

_CLUSTER = _table("""
    paused clusterNetwork.serviceDomain clusterNetwork.apiServerPort
    clusterNetwork.pods.cidrBlocks clusterNetwork.services.cidrBlocks
    controlPlaneEndpoint.host controlPlaneEndpoint.port
    controlPlaneRef infrastructureRef: reference
""") | _inner("availabilityGates", _GATES)

_MACHINE = {
    **_table(f"""
        clusterName version providerID failureDomain
        bootstrap.configRef infrastructureRef: reference
        bootstrap.dataSecretName: kept
        {_TIMEOUTS}
    """),
    **_inner("readinessGates", _GATES),
    **_inner("taints", _MACHINE_TAINTS),
}
_ROLLING = "strategy.rollingUpdate"
_MACHINE_DEPLOYMENT = {
    **_table(f"""
        clusterName selector paused
        replicas: kept
        minReadySeconds -> template.spec.minReadySeconds: kept
        rolloutAfter -> rollout.after
        strategy.type -> rollout.strategy.type
        {_ROLLING}.maxSurge -> rollout.{_ROLLING}.maxSurge: kept
        {_ROLLING}.maxUnavailable -> rollout.{_ROLLING}.maxUnavailable: kept
        {_ROLLING}.deletePolicy -> deletion.order
        strategy.remediation.maxInFlight -> remediation.maxInFlight: kept
        machineNamingStrategy.template -> machineNaming.template
        progressDeadlineSeconds revisionHistoryLimit: dropped
    """),
    **_under("template", _METADATA),
    **_under("template.spec", _MACHINE),
}

_UNHEALTHY = _table("""
    type status
    timeout -> timeoutSeconds: seconds
""")
_TRIGGER = "remediation.triggerIf"
_HEALTH_CHECK = {
    **_table(f"""
        clusterName selector
        nodeStartupTimeout -> checks.nodeStartupTimeoutSeconds: seconds
        maxUnhealthy -> {_TRIGGER}.unhealthyLessThanOrEqualTo: kept
        unhealthyRange -> {_TRIGGER}.unhealthyInRange
        remediationTemplate -> remediation.templateRef: versioned reference
    """),
    **_inner(
        "unhealthyConditions", _UNHEALTHY, "checks.unhealthyNodeConditions"
    ),
    **_inner(
        "unhealthyMachineConditions",
        _UNHEALTHY,
        "checks.unhealthyMachineConditions",
    ),
}

_COMPONENT = _table("""
    extraArgs: arguments
    extraEnvs: kept
""") | _inner(
    "extraVolumes", _table("name hostPath mountPath readOnly pathType")
)
_HEALTH = "timeouts.controlPlaneComponentHealthCheckSeconds"
_CLUSTER_CONFIGURATION = {
    **_table("""
        controlPlaneEndpoint certificatesDir imageRepository featureGates
        dns.imageRepository dns.imageTag encryptionAlgorithm
        certificateValidityPeriodDays caCertificateValidityPeriodDays
        apiServer.certSANs
        etcd.local.imageRepository etcd.local.imageTag etcd.local.dataDir
        etcd.local.serverCertSANs etcd.local.peerCertSANs
        etcd.local.extraArgs: arguments
        etcd.local.extraEnvs: kept
        etcd.external.endpoints etcd.external.caFile
        etcd.external.certFile etcd.external.keyFile
        kind apiVersion clusterName kubernetesVersion: dropped
        networking.serviceSubnet networking.podSubnet: dropped
        networking.dnsDomain: dropped
    """),
    **_under("apiServer", _COMPONENT),
    **_under("controllerManager", _COMPONENT),
    **_under("scheduler", _COMPONENT),
}
_ENDPOINT = _table("""
    localAPIEndpoint.advertiseAddress localAPIEndpoint.bindPort
""")
# An empty list of taints is not the same as none, which means the default.
_NODE = _table("""
    nodeRegistration.name nodeRegistration.criSocket
    nodeRegistration.ignorePreflightErrors nodeRegistration.imagePullPolicy
    nodeRegistration.taints nodeRegistration.imagePullSerial: kept
    nodeRegistration.kubeletExtraArgs: arguments
    skipPhases patches.directory
    kind apiVersion: dropped
""")
_TOKENS = _table("""
    token description expires usages groups
    ttl -> ttlSeconds: seconds
""")
_INIT = {**_NODE, **_ENDPOINT, **_inner("bootstrapTokens", _TOKENS)}
_KUBECONFIG = _table("""
    cluster.server cluster.tlsServerName cluster.insecureSkipTLSVerify
    cluster.proxyURL cluster.certificateAuthorityData
    user.authProvider.name user.authProvider.config
    user.exec.command user.exec.args user.exec.apiVersion
    user.exec.provideClusterInfo
""") | _inner("user.exec.env", _table("name value"))
_JOIN = {
    **_NODE,
    **_table("""
        caCertPath discovery.tlsBootstrapToken discovery.file.kubeConfigPath
        discovery.bootstrapToken.token discovery.bootstrapToken.caCertHashes
        discovery.bootstrapToken.apiServerEndpoint
        discovery.bootstrapToken.unsafeSkipCAVerification
        discovery.timeout -> timeouts.tlsBootstrapSeconds: seconds
    """),
    **_under("discovery.file.kubeConfig", _KUBECONFIG),
    # An empty one makes the machine one of the control plane.
    **_inner("controlPlane", _ENDPOINT, how="kept"),
}
_USERS = _table("""
    name gecos groups homeDir shell passwd primaryGroup sudo sshAuthorizedKeys
    passwdFrom.secret.name passwdFrom.secret.key
    inactive lockPassword: kept
""")
_PARTITIONS = _table("""
    device tableType
    layout overwrite: kept
""") | _inner("diskLayout", _table("percentage partitionType"))
_FILES = _table("""
    path owner permissions encoding append content contentFormat
    contentFrom.secret.name contentFrom.secret.key
""")
_FILESYSTEMS = _table("""
    device filesystem label partition replaceFS extraOpts
    overwrite: kept
""")
_TIMEOUT = "clusterConfiguration.apiServer.timeoutForControlPlane"
_KUBEADM = {
    **_table(f"""
        mounts bootCommands preKubeadmCommands postKubeadmCommands format
        ntp.servers
        ntp.enabled verbosity: kept
        ignition.containerLinuxConfig.additionalConfig
        ignition.containerLinuxConfig.strict
        {_TIMEOUT} \
            -> initConfiguration.{_HEALTH} joinConfiguration.{_HEALTH}: seconds
        useExperimentalRetryJoin: dropped
    """),
    **_under("clusterConfiguration", _CLUSTER_CONFIGURATION),
    **_under("initConfiguration", _INIT),
    **_under("joinConfiguration", _JOIN),
    **_inner("files", _FILES),
    **_inner("users", _USERS),
    **_inner("diskSetup.partitions", _PARTITIONS),
    **_inner("diskSetup.filesystems", _FILESYSTEMS),
}

# Its machines have the fields of a Machine, one level deeper than in v1beta1.
_MACHINE_TEMPLATE = {
    old: field._replace(to=tuple(f"spec.{new}" for new in field.to))
    for old, field in {
        **_table(f"""
            infrastructureRef: reference
            {_TIMEOUTS}
        """),
        **_inner("readinessGates", _GATES),
        **_inner("taints", _MACHINE_TAINTS),
    }.items()
}
_CONTROL_PLANE = {
    **_table("""
        version
        replicas: kept
        rolloutAfter -> rollout.after
        rolloutBefore.certificatesExpiryDays \
            -> rollout.before.certificatesExpiryDays
        rolloutStrategy.type -> rollout.strategy.type
        rolloutStrategy.rollingUpdate.maxSurge \
            -> rollout.strategy.rollingUpdate.maxSurge: kept
        remediationStrategy.maxRetry -> remediation.maxRetry: kept
        remediationStrategy.minHealthyPeriod \
            -> remediation.minHealthyPeriodSeconds: seconds
        remediationStrategy.retryPeriod \
            -> remediation.retryPeriodSeconds: positive seconds
        machineNamingStrategy.template -> machineNaming.template
    """),
    **_under("machineTemplate", {**_METADATA, **_MACHINE_TEMPLATE}),
    **_under("kubeadmConfigSpec", _KUBEADM),
}

# An empty map of security groups means that CAPO makes them.
_PORTS = _table("""
    network description nameSuffix fixedIPs securityGroups tags trunk: lists
    adminStateUp macAddress allowedAddressPairs hostID vnicType profile: lists
    propagateUplinkStatus valueSpecs: lists
    disablePortSecurity -> enablePortSecurity: inverted
""")
_SERVER = {
    **_table("""
        providerID image sshKeyName securityGroups trunk tags: lists
        serverMetadata configDrive rootVolume additionalBlockDevices: lists
        serverGroup identityRef floatingIPPoolRef: lists
        schedulerHintAdditionalProperties: lists
        flavor -> flavor.filter.name
    """),
    **_inner("ports", _PORTS),
}
# The last one is a mistake of chart 0.26.0, which the API server dropped.
# patches.yaml corrects it before this; older records of helm still have it.
_SECURITY_GROUPS = _table("""
    allNodesSecurityGroupRules -> clusterNodesSecurityGroupRules: lists
    controlPlaneNodesSecurityGroupRules workerNodesSecurityGroupRules: lists
    allowAllInClusterTraffic: kept
    workerNodeSecurityGroupRules: dropped
""")
_OPENSTACK_CLUSTER = {
    **_table("""
        managedSubnets subnets router network externalNetwork tags: lists
        controlPlaneEndpoint identityRef: kept
        controlPlaneAvailabilityZones: lists
        controlPlaneOmitAvailabilityZone: kept
        networkMTU -> managedNetwork.mtu: kept
        disablePortSecurity -> managedNetwork.enablePortSecurity: inverted
        externalRouterIPs -> managedRouter.externalIPs: lists
        disableExternalNetwork -> enableExternalNetwork: inverted
        apiServerLoadBalancer -> apiServer.managedLoadBalancer: lists
        disableAPIServerFloatingIP -> apiServer.enableFloatingIP: inverted
        apiServerFloatingIP -> apiServer.floatingIP: kept
        apiServerFixedIP -> apiServer.fixedIP: kept
        apiServerPort -> apiServer.port: kept
        bastion.enabled bastion.availabilityZone bastion.floatingIP: kept
    """),
    **_inner("managedSecurityGroups", _SECURITY_GROUPS, how="kept"),
    **_under("bastion.spec", _SERVER),
}

_CAPI = "cluster.x-k8s.io"
_CAPO = f"infrastructure.{_CAPI}"
#: Group and kind -> the fields of its ``spec``.
TABLES: Mapping[tuple[str, str], Rows] = {
    (_CAPI, "Cluster"): _CLUSTER,
    (_CAPI, "MachineDeployment"): _MACHINE_DEPLOYMENT,
    (_CAPI, "MachineHealthCheck"): _HEALTH_CHECK,
    (f"controlplane.{_CAPI}", "KubeadmControlPlane"): _CONTROL_PLANE,
    (f"bootstrap.{_CAPI}", "KubeadmConfigTemplate"): {
        **_under("template", _METADATA),
        **_under("template.spec", _KUBEADM),
    },
    (_CAPO, "OpenStackCluster"): _OPENSTACK_CLUSTER,
    (_CAPO, "OpenStackMachineTemplate"): _under("template.spec", _SERVER),
}


# Conversions of a value; None: the field is left out.


class _UnfitError(Exception):
    """A value is not allowed; the text says which ones are."""


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)")
_UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_UNITS |= {"ns": 1e-9}
_LONGEST = 2**31 - 1


def _seconds(value: Any) -> int:
    parts = _DURATION.findall(value) if isinstance(value, str) else []
    if value == "0":
        return 0
    if not parts or "".join(map("".join, parts)) != value:
        raise _UnfitError(
            f"a duration such as 5m0s, not {errors.shown(value)}"
        )
    # Rounded, because 4.1 * 3600 is a little less than 14760.
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return min(int(round(total, 9)), _LONGEST)


def _arguments(value: Any) -> list[dict[str, str]] | None:
    if not isinstance(value, Mapping) or not all(
        isinstance(each, str) for each in value.values()
    ):
        raise _UnfitError("a map of strings")
    # Go compares the bytes of UTF-8, which have the order of code points.
    return [{"name": each, "value": value[each]} for each in sorted(value)]


def _without_empty_lists(value: Any) -> Any:
    """Return a value as Go writes it, which leaves empty lists out."""
    if isinstance(value, list):
        return [_without_empty_lists(each) for each in value] or None
    if not isinstance(value, Mapping):
        return value
    fields = {key: _without_empty_lists(e) for key, e in value.items()}
    return {key: each for key, each in fields.items() if each is not None}


def _inverted(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _UnfitError(f"true or false, not {errors.shown(value)}")
    return not value


def _reference(value: Any) -> dict[str, Any]:
    reference = _versioned_reference(value)
    group, _, _ = reference.pop("apiVersion", "").rpartition("/")
    return {**reference, **({"apiGroup": group} if group else {})}


def _versioned_reference(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _UnfitError("a reference to an object")
    names = ("apiVersion", "kind", "name")
    return {each: value[each] for each in names if value.get(each)}


#: Name of a conversion -> function and, for the documentation, its effect.
CONVERSIONS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "filled": (lambda value: value or None, "left out if empty, 0 or false"),
    "kept": (lambda value: value, "unchanged"),
    "inverted": (_inverted, "true for false, false for true"),
    "lists": (_without_empty_lists, "unchanged, without empty lists"),
    "dropped": (lambda _: None, "not in v1beta2"),
    "seconds": (_seconds, "duration to seconds"),
    "positive seconds": (
        lambda value: _seconds(value) or None,
        "duration to seconds, left out if 0",
    ),
    "arguments": (
        lambda value: _arguments(value) or None,
        "map to a list of name and value, sorted by name",
    ),
    "reference": (
        lambda value: _reference(value) or None,
        "apiGroup for apiVersion, no namespace",
    ),
    "versioned reference": (
        lambda value: _versioned_reference(value) or None,
        "no namespace",
    ),
}


def converts(api: api_versions.Api, version: str) -> bool:
    """Return whether objects of an API can be converted to a version."""
    has_table = (api.group, api.kind) in TABLES
    return has_table and (api.version, version) == (OLD, NEW)


def convert(obj: Object) -> dict[str, Any]:
    """Return an object of v1beta1 in v1beta2, with the same metadata.

    :param obj: rendered by a chart; :func:`converts` says whether it fits
    :raises Unconvertible: a field of it can't be kept
    """
    api = api_versions.api(str(obj["apiVersion"]), str(obj["kind"]))
    rows = TABLES[api.group, api.kind]
    new = api._replace(version=NEW)
    try:
        spec = _converted(obj.get("spec") or {}, rows, "spec")
    except errors.Unconvertible as error:
        name = (obj.get("metadata") or {}).get("name")
        raise errors.Unconvertible(
            f"{api.kind} {name} can't be written as {new.name}: {error}"
        ) from None
    return {**obj, "apiVersion": new.name, "spec": spec}


def _converted(fields: Object, rows: Rows, path: str) -> dict[str, Any]:
    """Return the fields of v1beta2 of an object."""
    result: dict[str, Any] = {}
    for old, value in _leaves(fields, rows, path):
        field = rows[old]
        new = _value(value, field, f"{path}.{old}")
        if new is not None:
            for each in field.to:
                _put(result, each.split("."), new)
    return result


def _leaves(
    fields: Object, rows: Rows, path: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield the row and the value of each field of an object.

    :raises Unconvertible: there is no row for a field
    """
    for key, value in fields.items():
        name = f"{prefix}{key}"
        if value is None:
            continue
        if name in rows:
            yield name, value
        elif not any(each.startswith(f"{name}.") for each in rows):
            raise errors.Unconvertible(
                f"{path}.{name} is no field that the driver knows of {OLD}: "
                "remove it from the values"
            )
        elif isinstance(value, Mapping):
            yield from _leaves(value, rows, path, f"{name}.")
        else:
            raise _unfit(f"{path}.{name}", "a map", value)


def _value(value: Any, field: Field, path: str) -> Any:
    """Return the value of v1beta2, or None if it has none."""
    function, _ = CONVERSIONS[field.how]
    if field.rows is None:
        try:
            return function(value)
        except _UnfitError as error:
            raise errors.Unconvertible(f"{path} has to be {error}") from None
    if isinstance(value, Mapping):
        return function(_converted(value, field.rows, path))
    if not isinstance(value, list):
        raise _unfit(path, "a list", value)
    items = []
    for number, each in enumerate(value):
        where = f"{path}[{number}]"
        if not isinstance(each, Mapping):
            raise _unfit(where, "a map", each)
        items.append(_converted(each, field.rows, where))
    return function(items)


def _unfit(path: str, allowed: str, value: object) -> errors.Unconvertible:
    """Return the error for a value of a wrong type; it may be a secret."""
    return errors.Unconvertible(
        f"{path} has to be {allowed}, not a {type(value).__name__}"
    )


def _put(target: dict[str, Any], path: Sequence[str], value: Any) -> None:
    *parents, last = path
    for each in parents:
        target = target.setdefault(each, {})
    target[last] = value
