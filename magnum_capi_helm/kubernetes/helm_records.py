# SPDX-License-Identifier: Apache-2.0

"""Read and mend helm's release records through the Kubernetes API.

helm keeps each revision in a Secret of type ``helm.sh/release.v1``: labels
``owner=helm``, ``name``, ``version``, ``status``, and the revision itself as
gzipped JSON, base64 twice (helm's ``pkg/storage/driver``). Reading them here
saves a helm process per poll.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.status import view

#: Label selector of helm's records, and the label with the release's name.
OWNED = "owner=helm"
NAME_LABEL = "name"

#: Label of the record of a failed revision (``view.Revision.repaired``): its
#: number, because helm copies the label to the next revision.
_REPAIRED = "magnum.openstack.org/repaired"
#: Annotation of a record that was rewritten, with the old and new versions.
#: Not a label: helm copies labels to the next revision. It is gone when helm
#: writes the record.
_REWRITTEN = "magnum.openstack.org/rewritten"


@dataclasses.dataclass(frozen=True)
class RevisionContent:
    """A revision of a release with its content.

    :param values: the values that helm got, as :mod:`paths` names them
    :param chart_version: version of the chart that rendered it
    :param manifest: YAML
    :param objects: the objects of its manifest
    :param record: the Secret that holds it, as it was read
    """

    version: int
    status: str
    chart_name: str
    chart_version: str
    values: dict[str, Any]
    manifest: str
    objects: tuple[dict[str, Any], ...]
    record: client.Object

    @property
    def rewritten(self) -> bool:
        """Return whether :func:`rewrite` changed API versions in it."""
        return _REWRITTEN in view.annotations_of(self.record)

    def names(self, *kinds_wanted: kinds.Kind) -> frozenset[str]:
        """Return the names of the manifest's objects of some kinds."""
        wanted = {kind.name for kind in kinds_wanted}
        return frozenset(
            view.name_of(each)
            for each in self.objects
            if each.get("kind") in wanted
        )


def revisions(
    management: client.Client, namespace: str, release: str
) -> tuple[view.Revision, ...]:
    """Return the revisions of a release, the newest last."""
    selector = f"{OWNED},{NAME_LABEL}={release}"
    return parsed(
        management.list(kinds.SECRET, namespace, selector, metadata_only=True)
    )


def parsed(records: Iterable[client.Object]) -> tuple[view.Revision, ...]:
    """Return revisions from the metadata of their records, newest last."""
    every = [_revision(each) for each in records]
    return tuple(sorted(every, key=lambda each: each.version))


def _revision(record: client.Object) -> view.Revision:
    """Return a revision from the metadata of its record.

    helm copies all labels of the last revision to the next one, its own
    ``modifiedAt`` among them (``Query`` and ``newSecretsObject`` in
    ``pkg/storage/driver/secrets.go``, ``mergeCustomLabels`` in
    ``pkg/action/upgrade.go``). So a label may be older than its record.
    """
    labels = view.labels_of(record)
    version = int(labels.get("version", 0))
    created = view.timestamp(record["metadata"].get("creationTimestamp"))
    written = labels.get("modifiedAt") or labels.get("createdAt") or 0
    return view.Revision(
        version=version,
        status=labels.get("status", "unknown"),
        modified=max(float(written), created),
        repaired=labels.get(_REPAIRED) == str(version),
        created=created,
    )


def read(
    management: client.Client, namespace: str, release: str, version: int
) -> RevisionContent | None:
    """Return a revision with its content, or None when it is gone.

    :raises HelmError: the record can't be read
    """
    record = _get(management, namespace, release, version)
    return None if record is None else opened(record)


def opened(record: client.Object) -> RevisionContent:
    """Return the revision that a record contains.

    :raises HelmError: the record can't be read
    """
    try:
        body = _unpack(record)
        metadata = body["chart"]["metadata"]
        version = str(metadata["version"])
        manifest = body.get("manifest") or ""
        return RevisionContent(
            version=int(body["version"]),
            status=str(body["info"]["status"]),
            chart_name=str(metadata["name"]),
            chart_version=version,
            values=paths.named(body.get("config") or {}, version),
            manifest=manifest,
            objects=encoding.objects(manifest),
            record=record,
        )
    except (*encoding.DAMAGED, yaml.YAMLError) as error:
        # Not chained: YAML's text quotes the manifest, which has secrets.
        labels = view.labels_of(record)
        raise errors.HelmError(
            f"revision {labels.get('version')} of release "
            f"{labels.get(NAME_LABEL)} can't be read: {type(error).__name__}"
        ) from None


