# SPDX-License-Identifier: Apache-2.0

"""What is kept of a cluster: what the management cluster alone has of it.

Secrets are bare: what an API server writes into their metadata is another
one's next time. Lease, namespace and objects of Cluster API are a record of
what was there, and come back by no import.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses

from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

SUFFIX = ".jsonl.gz"

#: kubectl writes the whole object into it.
_NOISE = "kubectl.kubernetes.io/last-applied-configuration"


@dataclasses.dataclass(frozen=True)
class Header:
    """Whose export it is.

    :param cluster: UUID of Magnum's cluster
    :param identity: of the management cluster (UID of its kube-system)
    :param chart: its name and version; empty: nothing was ever applied
    :param time: when the objects were read, UTC, as in ISO 8601
    """

    cluster: str
    name: str
    project: str
    namespace: str
    release: str
    identity: str
    chart: str
    chart_version: str
    time: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.release}{SUFFIX}"


@dataclasses.dataclass(frozen=True)
class Bundle:
    """An export.

    :param secrets: those of the release, helm's records among them, bare
    :param objects: what else there was of it, for the record
    """

    header: Header
    secrets: tuple[view.Object, ...] = dataclasses.field(repr=False)
    objects: tuple[view.Object, ...] = dataclasses.field(
        default=(), repr=False
    )

    def secret(self, name: str) -> view.Object | None:
        """A Secret by its name."""
        for each in self.secrets:
            if view.name_of(each) == name:
                return each
        return None

    def object(self, kind: str, name: str) -> view.Object | None:
        """One of the other objects."""
        for each in self.objects:
            if (each.get("kind"), view.name_of(each)) == (kind, name):
                return each
        return None


def key_names(release: str) -> list[str]:
    """Secrets that a release may have, but for its intent and history."""
    return [
        names.credentials(release),
        names.etcd_key(release),
        *authorities(release),
        *_passing(release),
    ]


def authorities(release: str) -> list[str]:
    """The Secrets of the CAs and of the service accounts' key."""
    purposes = ("ca", "etcd", "proxy", "sa")
    return [names.certificate(release, each) for each in purposes]


def _passing(release: str) -> tuple[str, str]:
    """Secrets that go for good reasons, or that others make again."""
    return names.server_groups(release), names.kubeconfig(release)


def revision_of(name: str, release: str) -> int | None:
    """The revision that a Secret records for helm; None: it is no record."""
    number = name.removeprefix(names.helm_record(release, 0)[:-1])
    known = number.isascii() and number.isdigit()
    if known and name == names.helm_record(release, int(number)):
        return int(number)
    return None


def belongs(name: str, release: str) -> bool:
    """Whether a Secret of that name is exported and imported."""
    return (
        name in (*key_names(release), names.intent(release))
        or revision_of(name, release) is not None
    )


def bare(secret: view.Object) -> view.Object:
    """A Secret without what the API server wrote into its metadata.

    Owners go as well: their UIDs are others on another management cluster,
    and an object whose owner is not there is deleted.
    """
    meta = secret["metadata"]
    kept = {
        key: meta[key]
        for key in ("name", "namespace", "labels", "annotations")
        if meta.get(key)
    }
    if _NOISE in view.annotations_of(secret):
        kept["annotations"] = {
            key: value
            for key, value in kept["annotations"].items()
            if key != _NOISE
        }
    found: view.Object = {"metadata": kept}
    for key in ("type", "data", "immutable"):
        if key in secret:
            found[key] = secret[key]
    return found


def recorded(obj: view.Object) -> view.Object:
    """An object as it is kept for the record."""
    meta = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    return {**obj, "metadata": meta}


def lost(before: Bundle, now: Bundle) -> list[str]:
    """Secrets of an older export that a newer one would lack.

    Of helm's records the oldest go by themselves, and all of them never.
    """
    release = before.header.release
    old = {view.name_of(each) for each in before.secrets}
    new = {view.name_of(each) for each in now.secrets}
    history = records(old, release)
    gone = old - new - set(_passing(release)) - history.keys()
    if not records(new, release):
        gone |= history.keys()
    return sorted(gone)


def records(found: Iterable[str], release: str) -> dict[str, int]:
    """Of names of Secrets, those of helm's records, and their revisions."""
    numbers = {name: revision_of(name, release) for name in found}
    return {
        name: number for name, number in numbers.items() if number is not None
    }
