# SPDX-License-Identifier: Apache-2.0

"""Write the Secret ``<release>-cloud-credentials``.

Its data is the clouds.yaml and the CAs that Cluster API's OpenStack provider
and the cluster's addons use. An annotation lists the application credentials
(``cloud.credential_secret``).

A refresh updates endpoint, region, interface and CAs in the Secret of an
existing cluster. The credential in it stays, and so does every machine:
Cluster API's provider reads the Secret each time, and the addon provider
deploys the cluster's copy again. While a cloud changes its CA, some endpoints
have the new one and some the old one. So the bundle holds both, the configured
CAs first, without expired ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import dataclasses
import pathlib
import time
from typing import Any

import certifi
from cryptography import x509
from oslo_log import log
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import credential_secret
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.status import addon
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

_NO_CREDENTIAL = (
    "the cluster's application credential is not on the management cluster: "
    "give it a new one, openstack coe credential rotate"
)
_OLD_NODES = (
    "nodes still trust the old CA: they get the new one with the cluster's "
    "next upgrade"
)
#: The Secret may not exist yet; it will be written with the present access.
_CREATING = (rows.Status.CREATE_IN_PROGRESS, rows.Status.CREATE_FAILED)


@dataclasses.dataclass(frozen=True)
class CloudAccess:
    """Endpoint, region and CAs that a cluster uses to reach OpenStack."""

    auth_url: str
    region: str | None
    ca_bundle: str


def cloud_access(session: Any) -> CloudAccess:
    """Return the present access to the cloud.

    :raises NotConfigured: the CA bundle can't be read
    :raises CloudError: the catalogue has no identity endpoint
    """
    return CloudAccess(
        auth_url=catalogue.Cloud(session).cluster_identity_url(),
        region=sessions.region(session),
        ca_bundle=_ca_bundle(),
    )


def _ca_bundle() -> str:
    """Return the CAs of OpenStack's endpoints.

    Without any CA, the chart would not verify certificates.
    """
    path = conf.CONF.drivers.openstack_ca_file or certifi.where()
    with errors.reading(f"[drivers] openstack_ca_file {path}"):
        # Only the text between certificates can be in another encoding.
        return pathlib.Path(path).read_text("utf-8", "replace")


def connection(access: CloudAccess) -> dict[str, Any]:
    """Return the public settings of clouds.yaml; None where unset."""
    return {
        "auth_url": access.auth_url,
        "region_name": access.region,
        "interface": conf.interface(),
        "verify": conf.CONF.drivers.verify_ca,
    }


def clouds_yaml(access: CloudAccess, login: credential_secret.Login) -> str:
    """Return the clouds.yaml of an application credential."""
    entry: dict[str, Any] = {
        "identity_api_version": 3,
        "auth_type": "v3applicationcredential",
        "auth": {
            "application_credential_id": login.id,
            "application_credential_secret": login.secret,
        },
    }
    return with_access({"clouds": {"openstack": entry}}, access)


def with_access(clouds: dict[str, Any], access: CloudAccess) -> str:
    """Return a clouds.yaml with the present access, as text."""
    entry = clouds["clouds"]["openstack"]
    settings = connection(access)
    auth = {**entry["auth"], "auth_url": settings.pop("auth_url")}
    entry = {**entry, **settings, "auth": auth}
    entry = {key: value for key, value in entry.items() if value is not None}
    text = {**clouds, "clouds": {**clouds["clouds"], "openstack": entry}}
    return str(yaml.safe_dump(text))


def create(
    operation: cluster_operation.Operation,
    row: rows.Cluster,
    owner: application_credential.Owner,
    access: CloudAccess,
    *,
    first: bool = False,
) -> None:
    """Create a credential and write it into the Secret, under the Lease.

    Its name is listed there before Keystone is asked. A cluster that has a
    credential keeps it unless the new one works.

    :param row: Magnum's row, as it is now
    :param first: the cluster is being created
    :raises InvalidInput: Keystone refused
    :raises LeaseLost: another conductor works on the cluster; the new
        credential is deleted
    """
    management, scope = operation.runtime.management, operation.scope
    secret = None if first else credential_secret.read(management, scope)
    old = credential_secret.entries(secret, str(row.user_id or ""))
    new = application_credential.new_entry(row, owner)
    if secret is None:
        listed = credential_secret.entries_annotation([*old, new])
        management.apply(kinds.SECRET, _secret(operation, owner, listed))
    else:
        # An apply without data would remove the data.
        credential_secret.save_entries(management, scope, [*old, new])
    with application_credential.deleted_if_lease_lost(new, owner):
        login = application_credential.create(new, owner, row)
        if not first:
            application_credential.prove(login, row.project_id)
        new = dataclasses.replace(new, id=login.id, since=time.time())
        listed = credential_secret.entries_annotation([*old, new])
        body = _secret(operation, owner, listed)
        body["data"] = credential_secret.data(
            clouds_yaml(access, login), access.ca_bundle
        )
        management.apply(kinds.SECRET, body)


def _secret(
    operation: cluster_operation.Operation,
    owner: application_credential.Owner,
    annotations: dict[str, str],
) -> client.Object:
    """Return the Secret without data."""
    namespace, release = operation.scope
    metadata = {
        "name": names.credentials(release),
        "namespace": namespace,
        "labels": {
            **operation.object_labels,
            location.USER_ID: names.label_value(owner.user_id),
        },
        "annotations": annotations,
    }
    return {"metadata": metadata, "type": "Opaque"}


def is_deployed(
    rt: runtime.Runtime, scope: location.Scope, secret: client.Object
) -> bool:
    """Return whether the cluster's own copy has the Secret's present data.

    The copy is the addon cloud-config. The addon provider watches the Secret,
    writes the checksum of its data on the addon, and deploys the addon again.
    Until it does so, the phase is that of the old data.
    """
    copy = rt.management.get(
        kinds.MANIFESTS,
        scope[0],
        names.chart_object(scope[1], "cloud-config"),
    )
    if copy is None:
        return True
    if view.status_of(copy).get("phase") != "Deployed":
        return False
    key = f"secret.addons.stackhpc.com/{view.name_of(secret)}"
    present = addon.checksum(secret)
    return all(
        noted.get(key) in (None, present)
        for noted in map(view.annotations_of, (copy, view.handled_of(copy)))
    )


# Refresh


def plan_refresh(
    rt: runtime.Runtime,
    row: rows.Cluster,
    access: CloudAccess,
    keep_old: bool,
) -> tuple[list[str], dict[str, Any]]:
    """Return the update of a cluster's Secret; write nothing.

    :param keep_old: keep the CAs that it has in the bundle
    :returns: the changes, in a few words each, and the patch
    :raises NotSupported: the cluster is being deleted, or has no credential
    :raises NotConfigured: the configured bundle has no certificate
    :raises ManagementError: the Secret is damaged or unreadable
    """
    if rows.action(row.status) == "DELETE":
        raise errors.NotSupported("the cluster is being deleted")
    secret = credential_secret.read(rt.management, location.scope_of(row))
    if secret is None and row.status in _CREATING:
        return [], {}
    clouds = credential_secret.clouds(secret)
    if secret is None or clouds is None:
        raise errors.NotSupported(_NO_CREDENTIAL)
    old_bundle = credential_secret.ca_bundle(secret)
    changes = _changes(clouds, old_bundle, access, keep_old)
    if not changes:
        return [], {}
    old = [
        each
        for each in encoding.readable_pem_certificates(old_bundle)
        if keep_old and not _is_expired(each)
    ]
    # The list of credentials stays.
    data = credential_secret.data(
        with_access(clouds, access),
        encoding.join_pem_bundles(access.ca_bundle, old),
    )
    return changes, {"data": data}


def refresh(
    operation: cluster_operation.Operation, access: CloudAccess, keep_old: bool
) -> None:
    """Write the update that :func:`plan_refresh` describes, under the Lease.

    :raises LeaseHeld: another conductor works on the cluster
    :raises CapiHelmError: it can't be done, and nothing was written
    """
    rt, scope = operation.runtime, operation.scope
    with operation.lock(wait=rt.command_lease_wait) as held:
        held.check_living()
        changes, patch = plan_refresh(rt, held.cluster, access, keep_old)
        if not changes:
            return
        name = names.credentials(scope[1])
        rt.management.patch(kinds.SECRET, scope[0], name, patch)
    LOG.info("cluster %s: %s", operation.cluster.uuid, "; ".join(changes))


def pending_deployment(rt: runtime.Runtime, scope: location.Scope) -> str:
    """Return which step follows the write of the Secret; empty: none."""
    secret = credential_secret.read(rt.management, scope)
    if secret is None or is_deployed(rt, scope, secret):
        return ""
    return "addon cloud-config: still to be deployed with the new data"


def outdated_nodes(operation: cluster_operation.Operation) -> str:
    """Return whether a cluster needs an upgrade for new CAs; empty: no.

    A refresh leaves the CAs of machines alone: others would replace them all.

    :raises NotConfigured: a file that the options name can't be read
    """
    wanted = operation.read_stored().desired
    if wanted is None:
        return ""
    configured = {
        each
        for _, text in operator_files.trusted_cas()
        for each in encoding.readable_pem_certificates(text)
    }
    missing = configured.difference(_trusted_cas(wanted.values))
    return _OLD_NODES if missing else ""


def _changes(
    clouds: Mapping[str, Any],
    old_bundle: str,
    access: CloudAccess,
    keep_old: bool,
) -> list[str]:
    """Return the differences of a Secret's data, in a few words each.

    1.4.0 left the version out of the URL, which is no difference.
    """
    entry = clouds["clouds"]["openstack"]
    entry = {**entry, "auth_url": entry["auth"].get("auth_url")}
    changes = []
    for key, value in connection(access).items():
        old = entry.get(key)
        if key == "auth_url" and old is not None:
            old = sessions.version_3(str(old))
        if old != value:
            changes.append(f"{key}: {entry.get(key)} becomes {value}")
    return [*changes, *_changed_cas(old_bundle, access, keep_old)]


def _changed_cas(
    old_bundle: str, access: CloudAccess, keep_old: bool
) -> Iterator[str]:
    configured = set(encoding.readable_pem_certificates(access.ca_bundle))
    if not configured:
        raise errors.NotConfigured(
            "[drivers] openstack_ca_file holds no certificates in PEM"
        )
    old = set(encoding.readable_pem_certificates(old_bundle))
    # Public CAs come and go with each update of a host.
    new = configured - operator_files.public_cas() - old
    if new:
        yield f"CAs: {len(new)} are new"
    elif configured <= operator_files.public_cas() and not configured & old:
        yield "CAs: the public ones are new"
    if not keep_old and old - configured:
        yield f"CAs: {len(old - configured)} old ones are removed"


def _is_expired(certificate: str) -> bool:
    """Return whether it has expired; False if it can't be parsed."""
    try:
        parsed = x509.load_pem_x509_certificate(certificate.encode())
    except ValueError:
        return False
    return parsed.not_valid_after_utc.timestamp() < time.time()


def _trusted_cas(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the CAs that machines made from these values trust."""
    files = paths.value_at(values, f"{paths.PLANE_KUBEADM}.files") or ()
    texts = [
        *(values.get(paths.TRUSTED_CAS) or {}).values(),
        *(file.get("content") or "" for file in files),
    ]
    for text in texts:
        yield from encoding.readable_pem_certificates(str(text))
