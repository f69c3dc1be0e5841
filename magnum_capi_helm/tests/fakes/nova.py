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

"""Nova's server groups and keypairs, behind requests-mock."""

from __future__ import annotations

import re
from typing import Any
import uuid

import requests_mock


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
        #: Tokens that Nova saw, with the method.
        self.requests: list[tuple[str, str]] = []
        #: Whose group a new one is, as Nova sees by the token.
        self.project = project
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
        if request.method in self.refusals:
            context.status_code = self.refusals[request.method]
            return {"forbidden": {"message": "Quota exceeded", "code": 403}}
        if request.method == "POST":
            body = request.json()["server_group"]
            made = self.add(body["name"], self.project)
            self.groups[made]["policy"] = body["policy"]
            return {"server_group": self.groups[made]}
        if request.method == "GET":
            everywhere = "all_projects" in request.qs
            return {
                "server_groups": [
                    each
                    for each in self.groups.values()
                    if everywhere or each["project_id"] == self.project
                ]
            }
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
