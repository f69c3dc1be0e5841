# SPDX-License-Identifier: Apache-2.0

"""Bring live objects back to the manifest of the release.

After a revision that failed or whose helm died, and after another client
changed an object of the release. Objects are read in the manifest's own
version. Only under the Lease.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
import contextlib
import dataclasses
from typing import TypeAlias

from oslo_log import log

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.chart import diff
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import helm_records
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import requested_groups
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)
Object = client.Object
Release = cluster_release.Release

#: helm writes these on every object, and they are in no manifest (helm's
#: ``pkg/action/validate.go``).
_MANAGED_BY = {"app.kubernetes.io/managed-by": "Helm"}
_RELEASE_NAME = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
_KEEP = "helm.sh/resource-policy"

_KEPT = frozenset(kind.name for kind in kinds.KEPT)
_GROUPS_AND_ADDONS = (
    kinds.MACHINE_DEPLOYMENT,
    kinds.HELM_RELEASE,
    kinds.MANIFESTS,
)

_Manifest: TypeAlias = dict[tuple[kinds.Kind, str], Object]


def miscounted(objects: view.View, rows_now: requested_groups.Rows) -> bool:
    """Return whether another client changed a count that the rows decide.

    :param rows_now: with the names of the groups in ``objects``
    """
    workers = [
        (objects.deployment(each.chart_name), each.count)
        for each in rows_now.workers
        if each.chart_name not in objects.autoscaled()
    ]
    master = rows_now.master
    control_plane = [(objects.control_plane, master.count)] if master else []
    return any(
        live is not None and view.spec_of(live).get("replicas") != count
        for live, count in workers + control_plane
    )


def addons_differ(
    objects: view.View, scope: tuple[str, str], expected: Collection[str]
) -> bool:
    """Return whether the addons of helm are not those of the manifest.

    helm changes an addon that is being deleted, and then it is missing.

    :param expected: names of the manifest's addons; empty: they are not known
    """
    if not expected or not objects.addons_known:
        return False
    names = set(map(view.name_of, objects.addons))
    return not names.issuperset(expected) or any(
        view.name_of(each) not in expected and _of_helm(each, scope)
        for each in objects.addons
    )


def _of_helm(live: view.Object, scope: tuple[str, str]) -> bool:
    """Return whether helm made an object for this release, to be removed."""
    notes = view.annotations_of(live)
    owner = (notes.get(_RELEASE_NAMESPACE), notes.get(_RELEASE_NAME))
    return owner == scope and _KEEP not in notes and not view.deleting(live)


def repair(held: holding.Held, revisions: cluster_release.Revisions) -> None:
    """Make live objects equal to the manifest of the newest revision.

    It does nothing if that revision is not deployed, or names other versions
    than it is written in: then helm has to run first. Nor does it without the
    Cluster object: its machines would be new ones.

    :param revisions: as they are now
    :raises CapiHelmError: it could not be done; to be tried again
    """
    newest = revisions[-1] if revisions else None
    if newest is None or newest.status != "deployed":
        return
    record = held.record(newest.version)
    cluster = held.get(kinds.CLUSTER)
    if record is None or record.rewritten:
        return
    if cluster is None or view.deleting(cluster):
        return
    held.runtime.converter.run(lambda: _compare(held, record.objects))
    for version in (each.version for each in revisions if each.harmful):
        helm_records.mark_repaired(held.management, *held.scope, version)


def _compare(release: Release, objects: Iterable[Object]) -> None:
    """Make live objects equal to those of a manifest.

    :raises ManagementUnserved: their version is not served
    """
    manifest = {
        (kind, view.name_of(each)): each
        for each in release.runtime.converter.as_applied(objects)
        if (kind := _kind(each)) is not None
    }
    live = _live(release, manifest)
    _restore(release, manifest, live)
    _remove_strays(release, manifest, live)


def _kind(obj: Object) -> kinds.Kind | None:
    """Return the kind of a manifest's object, in the manifest's version.

    One that the driver can't convert is optional: an old manifest may have
    versions that are served no more.
    """
    kind = kinds.rendered(obj)
    if kind is None:
        return None
    fixed = conversion.converts(conversion.api_of(obj), conversion.NEW)
    return dataclasses.replace(kind, optional=not fixed)


def _live(release: Release, manifest: _Manifest) -> _Manifest:
    """Return the metadata of live objects of the chart, and of others."""
    kinds_by_name = {kind.name: kind for kind in _GROUPS_AND_ADDONS}
    kinds_by_name |= {kind.name: kind for kind, _ in manifest}
    ours = f"{view.CHART_CLUSTER_LABEL}={release.release}"
    live = {
        (kind, view.name_of(each)): each
        for kind in kinds_by_name.values()
        for each in release.metadata(kind, ours)
    }
    for kind, name in manifest.keys() - live.keys():
        # Not every chart labels every object.
        if there := release.get(kind, name):
            live[kind, name] = there
    return live


def _restore(release: Release, manifest: _Manifest, live: _Manifest) -> None:
    """Create missing objects, and patch the others."""
    # Templates before those that refer to them.
    for kind, name in sorted(
        manifest.keys() - live.keys(), key=lambda key: key[0].name not in _KEPT
    ):
        LOG.warning("Making %s %s anew", kind.name, name)
        with _refusals_logged(kind, name):
            made = _made_by_helm(*release.scope, manifest[kind, name])
            release.management.create(kind, made)
    for (kind, name), obj in manifest.items():
        before = live.get((kind, name))
        change = diff.restoring_patch(obj)
        if before is None or view.deleting(before) or not change:
            continue
        with _refusals_logged(kind, name):
            after = release.patch(kind, name, change)
            if view.version_of(after) != view.version_of(before):
                LOG.warning("Made %s %s as in its manifest", kind.name, name)


def _made_by_helm(namespace: str, release: str, obj: Object) -> Object:
    """Return an object as helm makes it: it goes with the release."""
    metadata = obj["metadata"]
    owner = {_RELEASE_NAME: release, _RELEASE_NAMESPACE: namespace}
    return {
        **obj,
        "metadata": {
            **metadata,
            "namespace": namespace,
            "labels": {**(metadata.get("labels") or {}), **_MANAGED_BY},
            "annotations": {**(metadata.get("annotations") or {}), **owner},
        },
    }


@contextlib.contextmanager
def _refusals_logged(kind: kinds.Kind, name: str) -> Iterator[None]:
    """Go on after a refused write: a webhook will refuse it again."""
    refused = ""
    try:
        yield
    except errors.ManagementError as error:
        if error.retriable:
            raise
        refused = str(error)
    if refused:
        LOG.warning("%s %s stays as it is: %s", kind.name, name, refused)


def _remove_strays(
    release: Release, manifest: _Manifest, live: _Manifest
) -> None:
    """Remove objects of a failed revision, or that helm could not delete.

    Objects that the chart keeps stay: machines are made from templates of
    older revisions. They go with the Cluster.
    """
    for (kind, name), each in live.items():
        if kind.name in _KEPT or kind.name == kinds.CLUSTER.name:
            continue
        if (kind, name) not in manifest and _of_helm(each, release.scope):
            LOG.warning("Removing %s %s", kind.name, name)
            release.delete(kind, name)
