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

"""Keystone, Glance, Nova, Neutron and Cinder behind requests-mock.

Only what the driver asks for, by HTTP: the clients in between are real.
"""

from __future__ import annotations

import copy
import re
from typing import Any
import uuid

from keystoneauth1 import exceptions as ka_exceptions
import requests
import requests_mock

from magnum_capi_helm.tests.fakes import nova
from magnum_capi_helm.tests.fakes import quotas
from magnum_capi_helm.tests.fakes import workloads
from magnum_capi_helm.tests.fakes import zones

IDENTITY = "http://keystone.test/v3"
IMAGE = "http://glance.test"
COMPUTE = "http://nova.test/v2.1"
KEYS = "http://barbican.test"
NETWORK = "http://neutron.test"
BALANCER = "http://octavia.test"
VOLUME = "http://cinder.test/v3/fake_project"
REGION = "RegionOne"

USER = "fake_user"
PROJECT = "fake_project"
#: Of every application credential.
SECRET = "s3cret"

_SERVICES = {
    "identity": IDENTITY,
    "image": IMAGE,
    "compute": COMPUTE,
    "key-manager": KEYS,
    "network": NETWORK,
    "block-storage": VOLUME,
    "load-balancer": BALANCER,
}


def token_info(
    roles: tuple[str, ...] = ("member", "reader"),
    restricted: bool | None = None,
    user: str = USER,
    project: str = PROJECT,
) -> dict[str, Any]:
    """What Keystone says of a user's token.

    :param restricted: made from an application credential of that kind
    """
    token: dict[str, Any] = {
        "methods": ["password"],
        "user": {
            "id": user,
            "name": user,
            "domain": {"id": "default", "name": "Default"},
        },
        "project": {
            "id": project,
            "name": project,
            "domain": {"id": "default", "name": "Default"},
        },
        "roles": [{"id": name, "name": name} for name in roles],
        "expires_at": "2099-01-01T00:00:00.000000Z",
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "catalog": [
            {
                "id": service,
                "type": service,
                "name": service,
                "endpoints": [
                    {
                        "id": f"{service}-{interface}",
                        "interface": interface,
                        "region": REGION,
                        "region_id": REGION,
                        "url": url,
                    }
                    for interface in ("public", "internal", "admin")
                ],
            }
            for service, url in _SERVICES.items()
        ],
    }
    if restricted is not None:
        token["application_credential"] = {
            "id": "theirs",
            "name": "theirs",
            "restricted": restricted,
        }
    return {"token": token}


def image(name: str, **properties: Any) -> dict[str, Any]:
    """An image; without arguments one that makes nodes."""
    wanted = {"os_distro": "ubuntu", "kube_version": "v1.34.2", **properties}
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "name": name,
        "status": "active",
        **{key: value for key, value in wanted.items() if value is not None},
    }


def flavor(name: str, vcpus: int = 2, ram: int = 4096) -> dict[str, Any]:
    """A flavor; without arguments one that is large enough."""
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "name": name,
        "vcpus": vcpus,
        "ram": ram,
        "disk": 20,
    }


