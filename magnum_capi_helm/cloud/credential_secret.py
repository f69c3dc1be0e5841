# SPDX-License-Identifier: Apache-2.0

"""Read the Secret ``<release>-cloud-credentials`` and its parts.

Its data is the application credential that a cluster acts with. An annotation
lists all that were requested and may exist, also the one in use: each is
listed there before Keystone creates it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
import dataclasses
import json
from typing import Any

import msgspec
import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

#: JSON list of :class:`Entry` as dictionaries.
ANNOTATION = "magnum.openstack.org/application-credentials"
CLOUDS = "clouds.yaml"
_CAS = "cacert"


@dataclasses.dataclass(frozen=True)
class Entry:
    """An application credential that may exist.

    :param user: UUID of its owner in Keystone
    :param name: empty where only the id is known: 1.4.0 noted no name
    :param id: empty until Keystone answers
    :param since: when the cluster was given it, seconds since 1970
    """

    user: str
    name: str = ""
    id: str = ""
    since: float = 0.0


@dataclasses.dataclass(frozen=True)
class Login:
    """The application credential in use."""

    id: str
    secret: str = dataclasses.field(repr=False)


def read(
    management: client.Client, scope: location.Scope
) -> client.Object | None:
    """Return the Secret of a cluster, or None."""
    return management.get(kinds.SECRET, scope[0], names.credentials(scope[1]))


def entries_annotation(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the annotation that lists credentials."""
    listed = [
        {k: v for k, v in dataclasses.asdict(each).items() if v}
        for each in entries
    ]
    return {ANNOTATION: json.dumps(listed)}


def save_entries(
    management: client.Client, scope: location.Scope, entries: Iterable[Entry]
) -> None:
    """List other credentials in an existing Secret; its data stays."""
    management.patch(
        kinds.SECRET,
        scope[0],
        names.credentials(scope[1]),
        {"metadata": {"annotations": entries_annotation(entries)}},
    )


def entries(
    secret: client.Object | None, owner: str = ""
) -> tuple[Entry, ...]:
    """Return all credentials that a Secret lists, and the one in use.

    1.4.0 wrote no list: there is the one in use, of the cluster's owner. The
    label with the owner may be cut.

    :param owner: the user in Magnum's row
    :raises ManagementError: the Secret is damaged
    """
    if secret is None:
        return ()
    listed = view.annotations_of(secret).get(ANNOTATION)
    entries = _listed(view.name_of(secret), listed) if listed else ()
    try:
        used = login(secret)
    except errors.ManagementError:
        if not listed:
            raise
        used = None
    user = owner or view.labels_of(secret).get(location.USER_ID, "")
    if not used or not user or used.id in {each.id for each in entries}:
        return entries
    return (*entries, Entry(user=user, id=used.id))


def in_use(secret: client.Object | None, owner: str = "") -> Entry | None:
    """Return the entry of the credential in use, if there is one.

    :raises ManagementError: the Secret is damaged
    """
    used = login(secret)
    if used is None:
        return None
    matches = (each for each in entries(secret, owner) if each.id == used.id)
    return next(matches, None)


def _listed(name: str, text: str) -> tuple[Entry, ...]:
    try:
        return msgspec.json.decode(text, type=tuple[Entry, ...])
    except msgspec.MsgspecError as error:
        raise _damaged(name, error) from None


def login(secret: client.Object | None) -> Login | None:
    """Return the credential in use; None: there is none.

    :raises ManagementError: the Secret is damaged
    """
    content = clouds(secret)
    if content is None:
        return None
    auth = content["clouds"]["openstack"]["auth"]
    return Login(
        id=str(auth["application_credential_id"]),
        secret=str(auth.get("application_credential_secret", "")),
    )


def clouds(secret: client.Object | None) -> dict[str, Any] | None:
    """Return clouds.yaml, the credential too; None: there is none.

    :raises ManagementError: the Secret is damaged
    """
    data = ((secret or {}).get("data") or {}).get(CLOUDS)
    if secret is None or not data:
        return None
    try:
        content: dict[str, Any] = encoding.document(base64.b64decode(data))
        _ = content["clouds"]["openstack"]["auth"]["application_credential_id"]
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        # Not chained: a YAML error quotes the file, and its secret.
        raise _damaged(secret["metadata"]["name"], error) from None
    return content


def ca_bundle(secret: client.Object) -> str:
    """Return the CAs that clients of the cloud trust; may be empty.

    :raises ManagementError: the Secret is damaged
    """
    try:
        bundle = base64.b64decode((secret.get("data") or {}).get(_CAS, ""))
    except ValueError as error:
        raise errors.ManagementError(
            f"the Secret {view.name_of(secret)} is damaged: {_CAS} can't be "
            "decoded"
        ) from error
    return bundle.decode("latin-1")


def data(clouds_yaml: str, ca_bundle: str) -> dict[str, str]:
    """Return the ``data`` of the Secret."""
    return {
        CLOUDS: encoding.encode(clouds_yaml),
        _CAS: encoding.encode(ca_bundle),
    }


def _damaged(name: str, error: Exception) -> errors.ManagementError:
    return errors.ManagementError(
        f"the Secret {name} does not say which application credentials the "
        f"cluster has ({type(error).__name__}): delete those named magnum-"
        "<UUID of the cluster>-* in Keystone, then delete the Secret"
    )
