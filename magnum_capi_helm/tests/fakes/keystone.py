# SPDX-License-Identifier: Apache-2.0

"""Keystone's tokens and application credentials, behind requests-mock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import copy
import re
from typing import Any
import uuid

import requests
import requests_mock

from magnum_capi_helm.tests.fakes import catalogue

REGION = "RegionOne"

USER = "fake_user"
PROJECT = "fake_project"
#: Of every application credential.
SECRET = "s3cret"


def token_info(
    services: Mapping[str, str],
    roles: tuple[str, ...] = ("member", "reader"),
    restricted: bool | None = None,
    user: str = USER,
    project: str = PROJECT,
    without: str = "",
) -> dict[str, Any]:
    """What Keystone says of a user's token.

    :param services: URLs by type
    :param without: the type of a service that is not in the catalog
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
        "catalog": _catalog(
            {key: services[key] for key in services if key != without}
        ),
    }
    if restricted is not None:
        token["application_credential"] = {
            "id": "theirs",
            "name": "theirs",
            "restricted": restricted,
        }
    return {"token": token}


def _catalog(services: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
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
        for service, url in services.items()
    ]


class FakeKeystone:
    """Who may log in, with what.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Keystone
    :param services: URLs by type, for the catalog
    """

    def __init__(
        self, mocker: Any, url: str, services: Mapping[str, str]
    ) -> None:
        #: Application credentials by id, as Keystone stores them.
        self.credentials: dict[str, dict[str, Any]] = {}
        #: Answers for application credentials: method -> HTTP status.
        self.refusals: dict[str, int] = {}
        #: Called when one is asked for, before it is made.
        self.meanwhile: Callable[[], None] = lambda: None
        #: Of the next requests for one: whether it is made all the same, and
        #: what comes instead of the answer.
        self.blips: list[tuple[bool, int | Exception]] = []
        #: A role that every other one implies; empty: none does.
        self.implied = ""
        #: Who can log in with a password, by name: id, roles, projects.
        self.people: dict[str, dict[str, Any]] = {}
        #: Ids of users and projects that are deleted, and of disabled ones.
        self.deleted: set[str] = set()
        self.disabled: set[str] = set()
        #: Roles of Magnum's service user.
        self.service_roles: tuple[str, ...] = ("admin",)
        #: No application credential lets anybody in.
        self.stillborn = False
        self._identity_url = url
        self._services = services
        mocker.post(
            f"{url}/auth/tokens",
            json=self._token,
            headers={"X-Subject-Token": "service-token"},
        )
        mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{url}/users/[^/]+/application_credentials"),
            json=self._credentials,
        )
        mocker.get(
            re.compile(f"{url}/(users|projects)/[^/]+$"), json=self._known
        )
        for each in (url.rpartition("/")[0], url):
            mocker.register_uri(
                "GET", re.compile(f"{each}/?$"), json=self._identity_versions
            )

    def _identity_versions(self, request: Any, context: Any) -> Any:
        context.status_code = 300
        version = {
            **catalogue.version("v3.14", f"{self._identity_url}/"),
            "status": "stable",
        }
        return {"versions": {"values": [version]}}

    def _token(self, request: Any, context: Any) -> Any:
        context.headers["Content-Type"] = "application/json"
        given = request.json()["auth"]["identity"].get(
            "application_credential"
        )
        if given is not None:
            known = self.credentials.get(given["id"])
            if (
                known is None
                or given["secret"] != SECRET
                or self.stillborn
                or {known["user_id"], PROJECT} & (self.deleted | self.disabled)
            ):
                context.status_code = 401
                return {"error": {"message": "no", "code": 401}}
        asked = request.json()["auth"]
        name = (asked["identity"].get("password") or {}).get("user", {})
        person = self.people.get(name.get("name", ""))
        # Its own project is in the configuration by name.
        project = asked.get("scope", {}).get("project", {}).get("id")
        if person is not None and project is not None:
            if project not in person["projects"]:
                context.status_code = 401
                return {"error": {"message": "no", "code": 401}}
            context.status_code = 201
            context.headers["X-Subject-Token"] = "token"
            return token_info(
                self._services,
                person["roles"],
                user=person["id"],
                project=project,
            )
        context.status_code = 201
        return token_info(self._services, self.service_roles)

    def _known(self, request: Any, context: Any) -> Any:
        """A user, or a project, for an administrator."""
        kind, id_ = request.path.split("/")[-2:]
        if id_ in self.deleted:
            context.status_code = 404
            return {"error": {"message": "not found", "code": 404}}
        enabled = id_ not in self.disabled
        return {kind.removesuffix("s"): {"id": id_, "enabled": enabled}}

    def _credentials(self, request: Any, context: Any) -> Any:
        # As the real one: keystoneauth logs no body of another type.
        context.headers["Content-Type"] = "application/json"
        parts = request.path.split("/")
        user = parts[parts.index("users") + 1]
        if request.method in self.refusals:
            context.status_code = self.refusals[request.method]
            return {"error": {"message": "no", "code": context.status_code}}
        if request.method == "POST":
            return self._created(user, request, context)
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

    def _created(self, user: str, request: Any, context: Any) -> Any:
        self.meanwhile()
        body = copy.deepcopy(request.json()["application_credential"])
        is_made, blip = self.blips.pop(0) if self.blips else (True, 201)
        if is_made:
            if self._taken(user, body["name"]):
                context.status_code = 409
                return {"error": {"message": "Duplicate entry", "code": 409}}
            made = {**body, "id": uuid.uuid4().hex, "user_id": user}
            if self.implied:
                made["roles"] = [*body["roles"], {"name": self.implied}]
            self.credentials[made["id"]] = made
        if isinstance(blip, Exception):
            raise blip
        context.status_code = blip
        if blip != requests.codes.created:
            return {"error": {"message": "no", "code": blip}}
        return {"application_credential": {**made, "secret": SECRET}}

    def _taken(self, user: str, name: str) -> bool:
        """Whether the user has one of that name."""
        return any(
            (each["user_id"], each["name"]) == (user, name)
            for each in self.credentials.values()
        )
