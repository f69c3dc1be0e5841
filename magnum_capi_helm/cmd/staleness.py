# SPDX-License-Identifier: Apache-2.0

"""Which clusters know the cloud as it was, and not as it is.

Their Secrets are written anew by ``credentials refresh``, their machines made
anew by the next upgrade. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent import futures
import dataclasses
import functools

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import identity
from magnum_capi_helm.credentials import refresh
from magnum_capi_helm.database import inventory
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

#: Intents that are read at once.
_READERS = 8


@dataclasses.dataclass(frozen=True)
class Cloud:
    """What a cluster would get that was made now.

    :param files: its way to the cloud
    :param cas: what its machines would trust beside the public ones
    """

    files: identity.Files
    cas: frozenset[str]


def cloud() -> Cloud:
    """The cloud as it is now.

    :raises CapiHelmError: it is not known
    """
    files = identity.files(sessions.service_session())
    return Cloud(files, refresh.cas())


def stale(
    rt: runtime.Runtime,
    within: Iterable[str | None],
    now: Cloud | None,
) -> frozenset[inventory.Scope]:
    """Releases with another way to the cloud, by the notes on Secrets.

    One without a note is older than notes are: it is read as a whole.

    :param within: namespaces; None: all
    :param now: None: nobody is
    """
    if now is None:
        return frozenset()
    mark, suffix = identity.mark(now.files), names.credentials("")
    found = set()
    for namespace in within:
        for each in rt.management.list(
            kinds.SECRET, namespace, location.CLUSTER_UUID, metadata_only=True
        ):
            name = view.name_of(each)
            if not name.endswith(suffix):
                continue
            scope = each["metadata"]["namespace"], name.removesuffix(suffix)
            noted = view.annotations_of(each).get(identity.ANNOTATION)
            old = noted != mark if noted else _differs(rt, scope, now.files)
            if old:
                found.add(scope)
    return frozenset(found)


def _differs(
    rt: runtime.Runtime, scope: inventory.Scope, files: identity.Files
) -> bool:
    """As its Secret says; of one that is damaged, its health tells."""
    name = names.credentials(scope[1])
    whole = rt.management.get(kinds.SECRET, scope[0], name)
    try:
        return refresh.stale(whole, files)
    except errors.ManagementError:
        return False


def behind(
    rt: runtime.Runtime, scopes: Collection[inventory.Scope], now: Cloud | None
) -> dict[inventory.Scope, str]:
    """What only an upgrade brings to releases, a line for those that need it.

    What their machines trust is in the Secret of each one's intent alone. None
    is read where a cloud has nothing but public CAs.
    """
    if now is None or not now.cas:
        return {}
    read_one = functools.partial(_behind, rt, now.cas)
    with futures.ThreadPoolExecutor(_READERS) as pool:
        lines = dict(zip(scopes, pool.map(read_one, scopes), strict=True))
    return {scope: line for scope, line in lines.items() if line}


def _behind(
    rt: runtime.Runtime, cas: frozenset[str], scope: inventory.Scope
) -> str:
    """As its intent, or its release, says; of a damaged one nobody knows."""
    try:
        return refresh.behind(rt, scope, cas)
    except errors.CapiHelmError as error:
        if error.retriable:
            raise
        return ""
