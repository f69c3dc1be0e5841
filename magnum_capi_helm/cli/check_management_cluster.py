# SPDX-License-Identifier: Apache-2.0

"""Checks of a management cluster.

Each check returns the text of its line, or raises an error that says what to
do.
"""

from __future__ import annotations

from collections.abc import Iterable
import functools
import time

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig as kubeconfigs
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import components
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

#: Seconds by which two clocks may differ. A certificate is not valid before
#: the time at which it was signed, by the clock of its signer.
_CLOCKS = 60.0
#: Permissions that a line names; the others are counted.
_LISTED = 8

_PROVIDERS = {
    "cluster.x-k8s.io": "Cluster API",
    "bootstrap.cluster.x-k8s.io": "its kubeadm bootstrap provider",
    "controlplane.cluster.x-k8s.io": "its kubeadm control plane provider",
    "infrastructure.cluster.x-k8s.io": "its OpenStack provider (CAPO)",
    "addons.stackhpc.com": "cluster-api-addon-provider",
}


def check_kubeconfig(rt: runtime.Runtime) -> str:
    """Check that the kubeconfig can be used; return when it expires."""
    path = _path(rt)
    try:
        expiries = rt.management.expiries()
    except errors.NotConfigured as error:
        raise components.NoWayInError(str(error)) from error
    return ", ".join([path, *map(_until, expiries)])


def _path(rt: runtime.Runtime) -> str:
    return rt.management_cluster.kubeconfig or conf.kubeconfig_path()


def _until(expiry: kubeconfigs.Expiry) -> str:
    end = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(expiry.time))
    return f"{expiry.credential} until {end}"


def check_identity(rt: runtime.Runtime) -> str:
    """Check that it answers, and that no other name is configured for it."""
    try:
        uid = rt.maintenance.read().identity
    except responses.ForbiddenError:
        # It answers; the check of permissions names those that are missing.
        raise
    except responses.UnauthorizedError as error:
        raise components.NoWayInError(
            "it refuses the kubeconfig's user (401 Unauthorized), whose "
            "credential expired, was revoked or is of another cluster: make "
            f"a new kubeconfig, and write it to {_path(rt)}"
        ) from error
    except errors.ManagementError as error:
        raise components.NoWayInError(str(error)) from error
    for name, identity in runtime.cache().identities.items():
        if identity == uid and name != rt.management_cluster.name:
            raise errors.NotConfigured(
                f"cluster {uid} is configured as {name} as well: keep one of "
                "the two names in [capi_helm] management_clusters"
            )
    runtime.cache().identities[rt.management_cluster.name] = uid
    return f"cluster {uid}"


def check_clock(rt: runtime.Runtime) -> str:
    """Check that this host and the management cluster agree on the time."""
    before = time.time()
    date = rt.management.date()
    if date is None:
        return "unknown: the management cluster sends no date"
    ahead = before - date
    if abs(ahead) <= _CLOCKS:
        return "the same as the management cluster's"
    raise errors.NotConfigured(
        f"this host is {base.duration(abs(ahead))} "
        f"{'ahead of' if ahead > 0 else 'behind'} the management cluster, "
        f"more than {_CLOCKS:.0f} s: certificates that one of them signs are "
        "not valid for the other; set the clocks of both by NTP"
    )


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
    advice = (
        "apply the output of 'magnum-capi-helm management-cluster permissions "
        f"--namespace-prefix {prefix} [NAMESPACE ...]'"
    )
    if missing := permissions.missing(management, projects):
        raise errors.NotConfigured(
            f"the kubeconfig's user may not {_listed(missing)}: {advice}, or "
            "grant these permissions"
        )
    if permissions.reads_all_secrets(management):
        return "all that the driver needs, and Secrets of all namespaces"
    if permissions.is_unguarded(management):
        raise errors.NotConfigured(
            "no ValidatingAdmissionPolicy keeps the kubeconfig's user out of "
            f"namespaces that are no project's: {advice} to Kubernetes 1.30 "
            "or newer"
        )
    if refused := permissions.refused(management, prefix, projects):
        raise errors.NotConfigured(
            f"a policy refuses {_listed(refused)}: {advice}, with the "
            "prefixes of all clouds and the namespaces of all projects"
        )
    return "all that the driver needs, in namespaces of projects alone"


def _listed(needed: Iterable[permissions.Permission]) -> str:
    return errors.shortened(list(map(str, needed)), _LISTED)


def check_api_versions(rt: runtime.Runtime) -> str:
    """Check that each kind is served in a version that the driver knows.

    Each kind is checked, because one of a group may be missing.
    """
    served = functools.cache(rt.management.served)
    good: list[str] = []
    missing: dict[str, list[str]] = {}
    for kind in kinds.ALL:
        if kind.fixed:
            continue
        version = rt.management.api_version(kind).rpartition("/")[2]
        others = served(kind.group).get(kind.name, frozenset())
        if version in others:
            good.append(f"{kind.name} {version}")
        elif kind is not kinds.OPENSTACK_SERVER:
            # CAPO before 0.11 has none, and says all on OpenStackMachine.
            text = f"no {kind.name} in {' or '.join(kind.versions)}"
            if others:
                text += f", but {', '.join(sorted(others))}"
            missing.setdefault(kind.group, []).append(text)
    problems = (
        f"the management cluster serves {', '.join(texts)} of {group}: "
        f"install or upgrade {_PROVIDERS[group]}, with all of its CRDs"
        for group, texts in missing.items()
    )
    if missing:
        raise errors.NotConfigured("; ".join(problems))
    return ", ".join(good)


def check_components(rt: runtime.Runtime) -> str:
    """Return the versions of the components that run as Deployments.

    An absent Deployment is no failure: the controller may run elsewhere.

    :raises NotConfigured: a component has no ready pod
    :raises UndeterminedError: the kubeconfig's user may not list them
    """
    try:
        running = rt.management.list(
            kinds.DEPLOYMENT, None, components.SELECTOR
        )
    except responses.ForbiddenError as error:
        raise components.UndeterminedError(str(error)) from error
    deployed = list(components.read(running))
    if idle := [each for each in deployed if not each.ready]:
        raise errors.NotConfigured(
            f"no pod is ready of {_versions(idle)}: see 'kubectl get "
            "deployments --all-namespaces' on the management cluster"
        )
    return _versions(deployed) or "there are no Deployments of them"


def _versions(deployed: Iterable[components.Component]) -> str:
    return ", ".join(f"{each.name} {each.version}" for each in deployed)


#: Checks of each management cluster, by name, in their order.
CHECKS = {
    "kubeconfig": check_kubeconfig,
    "management cluster": check_identity,
    "clock": check_clock,
    "maintenance": check_maintenance,
    "permissions": check_permissions,
    "Cluster API": check_api_versions,
    "components": check_components,
}
