# SPDX-License-Identifier: Apache-2.0

"""Nova's flavors, server groups and keypairs, behind requests-mock."""

from __future__ import annotations

from collections.abc import Callable
import re
from typing import Any
import uuid

import requests_mock

from magnum_capi_helm.tests.fakes import catalogue


def flavor(name: str, vcpus: int = 2, ram: int = 4096) -> dict[str, Any]:
    """A flavor; without arguments one that is large enough."""
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "name": name,
        "vcpus": vcpus,
        "ram": ram,
        "disk": 20,
    }


class FakeFlavors:
    """Flavors that the user sees.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Nova
    """

    def __init__(self, mocker: Any, url: str) -> None:
        self.flavors = [flavor("m1.medium"), flavor("m1.tiny", ram=512)]
        self._compute_url = url
        for path, answer in (
            ("/?$", self._compute_version),
            ("/flavors/detail", self._flavors),
        ):
            mocker.register_uri("GET", re.compile(f"{url}{path}"), json=answer)

    def _compute_version(self, request: Any, context: Any) -> Any:
        return {
            "version": catalogue.version("v2.1", self._compute_url, "2.96")
        }

    def _flavors(self, request: Any, context: Any) -> Any:
        return {"flavors": self.flavors}


class FakeServers:
    """Servers, by id.

    :param mocker: a requests-mock mocker that is started already
    :param compute: URL of Nova
    """

    def __init__(self, mocker: Any, compute: str) -> None:
        #: Id -> the message of the fault; None: the server has none.
        self.faults: dict[str, str | None] = {}
        #: Ids that Nova was asked about.
        self.asked: list[str] = []
        #: Status that Nova answers, if it is not 200.
        self.refusal = 0
        mocker.register_uri(
            "GET", re.compile(f"{compute}/servers/"), json=self._answer
        )

    def _answer(self, request: Any, context: Any) -> Any:
        server = request.path.rsplit("/", 1)[-1]
        self.asked.append(server)
        if self.refusal or server not in self.faults:
            context.status_code = self.refusal or 404
            return {"error": {"message": "no", "code": context.status_code}}
        found: dict[str, Any] = {"id": server, "status": "ERROR"}
        message = self.faults[server]
        if message is not None:
            found["fault"] = {
                "code": 500,
                "created": "2026-11-21T12:00:00Z",
                "message": message,
            }
        return {"server": found}


class FakeServerGroups:
    """Server groups of all projects.

    :param mocker: a requests-mock mocker that is started already
    :param compute: URL of Nova
    :param project: whose token it is that comes with each request
    """

    def __init__(self, mocker: Any, compute: str, project: str) -> None:
        #: By id, as Nova shows them.
        self.groups: dict[str, dict[str, Any]] = {}
        #: Status that Nova answers: method -> HTTP status.
        self.refusals: dict[str, int] = {}
        #: Nova's option max_limit: server groups in one answer.
        self.max_limit = 1000
        #: Tokens that Nova saw, with the method.
        self.requests: list[tuple[str, str]] = []
        #: Called when one is asked for, before it is made.
        self.meanwhile: Callable[[], None] = lambda: None
        #: Whose group a new one is, as Nova sees by the token.
        self.project = project
        #: Projects of other tokens.
        self.projects: dict[str, str] = {}
        mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{compute}/os-server-groups"),
            json=self._answer,
        )

    def add(self, name: str, project: str) -> str:
        """A group that somebody made."""
        made = uuid.uuid4().hex
        self.groups[made] = {
            "id": made,
            "name": name,
            "policy": "affinity",
            "members": [],
            "project_id": project,
            "user_id": "somebody",
        }
        return made

    def names(self) -> list[str]:
        """Names of those that are there, sorted."""
        return sorted(each["name"] for each in self.groups.values())

    def policies(self) -> dict[str, str]:
        """Name -> policy."""
        return {each["name"]: each["policy"] for each in self.groups.values()}

    def _answer(self, request: Any, context: Any) -> Any:
        token = request.headers.get("X-Auth-Token", "")
        self.requests.append((request.method, token))
        project = self.projects.get(token, self.project)
        if request.method in self.refusals:
            context.status_code = self.refusals[request.method]
            return {"forbidden": {"message": "Quota exceeded", "code": 403}}
        if request.method == "POST":
            body = request.json()["server_group"]
            self.meanwhile()
            made = self.add(body["name"], project)
            self.groups[made]["policy"] = body["policy"]
            return {"server_group": self.groups[made]}
        if request.method == "GET":
            everywhere = "all_projects" in request.qs
            visible = [
                each
                for each in self.groups.values()
                if everywhere or each["project_id"] == project
            ]
            first = int(request.qs.get("offset", ["0"])[0])
            return {"server_groups": visible[first : first + self.max_limit]}
        found = self.groups.pop(request.path.rsplit("/", 1)[-1], None)
        context.status_code = 204 if found else 404
        return None


class FakeKeypairs:
    """Keypairs of the user who asks, and of others for who may ask.

    :param mocker: a requests-mock mocker that is started already
    :param compute: URL of Nova
    """

    def __init__(self, mocker: Any, compute: str) -> None:
        #: Public keys by user, the one who asks being "", and name.
        self.keys = {("", "mine"): "ssh-ed25519 AAAA mine"}
        mocker.register_uri(
            requests_mock.ANY,
            re.compile(f"{compute}/os-keypairs"),
            json=self._answer,
        )

    def _answer(self, request: Any, context: Any) -> Any:
        if request.method == "POST":
            body = request.json()["keypair"]
            self.keys["", body["name"]] = body["public_key"]
            return {"keypair": body}
        user = (request.qs.get("user_id") or [""])[0]
        name = request.path.rsplit("/", 1)[-1]
        if (user, name) not in self.keys:
            context.status_code = 404
            return {"itemNotFound": {"message": "no", "code": 404}}
        key = self.keys[user, name]
        return {"keypair": {"name": name, "public_key": key, "type": "ssh"}}
