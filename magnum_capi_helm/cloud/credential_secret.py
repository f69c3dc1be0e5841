# SPDX-License-Identifier: Apache-2.0

"""What the Secret ``<release>-cloud-credentials`` says.

Its data is the application credential that a cluster acts with. An annotation
lists all that were asked for and are not known to be deleted, the one in use
among them: each is written there before Keystone makes it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
import dataclasses
import json
from typing import Any

import yaml

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import errors
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
    :param id: empty until Keystone told
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


def written(entries: Iterable[Entry]) -> dict[str, str]:
    """The annotation that lists them."""
    listed = [
        {
            key: value
            for key, value in dataclasses.asdict(each).items()
            if value
        }
        for each in entries
    ]
    return {ANNOTATION: json.dumps(listed)}


def entries(secret: client.Object, owner: str) -> tuple[Entry, ...]:
    """All credentials that a Secret knows of.

    1.4.0 wrote no list: then there is the one in use, which is the cluster's
    owner's. Its label with the owner may be cut.

    :param owner: the user that Magnum's row has
    :raises ManagementError: the Secret is damaged
    """
    listed = view.annotations_of(secret).get(ANNOTATION)
    found = _listed(view.name_of(secret), listed) if listed else ()
    try:
        used = login(secret)
    except errors.ManagementError:
        if not listed:
            raise
        used = None
    user = owner or view.labels_of(secret).get(location.USER_ID, "")
    if not used or not user or used.id in {each.id for each in found}:
        return found
    return (*found, Entry(user=user, id=used.id))


def owner(secret: client.Object) -> str:
    """Whose credential the cluster was given last; empty: not written down.

    :param secret: its metadata is enough
    :raises ManagementError: the list is damaged
    """
    given = [each for each in entries(secret, "") if each.since]
    return max(given, key=lambda each: each.since).user if given else ""


def _listed(name: str, text: str) -> tuple[Entry, ...]:
    try:
        return tuple(
            Entry(
                user=str(each["user"]),
                name=str(each.get("name", "")),
                id=str(each.get("id", "")),
                since=float(each.get("since", 0)),
            )
            for each in json.loads(text)
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(name, error) from None


def login(secret: client.Object | None) -> Login | None:
    """The credential in use; None: the Secret has none.

    :raises ManagementError: the Secret is damaged
    """
    found = clouds(secret)
    if found is None:
        return None
    auth = found["clouds"]["openstack"]["auth"]
    return Login(
        id=str(auth["application_credential_id"]),
        secret=str(auth.get("application_credential_secret", "")),
    )


def clouds(secret: client.Object | None) -> dict[str, Any] | None:
    """What clouds.yaml holds, the credential too; None: there is none.

    :raises ManagementError: the Secret is damaged
    """
    data = ((secret or {}).get("data") or {}).get(CLOUDS)
    if secret is None or not data:
        return None
    try:
        found: dict[str, Any] = yaml.safe_load(base64.b64decode(data))
        auth = dict(found["clouds"]["openstack"]["auth"])
        _ = auth["application_credential_id"]
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        # Not chained: a YAML error quotes the file, and its secret.
        raise _damaged(secret["metadata"]["name"], error) from None
    return found


def ca_bundle(secret: client.Object) -> str:
    """The CAs that clients of the cloud trust; empty: it has none.

    :raises ManagementError: the Secret is damaged
    """
    try:
        found = base64.b64decode((secret.get("data") or {}).get(_CAS, ""))
    except ValueError as error:
        raise errors.ManagementError(
            f"the Secret {view.name_of(secret)} is damaged: {_CAS} can't be "
            "decoded"
        ) from error
    return found.decode("latin-1")


def data(clouds_yaml: str, ca_bundle: str) -> dict[str, str]:
    """The ``data`` of the Secret."""
    return {CLOUDS: _base64(clouds_yaml), _CAS: _base64(ca_bundle)}


def _damaged(name: str, error: Exception) -> errors.ManagementError:
    return errors.ManagementError(
        f"the Secret {name} does not say which application credentials the "
        f"cluster has ({type(error).__name__}): delete those named magnum-"
        "<UUID of the cluster>-* in Keystone, then delete the Secret"
    )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
