# SPDX-License-Identifier: Apache-2.0

"""helm's release records, read through the Kubernetes API.

helm keeps each revision in a Secret of type ``helm.sh/release.v1``: labels
``owner=helm``, ``name``, ``version``, ``status``, and the revision itself as
gzipped JSON, base64 twice (helm's ``pkg/storage/driver``). Reading them here
saves a helm process per poll.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
import dataclasses
from typing import Any

import yaml

from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view


@dataclasses.dataclass(frozen=True)
class Release:
    """A whole revision.

    :param values: what helm was given
    :param chart_version: version of the chart it was made with
    :param objects: the objects of its manifest
    :param rewritten: some of them are named in other versions than they are
        written in (:func:`rewrite`)
    """

    version: int
    status: str
    chart_name: str
    chart_version: str
    values: dict[str, Any]
    objects: tuple[dict[str, Any], ...]
    rewritten: bool = False

    def names(self, *kinds_wanted: kinds.Kind) -> frozenset[str]:
        """Names of the manifest's objects of some kinds."""
        wanted = {kind.name for kind in kinds_wanted}
        return frozenset(
            view.name_of(each)
            for each in self.objects
            if each.get("kind") in wanted
        )


#: Label of the record of a failed revision (``view.Revision.repaired``).
_REPAIRED = "magnum.openstack.org/repaired"


#: Annotation of a record that was rewritten: which versions became which. Not
#: a label, since the next revision gets those, too. It goes when helm writes
#: the record.
_REWRITTEN = "magnum.openstack.org/rewritten"

#: What selects helm's records, and the label that has the release's name.
OWNED = "owner=helm"
NAME_LABEL = "name"


def revisions(
    management: client.Client, namespace: str, release: str
) -> tuple[view.Revision, ...]:
    """The revisions of a release, the newest last, by their labels."""
    selector = f"{OWNED},{NAME_LABEL}={release}"
    return parsed(
        management.list(kinds.SECRET, namespace, selector, metadata_only=True)
    )


def parsed(records: Iterable[client.Object]) -> tuple[view.Revision, ...]:
    """Return revisions, the newest last, by the metadata of their records."""
    found = [_revision(each) for each in records]
    return tuple(sorted(found, key=lambda each: each.version))


def _revision(record: client.Object) -> view.Revision:
    labels = view.labels_of(record)
    return view.Revision(
        version=int(labels.get("version", 0)),
        status=labels.get("status", "unknown"),
        modified=float(
            labels.get("modifiedAt") or labels.get("createdAt") or 0
        ),
        repaired=_REPAIRED in labels,
        created=conditions.moment(record["metadata"].get("creationTimestamp")),
    )


def read(
    management: client.Client, namespace: str, release: str, version: int
) -> Release | None:
    """One whole revision, or None when it is gone.

    :raises HelmError: the record can't be read
    """
    name = names.helm_record(release, version)
    secret = management.get(kinds.SECRET, namespace, name)
    return None if secret is None else opened(secret)


def opened(record: client.Object) -> Release:
    """The whole revision that a record is of.

    :raises HelmError: the record can't be read
    """
    try:
        # Base64 by helm, and once more by Kubernetes.
        body = encoding.unpack(base64.b64decode(record["data"]["release"]))
        metadata = body["chart"]["metadata"]
        return Release(
            version=int(body["version"]),
            status=str(body["info"]["status"]),
            chart_name=str(metadata["name"]),
            chart_version=str(metadata["version"]),
            values=body.get("config") or {},
            objects=_objects(body.get("manifest") or ""),
            rewritten=_REWRITTEN in view.annotations_of(record),
        )
    except (*encoding.DAMAGED, yaml.YAMLError) as why:
        # Not chained: YAML's text quotes the manifest, which has secrets.
        labels = view.labels_of(record)
        raise errors.HelmError(
            f"revision {labels.get('version')} of release "
            f"{labels.get(NAME_LABEL)} can't be read: {type(why).__name__}"
        ) from None


def _objects(manifest: str) -> tuple[dict[str, Any], ...]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load_all(manifest, Loader=loader)
    return tuple(each for each in found if isinstance(each, dict))


def give_up(
    management: client.Client, namespace: str, release: str, version: int
) -> None:
    """Call a revision failed whose helm died.

    helm refuses to touch a release while its newest revision is pending. It
    may have changed objects by then, so its record stays, and says so.
    """
    name = names.helm_record(release, version)
    secret = management.get(kinds.SECRET, namespace, name)
    if secret is None:
        return
    try:
        body = encoding.unpack(base64.b64decode(secret["data"]["release"]))
        body["info"].update(status="failed", description="helm was stopped")
    except encoding.DAMAGED:
        # helm can't read it either.
        management.delete(kinds.SECRET, namespace, name)
        return
    record = base64.b64encode(encoding.pack(body).encode()).decode()
    management.patch(
        kinds.SECRET,
        namespace,
        name,
        {
            "metadata": {"labels": {"status": "failed"}},
            "data": {"release": record},
        },
    )


def mark_repaired(
    management: client.Client, namespace: str, release: str, version: int
) -> None:
    """Say that nothing is left of what a failed revision changed."""
    management.patch(
        kinds.SECRET,
        namespace,
        names.helm_record(release, version),
        {"metadata": {"labels": {_REPAIRED: "true"}}},
    )


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The manifest of a revision, to be changed.

    :param text: YAML
    :param record: the Secret that holds it, as it was read
    """

    version: int
    chart_version: str
    text: str
    record: client.Object


def manifest(
    management: client.Client, namespace: str, release: str, version: int
) -> Manifest | None:
    """The manifest of a revision, or None when it is gone.

    :raises HelmError: the record can't be read
    """
    name = names.helm_record(release, version)
    secret = management.get(kinds.SECRET, namespace, name)
    if secret is None:
        return None
    try:
        body = encoding.unpack(base64.b64decode(secret["data"]["release"]))
        chart = str(body["chart"]["metadata"]["version"])
        return Manifest(version, chart, str(body["manifest"]), secret)
    except encoding.DAMAGED as why:
        raise errors.HelmError(
            f"revision {version} of release {release} can't be read: "
            f"{type(why).__name__}"
        ) from why


def rewrite(
    management: client.Client, found: Manifest, text: str, note: object
) -> None:
    """Put another manifest into a record, if it is as it was read.

    :param note: what was changed, for ``helm history`` and for people
    :raises Conflict: somebody has written the record since
    """
    data = found.record["data"]
    body = encoding.unpack(base64.b64decode(data["release"]))
    body["manifest"] = text
    said = body["info"].get("description") or ""
    body["info"]["description"] = f"{said}; rewritten: {note}".lstrip("; ")
    record = base64.b64encode(encoding.pack(body).encode()).decode()
    metadata = found.record["metadata"]
    annotations = {**view.annotations_of(found.record), _REWRITTEN: str(note)}
    management.replace(
        kinds.SECRET,
        {
            **found.record,
            "metadata": {**metadata, "annotations": annotations},
            "data": {**data, "release": record},
        },
    )
