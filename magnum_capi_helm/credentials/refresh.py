# SPDX-License-Identifier: Apache-2.0

"""The way to the cloud, as it is now, for clusters that exist.

Endpoint, region, interface and CAs of the Secret
``<release>-cloud-credentials`` are written anew; the credential in it stays
as it is, and so does every machine. Cluster API's provider reads the Secret
each time; the addon provider watches it and deploys the cluster's own copy.

While a cloud gets another CA, some of its endpoints have the new one and some
the old: so the bundle is both, the configured one first. Of the old ones those
that have expired are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import dataclasses
import datetime
from typing import Any

from cryptography import x509
from oslo_log import log

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.credentials import identity
from magnum_capi_helm.credentials import upkeep
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import pem
from magnum_capi_helm.operations import operation
from magnum_capi_helm.operations import state_secret
from magnum_capi_helm.resolve import ca_files
from magnum_capi_helm.resolve import site
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

NOT_THERE = (
    "the cluster's application credential is not on the management cluster: "
    "give it a new one, openstack coe credential rotate"
)
_NODES = (
    "nodes still trust the old CA: they get the new one with the cluster's "
    "next upgrade"
)
#: There may be nothing yet; what is made from now on, is of now.
_UNMADE = (rows.Status.CREATE_IN_PROGRESS, rows.Status.CREATE_FAILED)
_NOTED = "nothing but the note for which cloud its data is"


@dataclasses.dataclass(frozen=True)
class Refreshed:
    """What a Secret would become.

    :param changes: what is different, in a few words each; empty: nothing
    :param data: of the Secret; empty: as it is
    """

    changes: tuple[str, ...]
    data: Mapping[str, str] = dataclasses.field(
        default_factory=dict, repr=False
    )


def refreshed(
    secret: client.Object | None,
    files: identity.Files,
    *,
    now: datetime.datetime,
    keep_old: bool = True,
) -> Refreshed:
    """What the Secret of a cluster has to become; nothing is written.

    :param files: the way to the cloud as it is now
    :param keep_old: whether the CAs that it has stay in the bundle
    :raises NotSupported: there is no credential in it
    :raises NotConfigured: the bundle of now has no certificate
    :raises ManagementError: it is damaged
    """
    clouds = credential_secret.clouds(secret)
    if secret is None or clouds is None:
        raise errors.NotSupported(NOT_THERE)
    held = credential_secret.ca_bundle(secret)
    changes = [*_moved(clouds, files), *_bundle(held, files, keep_old)]
    if not changes:
        noted = view.annotations_of(secret).get(identity.ANNOTATION)
        same = noted == identity.mark(files)
        # Without data: the same in other words would be deployed anew.
        return Refreshed(() if same else (_NOTED,))
    old = [each for each in pem.readable(held) if not _expired(each, now)]
    bundle = pem.joined(files.ca_bundle, old if keep_old else [])
    text = identity.dumped(identity.connected(clouds, files))
    return Refreshed(tuple(changes), credential_secret.data(text, bundle))


def stale(secret: client.Object | None, files: identity.Files) -> bool:
    """Whether a cluster's way to the cloud is not the one of now.

    :raises CapiHelmError: it can't be told
    """
    clouds = credential_secret.clouds(secret)
    if secret is None or clouds is None:
        return False
    bundle = _bundle(credential_secret.ca_bundle(secret), files, keep_old=True)
    return any(_moved(clouds, files)) or any(bundle)


def planned(
    rt: runtime.Runtime, row: Any, files: identity.Files, keep_old: bool
) -> Refreshed:
    """What is to be done for a cluster; nothing, while it is being made.

    :raises CapiHelmError: it can't be done
    """
    _check_living(row)
    secret = _secret(rt, operation.scope_of(row))
    if secret is None and row.status in _UNMADE:
        return Refreshed(())
    now = datetime.datetime.now(datetime.timezone.utc)
    return refreshed(secret, files, now=now, keep_old=keep_old)


def apply(
    rt: runtime.Runtime,
    context: Any,
    row: Any,
    files: identity.Files,
    keep_old: bool,
) -> None:
    """Write what :func:`planned` found, under the Lease.

    :raises LeaseHeld: somebody works on the cluster, and goes on doing so
    :raises CapiHelmError: it can't be done, and nothing was written
    """
    scope = operation.scope_of(row)
    labels = location.object_labels(row, scope[1])
    with operation.patient(rt, scope, labels, command=True) as hold:
        fresh = rows.fresh(context, row)
        if fresh is None or hold.marked_deleted or rows.doomed(fresh):
            raise errors.NotSupported("the cluster is being deleted")
        found = planned(rt, fresh, files, keep_old)
        if not found.changes:
            return
        mark = {identity.ANNOTATION: identity.mark(files)}
        # Patched: the list of credentials beside it stays.
        change = {
            "metadata": {"annotations": mark},
            "data": dict(found.data),
        }
        name = names.credentials(scope[1])
        rt.management.patch(kinds.SECRET, scope[0], name, change)
    LOG.info("cluster %s: %s", row.uuid, "; ".join(found.changes))


def left(rt: runtime.Runtime, scope: snapshot.Scope) -> str:
    """What is still to come once the Secret is written; empty: nothing."""
    secret = _secret(rt, scope)
    if secret is None or upkeep.copied(rt, scope, secret):
        return ""
    return "addon cloud-config: still to be deployed with the new data"


def cas() -> frozenset[str]:
    """What machines that are made from now on trust.

    :raises NotConfigured: a file that the options name can't be read
    """
    return frozenset(
        each for _, found in site.trusted_cas() for each in pem.readable(found)
    )


def behind(
    rt: runtime.Runtime,
    scope: snapshot.Scope,
    wanted: frozenset[str] | None = None,
) -> str:
    """What only an upgrade brings to a cluster, in one line; empty: nothing.

    The CAs of machines are part of what they are made from: another one would
    replace them all.

    :param wanted: what :func:`cas` returned
    """
    known = state_secret.base(rt, scope).wanted
    if known is None:
        return ""
    trusted = set(_trusted(known.values))
    return _NODES if (cas() if wanted is None else wanted) - trusted else ""


def _secret(
    rt: runtime.Runtime, scope: snapshot.Scope
) -> client.Object | None:
    name = names.credentials(scope[1])
    return rt.management.get(kinds.SECRET, scope[0], name)


def _check_living(row: Any) -> None:
    if rows.action(row.status) == "DELETE":
        raise errors.NotSupported("the cluster is being deleted")


def _moved(clouds: Mapping[str, Any], files: identity.Files) -> Iterator[str]:
    """Where clouds.yaml differs; 1.4.0 left the version out of the URL."""
    entry = clouds["clouds"]["openstack"]
    found = {**entry, "auth_url": entry["auth"].get("auth_url")}
    for key, value in identity.connection(files).items():
        there = found.get(key)
        if key == "auth_url" and there is not None:
            there = sessions.version_3(str(there))
        if there != value:
            yield f"{key}: {found.get(key)} becomes {value}"


def _bundle(held: str, files: identity.Files, keep_old: bool) -> Iterator[str]:
    """How the CAs differ, in numbers."""
    configured = set(pem.readable(files.ca_bundle))
    if not configured:
        raise errors.NotConfigured(
            "[drivers] openstack_ca_file holds no certificates in PEM"
        )
    there = set(pem.readable(held))
    # Of the public ones some come and go with each update of a host.
    new = set(identity.own_cas(files)) - there
    if new:
        yield f"CAs: {len(new)} are new"
    elif configured <= ca_files.public() and not configured & there:
        yield "CAs: the public ones are new"
    if not keep_old and there - configured:
        yield f"CAs: {len(there - configured)} old ones go"


def _expired(certificate: str, now: datetime.datetime) -> bool:
    """Whether it is over; one that can't be parsed may be not."""
    try:
        found = x509.load_pem_x509_certificate(certificate.encode())
        return found.not_valid_after_utc < now
    except ValueError:
        return False


def _trusted(values: Mapping[str, Any]) -> Iterator[str]:
    """The CAs that machines made from these values trust."""
    for each in (values.get("trustedCAs") or {}).values():
        yield from pem.readable(str(each))
    plane = (values.get("controlPlane") or {}).get("kubeadmConfigSpec") or {}
    for file in plane.get("files") or ():
        yield from pem.readable(str(file.get("content") or ""))
