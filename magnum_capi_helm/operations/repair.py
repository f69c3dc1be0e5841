# SPDX-License-Identifier: Apache-2.0

"""Live objects, brought back to the manifest of the release.

After a revision that failed, or whose helm died, and where somebody else
changed what is not theirs. Objects are read in the manifest's own version;
only what differs is written (``drift``). Only under the Lease.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
import dataclasses
from typing import TypeAlias

from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import drift
from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: What helm writes on all that it makes, and is in no manifest
#: (helm's ``pkg/action/validate.go``).
_RELEASE_NAME = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
_MANAGED_BY = {"app.kubernetes.io/managed-by": "Helm"}
_KEEP = "helm.sh/resource-policy"

_KEPT = frozenset(kind.name for kind in kinds.KEPT)
_GROUPS_AND_ADDONS = (
    kinds.MACHINE_DEPLOYMENT,
    kinds.HELM_RELEASE,
    kinds.MANIFESTS,
)

_Manifest: TypeAlias = dict[tuple[kinds.Kind, str], client.Object]


def needed(revisions: Iterable[view.Revision]) -> bool:
    """Whether a revision may have left something behind."""
    return any(each.harmful for each in revisions)


def miscounted(seen: view.View, rows_now: requested_groups.Rows) -> bool:
    """Whether somebody changed a count that is the rows'.

    :param rows_now: known by the names of the groups in ``seen``
    """
    workers = [
        (seen.deployment(each.chart_name), each.count)
        for each in rows_now.workers
        if each.chart_name not in seen.autoscaled()
    ]
    master = rows_now.master
    plane = [(seen.control_plane, master.count)] if master else []
    return any(
        live is not None and view.spec_of(live).get("replicas") != count
        for live, count in workers + plane
    )


def stray_addons(
    seen: view.View, scope: snapshot.Scope, expected: Collection[str]
) -> bool:
    """Whether an addon is there that helm made and the manifest has not.

    :param expected: names of the manifest's addons; empty: they are not known
    """
    return bool(expected) and any(
        view.name_of(each) not in expected and _of_helm(each, scope)
        for each in seen.addons
    )


def repair(rt: runtime.Runtime, scope: snapshot.Scope) -> None:
    """Make live objects equal to the manifest of the newest revision.

    Nothing, where that is not deployed, or names other versions than it is
    written in: then helm has to run first. Nothing either without the Cluster
    object: its machines would be new ones.

    :raises CapiHelmError: it could not be done; to be tried again
    """
    revisions = releases.revisions(rt.management, *scope)
    newest = revisions[-1] if revisions else None
    if newest is None or newest.status != "deployed":
        return
    found = releases.read(rt.management, *scope, newest.version)
    cluster = rt.management.get(kinds.CLUSTER, *scope)
    if found is None or found.rewritten:
        return
    if cluster is None or view.deleting(cluster):
        return
    _put_right(rt, scope, found)
    for each in revisions:
        if each.harmful:
            releases.mark_repaired(rt.management, *scope, each.version)


def _put_right(
    rt: runtime.Runtime, scope: snapshot.Scope, release: releases.Release
) -> None:
    # Optional: an old manifest may have versions that are served no more.
    manifest = {
        (dataclasses.replace(kind, optional=True), view.name_of(each)): each
        for each in release.objects
        if (kind := kinds.rendered(each)) is not None
    }
    _restore(rt, scope, manifest)
    _remove_strays(rt, scope, manifest)


def _restore(
    rt: runtime.Runtime, scope: snapshot.Scope, manifest: _Manifest
) -> None:
    """Make what is missing, and patch what differs."""
    missing = []
    changes = []
    for (kind, name), obj in manifest.items():
        live = rt.management.get(kind, scope[0], name)
        if live is None:
            missing.append((kind, obj))
        elif not view.deleting(live) and (change := drift.change(obj, live)):
            changes.append((kind, name, change))
    # Templates before those that refer to them.
    missing.sort(key=lambda each: each[0].name not in _KEPT)
    for kind, obj in missing:
        _create(rt, scope, kind, obj)
    for kind, name, change in changes:
        _patch(rt, scope, kind, name, change)


def _create(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    kind: kinds.Kind,
    obj: client.Object,
) -> None:
    """Make an object as helm would have, so that it goes with the release."""
    namespace, release = scope
    metadata = obj["metadata"]
    owner = {_RELEASE_NAME: release, _RELEASE_NAMESPACE: namespace}
    made = {
        **obj,
        "metadata": {
            **metadata,
            "namespace": namespace,
            "labels": {**(metadata.get("labels") or {}), **_MANAGED_BY},
            "annotations": {**(metadata.get("annotations") or {}), **owner},
        },
    }
    what = f"{kind.name} {metadata['name']}"
    LOG.warning("Making %s anew", what)
    _try(what, rt.management.create, kind, made)


def _patch(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    kind: kinds.Kind,
    name: str,
    change: client.Object,
) -> None:
    # Paths and no values: those may be secrets.
    paths = ", ".join(drift.paths(change))
    what = f"{kind.name} {name}"
    LOG.warning("Putting %s of %s right", paths, what)
    _try(what, rt.management.patch, kind, scope[0], name, change)


def _try(what: str, write: Callable[..., object], *args: object) -> None:
    """Write; what a webhook will not have, it will not have next time."""
    refused = ""
    try:
        write(*args)
    except errors.ManagementError as error:
        if error.retriable:
            raise
        refused = str(error)
    if refused:
        LOG.warning("%s stays as it is: %s", what, refused)


def _remove_strays(
    rt: runtime.Runtime, scope: snapshot.Scope, manifest: _Manifest
) -> None:
    """Remove what a failed revision made, or helm could not delete.

    Never what the chart keeps: machines are made from templates of older
    revisions. They go with the Cluster.
    """
    namespace, release = scope
    rendered = {(kind.name, name) for kind, name in manifest}
    looked_at = {kind.name: kind for kind in _GROUPS_AND_ADDONS}
    looked_at |= {kind.name: kind for kind, _ in manifest}
    for kind in looked_at.values():
        if kind.name in _KEPT or kind.name == kinds.CLUSTER.name:
            continue
        ours = f"{view.CHART_CLUSTER_LABEL}={release}"
        for live in rt.management.list(
            kind, namespace, ours, metadata_only=True
        ):
            name = view.name_of(live)
            if (kind.name, name) not in rendered and _of_helm(live, scope):
                LOG.warning("Removing %s %s", kind.name, name)
                rt.management.delete(kind, namespace, name)


def _of_helm(live: client.Object, scope: snapshot.Scope) -> bool:
    """Whether helm made an object for this release, and may remove it."""
    found = view.annotations_of(live)
    owner = (found.get(_RELEASE_NAMESPACE), found.get(_RELEASE_NAME))
    return owner == scope and _KEEP not in found and not view.deleting(live)