def save_original(
    management: client.Client, old: RevisionContent, labels: Mapping[str, str]
) -> None:
    """Save a record in a Secret, as long as the cluster lives.

    An original that was saved before stays.

    :param old: the revision, as it was read
    :param labels: of the Secret
    """
    metadata = old.record["metadata"]
    namespace, release = metadata["namespace"], metadata["labels"][NAME_LABEL]
    name = names.original(release, old.version)
    if management.get(kinds.SECRET, namespace, name) is None:
        data = old.record["data"]
        secret = encoding.secret(namespace, name, labels, data)
        management.create(kinds.SECRET, secret)


def rewrite(
    management: client.Client,
    old: RevisionContent,
    manifest: str,
    note: object,
) -> None:
    """Replace the manifest in a record that has not changed since.

    :param old: the revision, as it was read
    :param note: describes the change, for ``helm history`` and for operators
    :raises Conflict: the record has changed
    """
    record = old.record
    body = _unpack(record)
    body["manifest"] = manifest
    description = body["info"].get("description") or ""
    body["info"]["description"] = f"{description}; rewritten: {note}".lstrip(
        "; "
    )
    annotations = {**view.annotations_of(record), _REWRITTEN: str(note)}
    changed = {
        **record,
        "metadata": {**record["metadata"], "annotations": annotations},
        "data": {**record["data"], "release": _pack(body)},
    }
    management.replace(kinds.SECRET, changed)


def give_up(
    management: client.Client, namespace: str, release: str, version: int
) -> None:
    """Mark a pending revision as failed after its helm died.

    helm refuses to change a release while its newest revision is pending. The
    record stays, because that helm may have changed objects.
    """
    record = _get(management, namespace, release, version)
    if record is None:
        return
    name = names.helm_record(release, version)
    try:
        body = _unpack(record)
        body["info"].update(status="failed", description="helm was stopped")
    except encoding.DAMAGED:
        # helm can't read it either.
        management.delete(kinds.SECRET, namespace, name)
        return
    change = {
        "metadata": {"labels": {"status": "failed"}},
        "data": {"release": _pack(body)},
    }
    management.patch(kinds.SECRET, namespace, name, change)


def mark_repaired(
    management: client.Client, namespace: str, release: str, version: int
) -> None:
    """Record that all changes of a failed revision were undone."""
    name = names.helm_record(release, version)
    change = {"metadata": {"labels": {_REPAIRED: str(version)}}}
    management.patch(kinds.SECRET, namespace, name, change)


def _get(
    management: client.Client, namespace: str, release: str, version: int
) -> client.Object | None:
    name = names.helm_record(release, version)
    return management.get(kinds.SECRET, namespace, name)


def _unpack(record: client.Object) -> dict[str, Any]:
    # Base64 by helm, and once more by Kubernetes.
    body: dict[str, Any]
    body = encoding.unpack(base64.b64decode(record["data"]["release"]))
    return body


def _pack(body: dict[str, Any]) -> str:
    return encoding.encode(encoding.pack(body))


class MissingError(errors.ManagementError):
    """The management cluster has no objects of a cluster any more.

    It may have been restored from a backup older than the cluster, while the
    machines still run.
    """

    retriable = True

    def __init__(self, scope: location.Scope) -> None:
        namespace, release = scope
        super().__init__(
            f"neither the Cluster nor the helm release {release} is in the "
            f"namespace {namespace} of the management cluster any more, "
            "which may have been restored from an older backup: nothing is "
            "concluded from that. The operator has to bring them back or, if "
            "the cluster is gone, to confirm that with 'magnum-capi-helm "
            "management-cluster accept --lost'"
        )


def check_release_exists(
    management: client.Client, scope: location.Scope
) -> None:
    """Refuse a release that has no objects any more.

    Only a create and a deletion make a Lease for a release without objects.
    A Secret of the chart means that an operator removed the other objects: a
    backup older than the cluster does not have it.

    :raises MissingError: there is no object
    :raises ManagementError: it could not be read
    """
    namespace, release = scope
    charts = f"{view.CHART_CLUSTER_LABEL}={release}"
    if not (
        management.get(kinds.CLUSTER, *scope)
        or revisions(management, *scope)
        or management.list(kinds.SECRET, namespace, charts, metadata_only=True)
    ):
        raise MissingError(scope)
