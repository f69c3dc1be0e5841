# SPDX-License-Identifier: Apache-2.0

"""What the management cluster still has of a release.

A deletion looks for it, whatever helm knows of it and whoever removed what
by hand before.
"""

from __future__ import annotations

from typing import Any

from magnum_capi_helm import runtime
from magnum_capi_helm.helm import releases
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.status import view

#: What is a server in Nova.
_SERVERS = (kinds.MACHINE, kinds.OPENSTACK_MACHINE)


def bare(rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any) -> bool:
    """Whether neither Lease nor release nor Secrets are there any more."""
    return (
        rt.leases.read(*scope) is None
        and rt.management.get(kinds.CLUSTER, *scope) is None
        and not releases.revisions(rt.management, *scope)
        and not secrets(rt, scope, cluster)
    )


def secrets(
    rt: runtime.Runtime, scope: snapshot.Scope, cluster: Any
) -> list[str]:
    """Names of the Secrets that the driver made for a cluster."""
    ours = f"{location.CLUSTER_UUID}={cluster.uuid}"
    found = rt.management.list(
        kinds.SECRET, scope[0], ours, metadata_only=True
    )
    return list(map(view.name_of, found))


def owned(release: str) -> str:
    """The label selector of what Cluster API made for a cluster."""
    return f"{view.CLUSTER_NAME_LABEL}={release}"


def delete_kept(rt: runtime.Runtime, scope: snapshot.Scope) -> str:
    """Delete what neither helm nor an owner reference removed.

    :returns: what of it is still there, in words
    """
    namespace, release = scope
    chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    kept = (*kinds.KEPT, kinds.HELM_RELEASE, kinds.MANIFESTS)
    # Where somebody removed helm's own Secrets, helm removed nothing.
    rendered = (kinds.SECRET, *kinds.PLAIN)
    selectors = {
        **dict.fromkeys((*kept, *rendered), chart),
        # Where somebody removed the Cluster object before its machines.
        **dict.fromkeys(_SERVERS, owned(release)),
    }
    found = []
    for kind, selector in selectors.items():
        for each in rt.management.list(
            kind, namespace, selector, metadata_only=True
        ):
            found.append(f"{kind.name} {view.name_of(each)}")
            if not view.deleting(each):
                rt.management.delete(kind, namespace, view.name_of(each))
    return f"still to be deleted: {', '.join(found[:3])}" if found else ""
