# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""How a cluster reaches its cloud: endpoint, region, CAs, clouds.yaml."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import certifi
import yaml

from magnum_capi_helm import conf
from magnum_capi_helm import exceptions
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions


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


def clouds_yaml(files: Files, credential_id: str, secret: str) -> str:
    """The file that Cluster API's provider and its addons read."""
    entry: dict[str, Any] = {
        "identity_api_version": 3,
        "region_name": files.region,
        "interface": conf.interface(),
        "verify": conf.CONF.drivers.verify_ca,
        "auth_type": "v3applicationcredential",
        "auth": {
            "auth_url": files.auth_url,
            "application_credential_id": credential_id,
            "application_credential_secret": secret,
        },
    }
    if files.region is None:
        del entry["region_name"]
    return str(yaml.safe_dump({"clouds": {"openstack": entry}}))


def ca_bundle() -> str:
    """CAs that sign OpenStack's endpoints. Without any, the chart would
    switch verification off."""
    path = conf.CONF.drivers.openstack_ca_file or certifi.where()
    try:
        return pathlib.Path(path).read_text()
    except OSError as error:
        raise exceptions.NotConfigured(
            f"[drivers] openstack_ca_file {path}: {error.strerror}"
        ) from error
