# SPDX-License-Identifier: Apache-2.0

"""Checks of a management cluster.

Each check returns the text of its line, or raises an error that says what to
do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import datetime
import time

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base
from magnum_capi_helm.cli import check_host
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig as kubeconfigs
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.lifecycle import delete
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import versions
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

#: Seconds by which two clocks may differ. A certificate is not valid before
#: the time at which it was signed, by the clock of its signer.
CLOCKS = 60.0
#: Permissions that a line names; the others are counted.
_LISTED = 8

#: etcd members that survive the loss of one.
_MEMBERS = 3
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
#: Label of Deployments that clusterctl installs.
_PROVIDER_LABEL = "cluster.x-k8s.io/provider"

_PROVIDERS = {
    "cluster.x-k8s.io": "Cluster API",
    "bootstrap.cluster.x-k8s.io": "its kubeadm bootstrap provider",
    "controlplane.cluster.x-k8s.io": "its kubeadm control plane provider",
    "infrastructure.cluster.x-k8s.io": "its OpenStack provider (CAPO)",
    "addons.stackhpc.com": "cluster-api-addon-provider",
}


class NoWayInError(errors.CapiHelmError):
    """The management cluster can't be asked, so other checks are skipped."""


def check_kubeconfig(rt: runtime.Runtime) -> str:
    """Check that the kubeconfig can be used and has not expired."""
    path = _path(rt)
    try:
        expiries = rt.management.expiries()
    except errors.NotConfigured as error:
        raise NoWayInError(str(error)) from error
    return ", ".join([path, *map(_until, expiries)])


def _path(rt: runtime.Runtime) -> str:
    return rt.management_cluster.kubeconfig or conf.kubeconfig_path()


def _until(expiry: kubeconfigs.Expiry) -> str:
    return f"{expiry.credential} until {_date(expiry.time)}"


