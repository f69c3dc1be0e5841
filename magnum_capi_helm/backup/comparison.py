# SPDX-License-Identifier: Apache-2.0

"""What of an export is missing on a management cluster, and what differs.

Keys are what they are for the whole life of a cluster: a missing one is put
back whatever else happened since. Intent and helm's records are the state of
a moment: they are put back only where the live Cluster is still what it was
when they were exported. Older ones would take it back to that moment, with
other machines; without a Cluster, the next change would make one, with
machines of its own beside those that run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import dataclasses

from magnum_capi_helm.backup import bundle
from magnum_capi_helm.chart import values
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

_TYPE = "Opaque"

#: Labels and annotations of a Secret that the driver, Cluster API or helm
#: reads. Others are of tools, such as those that restore.
_OURS = ("magnum.openstack.org/", "cluster.x-k8s.io/")
_HELMS = frozenset({"owner", "name", "version", "status"})

#: What tells, on a Cluster, which change was the last one.
_MARKS = (values.INTENT_ANNOTATION, values.UPGRADE_ANNOTATION)


@dataclasses.dataclass(frozen=True)
class Live:
    """What a management cluster has of a release now.

    :param secrets: by name, with all of helm's records
    """

    namespace: view.Object | None = None
    lease: view.Object | None = None
    cluster: view.Object | None = None
    secrets: Mapping[str, view.Object] = dataclasses.field(
        default_factory=dict, repr=False
    )


@dataclasses.dataclass(frozen=True)
class Finding:
    """What an import has to do.

    :param namespace: whether the namespace is missing; likewise ``lease``
    :param secrets: those to make, in this order
    :param different: what is there, and is not what the file has
    :param later: what can't be made before there is a Cluster
    """

    namespace: bool = False
    lease: bool = False
    secrets: tuple[view.Object, ...] = dataclasses.field(
        default=(), repr=False
    )
    different: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Whether there is anything to make."""
        return self.namespace or self.lease or bool(self.secrets)


def compare(found: bundle.Bundle, live: Live) -> Finding:
    """What is missing, and what differs.

    What comes first leaves nothing half done where it ends: keys before
    what is made with them; the intent before helm's records, since without
    them nobody applies it; the newest record first, since the next revision
    is counted from it.
    """
    release = found.header.release
    keys = [
        each
        for name in bundle.key_names(release)
        if name != names.kubeconfig(release)
        and (each := found.secret(name)) is not None
    ]
    history = _history(found)
    stale = _stale(found, live)
    absent = [each for each in history if _name(each) not in live.secrets]
    missing = [each for each in keys if _name(each) not in live.secrets]
    later: list[view.Object] = []
    if live.cluster is None:
        later = absent
    elif absent and (why := _moved_on(found, live.cluster)):
        stale.append(why)
    if not stale and not later:
        missing += absent
    return Finding(
        namespace=live.namespace is None,
        # A Lease alone says that a deletion has removed the rest.
        lease=live.lease is None and live.cluster is not None,
        secrets=tuple(missing),
        different=(*_differing(keys, live), *stale),
        later=() if stale else tuple(map(_name, later)),
    )


def same(first: view.Object, second: view.Object) -> bool:
    """Whether two Secrets are the same to all that read them."""
    return _content(first) == _content(second)


def _history(found: bundle.Bundle) -> list[view.Object]:
    """Intent and records, in the order in which they are made."""
    release = found.header.release
    intent = found.secret(names.intent(release))
    known = bundle.records(map(_name, found.secrets), release)
    records = [each for each in found.secrets if _name(each) in known]
    records.sort(key=lambda each: -known[_name(each)])
    return [*([intent] if intent else []), *records]


def _stale(found: bundle.Bundle, live: Live) -> list[str]:
    """Where intent and records are another moment's than the file's."""
    release = found.header.release
    different = _differing(_history(found), live)
    intent = names.intent(release)
    if intent in live.secrets and found.secret(intent) is None:
        different.append(f"Secret {intent}, which the file has not")
    newest = _newest(map(_name, found.secrets), release)
    newest_live = _newest(live.secrets, release)
    if newest_live and newest_live != newest:
        different.append(
            f"helm's newest revision, which is {newest_live} and in the file "
            f"{newest or 'none'}"
        )
    return different


def _newest(found: Iterable[str], release: str) -> int:
    return max(bundle.records(found, release).values(), default=0)


def _moved_on(found: bundle.Bundle, cluster: view.Object) -> str:
    """Why the file's state is not the live Cluster's; empty: it is."""
    release = found.header.release
    then = found.object("Cluster", release)
    if view.deleting(cluster):
        return f"Cluster {release}, which is being deleted"
    if then is None or _marks(then) != _marks(cluster):
        return f"Cluster {release}, which was changed since"
    return ""


def _marks(cluster: view.Object) -> list[str | None]:
    return [view.annotations_of(cluster).get(key) for key in _MARKS]


def _differing(found: Iterable[view.Object], live: Live) -> list[str]:
    return [
        f"Secret {_name(each)}"
        for each in found
        if _name(each) in live.secrets
        and not same(each, live.secrets[_name(each)])
    ]


def _content(secret: view.Object) -> object:
    of_helm = secret.get("type") == "helm.sh/release.v1"
    labels = {
        key: value
        for key, value in view.labels_of(secret).items()
        if key.startswith(_OURS) or (of_helm and key in _HELMS)
    }
    annotations = {
        key: value
        for key, value in view.annotations_of(secret).items()
        if key.startswith(_OURS)
    }
    return (
        secret.get("type") or _TYPE,
        secret.get("data") or {},
        bool(secret.get("immutable")),
        labels,
        annotations,
    )


def _name(secret: view.Object) -> str:
    return view.name_of(secret)
