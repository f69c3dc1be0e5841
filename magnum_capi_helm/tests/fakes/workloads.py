# SPDX-License-Identifier: Apache-2.0

"""What Kubernetes' controllers make in a project: Octavia, Neutron, Cinder."""

from __future__ import annotations

import re
from typing import Any
import urllib.parse

import requests_mock

#: Collections by the path of their URLs.
_COLLECTIONS = {
    "loadbalancers": "/lbaas/loadbalancers",
    "floatingips": "/v2.0/floatingips",
    "security_groups": "/v2.0/security-groups",
    "volumes": "/volumes",
    "snapshots": "/snapshots",
}
#: These answer before the thing is gone.
_SLOW = {
    "loadbalancers": ("provisioning_status", "PENDING_DELETE"),
    "volumes": ("status", "deleting"),
    "snapshots": ("status", "deleting"),
}


class FakeWorkloads:
    """Things by collection and id, as the services show them.

    :param mocker: a requests-mock mocker that is started already
    :param urls: of Octavia, Neutron and Cinder
    """

    def __init__(
        self, mocker: Any, balancer: str, network: str, volume: str
    ) -> None:
        self.things: dict[str, dict[str, dict[str, Any]]] = {
            name: {} for name in _COLLECTIONS
        }
        #: HTTP statuses that are answered: (method, collection) -> status.
        self.refusals: dict[tuple[str, str], int] = {}
        #: (method, collection, token) of each request.
        self.requests: list[tuple[str, str, str]] = []
        mocker.get(
            re.compile(f"{balancer}/?$"),
            json={
                "versions": [
                    {
                        "id": "v2.27",
                        "status": "CURRENT",
                        "links": [{"rel": "self", "href": f"{balancer}/v2"}],
                    }
                ]
            },
        )
        bases = dict.fromkeys(_COLLECTIONS, network)
        bases["loadbalancers"] = f"{balancer}/v2(.0)?"
        bases["volumes"] = bases["snapshots"] = volume
        for name, path in _COLLECTIONS.items():
            mocker.register_uri(
                requests_mock.ANY,
                re.compile(f"{bases[name]}{path}(/|\\?|$)"),
                json=lambda request, context, name=name: self._answer(
                    name, request, context
                ),
            )

    # What is there

    def balancer(self, name: str, **fields: Any) -> str:
        """A load balancer, ACTIVE and without tags unless told otherwise."""
        return self._add(
            "loadbalancers",
            name,
            {
                "provisioning_status": "ACTIVE",
                "tags": [],
                "vip_port_id": f"port-of-{name}",
                **fields,
            },
        )

    def address(self, address: str, description: str, port: str = "") -> str:
        """A floating IP."""
        return self._add(
            "floatingips",
            address,
            {
                "floating_ip_address": address,
                "description": description,
                "port_id": port or None,
            },
        )

    def group(self, name: str, description: str) -> str:
        """A security group."""
        return self._add("security_groups", name, {"description": description})

    def volume(self, name: str, status: str = "available", **meta: str) -> str:
        """A volume, with the metadata ``cluster`` and ``keep``."""
        return self._stored("volumes", name, status, meta)

    def snapshot(self, name: str, **meta: str) -> str:
        """A snapshot."""
        return self._stored("snapshots", name, "available", meta)

    def _stored(
        self, collection: str, name: str, status: str, meta: dict[str, str]
    ) -> str:
        keys = {
            "cluster": "cinder.csi.openstack.org/cluster",
            "keep": "janitor.capi.azimuth-cloud.com/keep",
        }
        metadata = {keys[key]: value for key, value in meta.items()}
        fields = {"status": status, "metadata": metadata}
        return self._add(collection, name, fields)

    def _add(self, collection: str, name: str, fields: dict[str, Any]) -> str:
        made = f"id-of-{name}"
        self.things[collection][made] = {"id": made, "name": name, **fields}
        return made

    def names(self) -> set[str]:
        """Names of all that is there."""
        return {
            each["name"]
            for found in self.things.values()
            for each in found.values()
        }

    def settle(self) -> None:
        """What is being deleted is gone."""
        for name, (field, value) in _SLOW.items():
            self.things[name] = {
                id_: each
                for id_, each in self.things[name].items()
                if each[field] != value
            }

    # How it answers

    def _answer(self, name: str, request: Any, context: Any) -> Any:
        token = request.headers.get("X-Auth-Token", "")
        self.requests.append((request.method, name, token))
        if status := self.refusals.get((request.method, name)):
            context.status_code = status
            return {"message": "not for you", "faultstring": "not for you"}
        found = self.things[name]
        path = urllib.parse.urlsplit(request.url).path
        if request.method == "GET" and name == "security_groups":
            return self._security_groups(path, request, context)
        if request.method == "GET":
            return {name: list(found.values())}
        return self._delete(name, path.rsplit("/", 1)[-1], request, context)

    def _security_groups(self, path: str, request: Any, context: Any) -> Any:
        found = self.things["security_groups"]
        [wanted] = re.findall("security-groups/?(.*)", path)
        if wanted in found:
            return {"security_group": found[wanted]}
        if wanted:
            context.status_code = 404
            return {}
        names = request.qs.get(
            "name", [each["name"] for each in found.values()]
        )
        return {
            "security_groups": [
                each for each in found.values() if each["name"] in names
            ]
        }

    def _delete(self, name: str, id_: str, request: Any, context: Any) -> Any:
        context.status_code = 204
        thing = self.things[name].get(id_)
        if thing is None:
            context.status_code = 404
        elif name not in _SLOW:
            del self.things[name][id_]
        else:
            field, value = _SLOW[name]
            if thing[field].startswith("PENDING_"):
                context.status_code = 409
                return {"faultstring": "immutable"}
            if name == "loadbalancers":
                assert request.qs.get("cascade") == ["true"], request.qs
            thing[field] = value
        return None