def _date(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def check_identity(rt: runtime.Runtime) -> str:
    """Check that it answers, and that no other name is configured for it."""
    try:
        uid = rt.maintenance.read().identity
    except responses.UnauthorizedError as error:
        raise NoWayInError(_unauthorized(rt)) from error
    except responses.ForbiddenError:
        # It answers; the check of permissions names those that are missing.
        raise
    except responses.UntrustedError as error:
        raise NoWayInError(str(error)) from error
    except errors.ManagementUnreachable as error:
        raise NoWayInError(
            f"{error}: run 'kubectl --kubeconfig {_path(rt)} get --raw "
            "/readyz' on this host to see why"
        ) from error
    except errors.ManagementError as error:
        raise NoWayInError(str(error)) from error
    for name, identity in runtime.cache().identities.items():
        if identity == uid and name != rt.management_cluster.name:
            raise errors.NotConfigured(
                f"cluster {uid} is configured as {name} as well: keep one of "
                "the two names in [capi_helm] management_clusters"
            )
    runtime.cache().identities[rt.management_cluster.name] = uid
    return f"cluster {uid}"


def _unauthorized(rt: runtime.Runtime) -> str:
    """Return the cause of a 401, which is the same for every cause."""
    now = time.time()
    causes = [
        f"its {each.credential} expired at {_date(each.time)}"
        for each in rt.management.expiries()
        if each.time < now
    ]
    cause = " and ".join(causes) or (
        "its credential is of another cluster, or was revoked"
    )
    return (
        "it refuses the kubeconfig's user (401 Unauthorized): "
        f"{cause}: make a new kubeconfig, and write it to {_path(rt)}"
    )


def check_clock(rt: runtime.Runtime) -> str:
    """Check that this host and the management cluster agree on the time."""
    before = time.time()
    date = rt.management.date()
    if date is None:
        return "unknown: the management cluster sends no date"
    ahead = seconds_ahead(before, date, time.time())
    if not ahead:
        return "the same as the management cluster's"
    way = "ahead of" if ahead > 0 else "behind"
    text = (
        f"this host is {base.duration(abs(ahead))} {way} the management "
        "cluster"
    )
    if abs(ahead) <= CLOCKS:
        return text
    raise errors.NotConfigured(
        f"{text}, more than {CLOCKS:.0f} s: certificates that one of them "
        "signs are not valid for the other; set the clocks of both by NTP"
    )


def seconds_ahead(before: float, date: float, after: float) -> float:
    """Return the least difference by which this host's clock is ahead.

    :param before: time of the request, by this host's clock
    :param date: the server's time, in whole seconds
    :param after: time of the response, by this host's clock
    :returns: 0: the clocks may be the same
    """
    least, most = before - (date + 1), after - date
    if least <= 0 <= most:
        return 0.0
    return least if least > 0 else most


def check_maintenance(rt: runtime.Runtime) -> str:
    """Check that the management cluster is not frozen."""
    freeze = rt.maintenance.read().freeze
    if freeze is not None:
        operator = f" by {freeze.by}" if freeze.by else ""
        raise errors.NotConfigured(
            f"it is frozen{operator}: {freeze.reason}; 'magnum-capi-helm "
            "management-cluster thaw --apply' ends that"
        )
    return "none"


def check_permissions(rt: runtime.Runtime) -> str:
    """Check that the user has the driver's permissions.

    A user with wider rights is good as well; the line shows it.
    """
    management = rt.management
    prefix = conf.CONF.capi_helm.namespace_prefix
    clusters = management.list(
        kinds.CLUSTER, None, view.CHART_CLUSTER_LABEL, metadata_only=True
    )
    projects = {
        namespace
        for each in clusters
        if names.project_of(namespace := each["metadata"]["namespace"], prefix)
    }
    missing = permissions.missing(management, projects)
    if missing:
        listed = base.shortened(list(map(str, missing)), _LISTED)
        named = any(each.namespace for each in missing)
        raise errors.NotConfigured(
            f"the kubeconfig's user may not {listed}: apply the output of "
            "'magnum-capi-helm management-cluster permissions"
            f"{' NAMESPACE ...' if named else ''}', or grant these permissions"
        )
    if permissions.reads_all_secrets(management):
        text = "all that the driver needs, and Secrets of all namespaces"
        if unmarked := permissions.unmarked(management, projects):
            text += (
                "; the policy would keep another user out of "
                f"{base.shortened(unmarked, _LISTED)}"
            )
        return text
    if permissions.is_unguarded(management):
        raise errors.NotConfigured(
            "no ValidatingAdmissionPolicy keeps the kubeconfig's user out of "
            "namespaces that are no project's: apply the output of "
            "'magnum-capi-helm management-cluster permissions' to Kubernetes "
            "1.30 or newer"
        )
    if refused := permissions.refused(management, prefix, projects):
        listed = base.shortened(list(map(str, refused)), _LISTED)
        raise errors.NotConfigured(
            f"a policy refuses {listed}: apply the output of "
            "'magnum-capi-helm management-cluster permissions "
            f"--namespace-prefix {prefix} NAMESPACE ...', with the prefixes "
            "of all clouds and the namespaces of all projects"
        )
    return "all that the driver needs, in namespaces of projects alone"


def check_api_versions(rt: runtime.Runtime) -> str:
    """Check that each kind is served in a version that the driver knows.

    Each kind is checked, because one of a group may be missing.
    """
    served: dict[str, dict[str, frozenset[str]]] = {}
    good: list[str] = []
    missing: list[tuple[kinds.Kind, frozenset[str]]] = []
    for kind in kinds.ALL:
        if kind.fixed:
            continue
        group, _, version = rt.management.api_version(kind).rpartition("/")
        group = group or kind.group
        if group not in served:
            served[group] = rt.management.served(group)
        others = served[group].get(kind.name, frozenset())
        if version in others:
            good.append(f"{kind.name} {version}")
        elif kind is not kinds.OPENSTACK_SERVER:
            # CAPO before 0.11 has none, and says all on OpenStackMachine.
            missing.append((kind, others))
    if missing:
        raise errors.NotConfigured("; ".join(_missing_kinds(missing)))
    return ", ".join(good)


def _missing_kinds(
    missing: Iterable[tuple[kinds.Kind, frozenset[str]]],
) -> Iterator[str]:
    """Yield a sentence for each provider whose kinds are missing."""
    by_group: dict[str, list[str]] = {}
    for kind, others in missing:
        wanted = " or ".join(kind.versions)
        served = f", but {', '.join(sorted(others))}" if others else ""
        by_group.setdefault(kind.group, []).append(
            f"no {kind.name} in {wanted}{served}"
        )
    for group, parts in by_group.items():
        yield (
            f"the management cluster serves {', '.join(parts)} of {group}: "
            f"install or upgrade {_PROVIDERS[group]}, with all of its CRDs"
        )


def describe_cleanup(rt: runtime.Runtime) -> str:
    """Return who deletes the OpenStack resources that workloads leave."""
    configured = conf.CONF.capi_helm.cleanup
    if configured != delete.AUTO:
        who = "nobody" if configured == delete.NOBODY else "the driver"
        return f"{who} ([capi_helm] cleanup = {configured})"
    clusters = rt.management.list(
        kinds.OPENSTACK_CLUSTER, None, metadata_only=True
    )
    watched = sum(map(delete.has_janitor, clusters))
    if not clusters:
        return "unknown: there is no cluster yet, and only they show a janitor"
    if watched == len(clusters):
        return "cluster-api-janitor-openstack"
    if not watched:
        return "the driver: no cluster has a janitor"
    return (
        f"cluster-api-janitor-openstack for {watched} clusters, the driver "
        f"for {len(clusters) - watched}"
    )


def describe_redundancy(rt: runtime.Runtime) -> str:
    """Return which parts of the management cluster exist more than once.

    An absent part is no failure: a single node is enough for a test, and
    nothing shows the nodes of a hosted control plane.

    :raises UndeterminedError: the kubeconfig's user may not list them
    """
    try:
        return "; ".join(
            [
                _control_plane_nodes(rt.management),
                *_single_controllers(rt.management),
                *_newest_snapshot(rt.management),
            ]
        )
    except responses.ForbiddenError as error:
        raise check_host.UndeterminedError(str(error)) from error


def _control_plane_nodes(management: client.Client) -> str:
    """Count nodes with the label that kubeadm, k3s and RKE2 set."""
    nodes = management.list(kinds.NODE, None, _CONTROL_PLANE)
    if not nodes:
        return "unknown: it shows no control plane node"
    ready = sum(
        by_type["Ready"].well for by_type in map(conditions.v1beta1, nodes)
    )
    text = f"{ready} of {len(nodes)} control plane nodes are ready"
    if ready < _MEMBERS:
        text += f" (etcd needs {_MEMBERS} to survive the loss of one)"
    return text


def _single_controllers(management: client.Client) -> Iterator[str]:
    """Yield the names of controllers that have one replica."""
    names = [
        each["metadata"]["name"]
        for each in management.list(kinds.DEPLOYMENT, None, _PROVIDER_LABEL)
        if each["spec"].get("replicas", 1) == 1
    ]
    if names:
        yield f"one replica of {', '.join(sorted(names))}"


def _newest_snapshot(management: client.Client) -> Iterator[str]:
    """Yield the age of the newest snapshot of etcd, if there are any.

    Source: k3s, pkg/apis/k3s.cattle.io/v1/types.go.
    """
    times = [
        view.timestamp(status.get("creationTime"))
        for each in management.list(kinds.ETCD_SNAPSHOT, None)
        if (status := view.status_of(each)).get("readyToUse")
    ]
    if times:
        hours = max(0.0, time.time() - max(times)) / 3600
        yield f"the newest snapshot of etcd is {hours:.0f} h old"


def component_versions(rt: runtime.Runtime) -> Iterable[components.Result]:
    """Compare each component's version with the tested one.

    :raises UndeterminedError: the tested versions, or the Deployments, can't
        be read
    """
    chart = requested_labels.default_chart().version
    release = versions.find_tested(chart)
    if release is None:
        raise check_host.UndeterminedError(
            f"the versions that chart {chart} was tested with are not known"
        )
    try:
        deployments = rt.management.list(
            kinds.DEPLOYMENT, None, components.SELECTOR
        )
    except responses.ForbiddenError as error:
        raise check_host.UndeterminedError(str(error)) from error
    compared = components.compare(deployments, release, chart)
    if not conf.CONF.capi_helm.app_cred_access_rules:
        return compared
    return [*compared, *components.token_caches(deployments)]


def helm_version(rt: runtime.Runtime) -> Iterable[components.Result]:
    """Compare this host's helm with the tested one, if that is known."""
    chart = requested_labels.default_chart().version
    release = versions.find_tested(chart)
    if release is None:
        return []
    return [components.helm(rt.helm.version(), release.helm, chart)]