class FakeOpenStack:
    """The services.

    :param mocker: a requests-mock mocker that is started already
    """

    def __init__(self, mocker: Any) -> None:
        self.images = [image("ubuntu-1.34")]
        self.flavors = [flavor("m1.medium"), flavor("m1.tiny", ram=512)]
        self.networks = {"public": "net-1", "private": "net-2"}
        self.subnets = {"private-subnet": "subnet-2"}
        #: What else there is to say of networks and subnets, by id.
        self.details: dict[str, dict[str, Any]] = {
            "net-1": {"router:external": True},
            "subnet-2": {"network_id": "net-2", "cidr": "192.168.0.0/24"},
        }
        self.volume_types = ["__DEFAULT__", "fast", "slow"]
        self.default_volume_type = "slow"
        #: Application credentials by id, as Keystone stores them.
        self.credentials: dict[str, dict[str, Any]] = {}
        #: Answers for application credentials: method -> HTTP status.
        self.refusals: dict[str, int] = {}
        #: Who can log in with a password, by name: id, roles, projects.
        self.people: dict[str, dict[str, Any]] = {}
        #: No application credential lets anybody in.
        self.stillborn = False
        self.mocker = mocker
        self.server_groups = nova.FakeServerGroups(mocker, COMPUTE, PROJECT)
        self.keypairs = nova.FakeKeypairs(mocker, COMPUTE)
        self.quotas = quotas.FakeQuotas(
            mocker, COMPUTE, VOLUME, NETWORK, BALANCER
        )
        self.compute_zones = zones.FakeZones(mocker, COMPUTE, "az1", "az2")
        self.volume_zones = zones.FakeZones(mocker, VOLUME, "nova")
        self.workloads = workloads.FakeWorkloads(
            mocker, BALANCER, NETWORK, VOLUME
        )
        self._register()

    def stop(self, url: str) -> None:
        """No answer from a service any more."""
        self.mocker.register_uri(
            requests_mock.ANY,
            re.compile(re.escape(url)),
            exc=requests.ConnectTimeout,
        )

    def _register(self) -> None:
        self.mocker.post(
            f"{IDENTITY}/auth/tokens",
            json=self._token,
            headers={"X-Subject-Token": "service-token"},
        )
        self.mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{IDENTITY}/users/[^/]+/application_credentials"),
            json=self._credentials,
        )
        for method, url, answer in (
            ("GET", "http://keystone.test/?$", self._identity_versions),
            ("GET", f"{IDENTITY}/?$", self._identity_versions),
            ("GET", f"{IMAGE}/?$", self._image_versions),
            ("GET", f"{IMAGE}/v2/images", self._images),
            ("GET", f"{COMPUTE}/?$", self._compute_version),
            ("GET", f"{COMPUTE}/flavors/detail", self._flavors),
            ("GET", f"{NETWORK}/?$", self._network_versions),
            ("GET", f"{NETWORK}/v2.0/networks", self._networks),
            ("GET", f"{NETWORK}/v2.0/subnets", self._subnets),
            ("GET", f"{VOLUME}/?$", self._volume_version),
            ("GET", "http://cinder.test/(v3/?)?$", self._volume_version),
            ("GET", f"{VOLUME}/types", self._types),
        ):
            self.mocker.register_uri(method, re.compile(url), json=answer)

    # Keystone

    def _identity_versions(self, request: Any, context: Any) -> Any:
        context.status_code = 300
        version = {**_version("v3.14", f"{IDENTITY}/"), "status": "stable"}
        return {"versions": {"values": [version]}}

    def _token(self, request: Any, context: Any) -> Any:
        context.headers["Content-Type"] = "application/json"
        given = request.json()["auth"]["identity"].get(
            "application_credential"
        )
        if given is not None:
            known = self.credentials.get(given["id"])
            if known is None or given["secret"] != SECRET or self.stillborn:
                context.status_code = 401
                return {"error": {"message": "no", "code": 401}}
        asked = request.json()["auth"]
        name = (asked["identity"].get("password") or {}).get("user", {})
        person = self.people.get(name.get("name", ""))
        if person is not None:
            project = asked["scope"]["project"]["id"]
            if project not in person["projects"]:
                context.status_code = 401
                return {"error": {"message": "no", "code": 401}}
            context.status_code = 201
            context.headers["X-Subject-Token"] = "token"
            return token_info(
                person["roles"], user=person["id"], project=project
            )
        context.status_code = 201
        return token_info(("admin",))

    def _credentials(self, request: Any, context: Any) -> Any:
        # As the real one: keystoneauth logs no body of another type.
        context.headers["Content-Type"] = "application/json"
        parts = request.path.split("/")
        user = parts[parts.index("users") + 1]
        if request.method in self.refusals:
            context.status_code = self.refusals[request.method]
            return {"error": {"message": "no", "code": context.status_code}}
        if request.method == "POST":
            body = copy.deepcopy(request.json()["application_credential"])
            made = {**body, "id": uuid.uuid4().hex, "user_id": user}
            self.credentials[made["id"]] = made
            context.status_code = 201
            return {"application_credential": {**made, "secret": SECRET}}
        if request.method == "GET":
            mine = [
                each
                for each in self.credentials.values()
                if each["user_id"] == user
            ]
            return {"application_credentials": mine}
        if self.credentials.pop(parts[-1], None) is None:
            context.status_code = 404
            return {"error": {"message": "not found", "code": 404}}
        context.status_code = 204
        return None

    # Glance

    def _image_versions(self, request: Any, context: Any) -> Any:
        return {
            "versions": [
                {
                    "id": "v2.16",
                    "status": "CURRENT",
                    "links": [{"rel": "self", "href": f"{IMAGE}/v2/"}],
                }
            ]
        }

    def _images(self, request: Any, context: Any) -> Any:
        wanted = request.path.removeprefix("/v2/images").strip("/")
        if wanted:
            for each in self.images:
                if each["id"] == wanted:
                    return each
            context.status_code = 404
            return {}
        names = request.qs.get("name")
        return {
            "images": [
                each
                for each in self.images
                if not names or each["name"] in names
            ]
        }

    # Nova

    def _compute_version(self, request: Any, context: Any) -> Any:
        return {"version": _version("v2.1", COMPUTE, "2.96")}

    def _flavors(self, request: Any, context: Any) -> Any:
        return {"flavors": self.flavors}

    # Neutron

    def _network_versions(self, request: Any, context: Any) -> Any:
        return {"versions": [_version("v2.0", f"{NETWORK}/v2.0")]}

    def _networks(self, request: Any, context: Any) -> Any:
        return self._named(self.networks, "network", request, context)

    def _subnets(self, request: Any, context: Any) -> Any:
        return self._named(self.subnets, "subnet", request, context)

    def _named(
        self, known: dict[str, str], kind: str, request: Any, context: Any
    ) -> Any:
        wanted = request.path.split(f"/{kind}s")[1].strip("/")
        found = [
            {"id": value, "name": name, **self.details.get(value, {})}
            for name, value in known.items()
        ]
        if wanted:
            for each in found:
                if each["id"] == wanted:
                    return {kind: each}
            context.status_code = 404
            return {}
        for field in ("name", "network_id"):
            if values := request.qs.get(field):
                found = [each for each in found if each[field] in values]
        return {f"{kind}s": found}

    # Cinder

    def _volume_version(self, request: Any, context: Any) -> Any:
        url = VOLUME.rsplit("/", 1)[0]
        return {"versions": [_version("v3.0", f"{url}/", "3.71")]}

    def _types(self, request: Any, context: Any) -> Any:
        kinds = [
            {"id": name, "name": name, "is_public": True}
            for name in self.volume_types
        ]
        wanted = request.path.split("/types")[1].strip("/")
        if not wanted:
            return {"volume_types": kinds}
        name = self.default_volume_type if wanted == "default" else wanted
        for each in kinds:
            if each["name"] == name:
                return {"volume_type": each}
        context.status_code = 404
        return {}


def _version(name: str, url: str, newest: str = "") -> dict[str, Any]:
    return {
        "id": name,
        "status": "CURRENT",
        "version": newest,
        "min_version": "2.1" if newest.startswith("2") else "3.0",
        "links": [{"rel": "self", "href": url}],
    }


#: What keystoneauth raises when a service does not answer.
NO_ANSWER = ka_exceptions.ConnectFailure
