# SPDX-License-Identifier: Apache-2.0

"""How a cluster reaches its cloud: endpoint, region, CAs, clouds.yaml."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
from typing import Any

import certifi
import yaml

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import pem
from magnum_capi_helm.resolve import ca_files

#: On the Secret: which cloud its data was written for (:func:`mark`).
ANNOTATION = "magnum.openstack.org/cloud"
#: Hexadecimal digits of it.
_MARK = 16


@dataclasses.dataclass(frozen=True)
class Files:
    """What a cluster needs beside its credential to reach OpenStack."""

    auth_url: str
    region: str | None
    ca_bundle: str


def files(session: Any) -> Files:
    """Collect them, before anything is written.

    :raises NotConfigured: the CA bundle can't be read
    :raises CloudError: the catalogue has no identity endpoint
    """
    return Files(
        auth_url=catalogue.Cloud(session).cluster_identity_url(),
        region=sessions.region(session),
        ca_bundle=ca_bundle(),
    )


def connection(files: Files) -> dict[str, Any]:
    """All of clouds.yaml that is no secret, by its keys there.

    :returns: None for what it does not have
    """
    return {
        "auth_url": files.auth_url,
        "region_name": files.region,
        "interface": conf.interface(),
        "verify": conf.CONF.drivers.verify_ca,
    }


def clouds_yaml(files: Files, credential_id: str, secret: str) -> str:
    """The file that Cluster API's provider and its addons read."""
    entry: dict[str, Any] = {
        "identity_api_version": 3,
        "auth_type": "v3applicationcredential",
        "auth": {
            "application_credential_id": credential_id,
            "application_credential_secret": secret,
        },
    }
    return dumped(connected({"clouds": {"openstack": entry}}, files))


def connected(clouds: dict[str, Any], files: Files) -> dict[str, Any]:
    """What a clouds.yaml holds, with the way to the cloud as it is now."""
    entry = clouds["clouds"]["openstack"]
    found = connection(files)
    auth = {**entry["auth"], "auth_url": found.pop("auth_url")}
    changed = {**entry, **found, "auth": auth}
    known = {key: value for key, value in changed.items() if value is not None}
    return {**clouds, "clouds": {**clouds["clouds"], "openstack": known}}


def dumped(clouds: dict[str, Any]) -> str:
    """As text."""
    return str(yaml.safe_dump(clouds))


def own_cas(files: Files) -> list[str]:
    """The CAs of the bundle that not every machine trusts anyway."""
    public = ca_files.public()
    return [
        each for each in pem.readable(files.ca_bundle) if each not in public
    ]


def mark(files: Files) -> str:
    """Tells the data written for one cloud from that for another.

    The public list of CAs changes with each update of a host, and no cloud
    with it: which of them there are does not count.
    """
    found = [connection(files), sorted(own_cas(files))]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:_MARK]


def ca_bundle() -> str:
    """CAs that sign OpenStack's endpoints. Without any, the chart would
    switch verification off."""
    path = conf.CONF.drivers.openstack_ca_file or certifi.where()
    try:
        # Only the text between certificates can be in another encoding.
        return pathlib.Path(path).read_text("utf-8", "replace")
    except OSError as error:
        raise errors.NotConfigured(
            f"[drivers] openstack_ca_file {path}: {error.strerror}"
        ) from error
