# SPDX-License-Identifier: Apache-2.0

"""Creates, resizes, upgrades and deletes clusters of the running lab."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any
import uuid

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as keystone_exceptions
from keystoneauth1 import session
from keystoneauth1.identity import v3
import yaml

from bench import operation_log
from lab import layout

_MICROVERSION = "container-infra 1.10"
_IMAGES = ("ubuntu-v1.34.2", "ubuntu-v1.35.1")
_SECONDS = 600.0
_POLL = 1.0
_GONE = "gone"
#: Seconds in which Magnum writes that it is at work: complete is what the
#: cluster was before, too.
_ACCEPTED = 5.0


class Story:
    """The life of one cluster after the other, as its user lives it."""

    def __init__(self) -> None:
        clouds = yaml.safe_load(layout.CLOUDS_YAML.read_text())["clouds"]
        keystone = session.Session(v3.Password(**clouds["demo"]["auth"]))
        self._api = adapter.Adapter(
            keystone,
            service_type="container-infra",
            additional_headers={"OpenStack-API-Version": _MICROVERSION},
        )
        self._mark = uuid.uuid4().hex[:6]

    def tell(self, times: int, say: Callable[[str], None]) -> None:
        """Live so many lives."""
        old, new = [self._template(image) for image in _IMAGES]
        try:
            for number in range(times):
                self._live(f"bench-{self._mark}-{number}", old, new)
                say(f"{number + 1} of {times} clusters")
        finally:
            for each in (old, new):
                self._call("DELETE", f"/clustertemplates/{each}")

    def _live(self, name: str, old: str, new: str) -> None:
        body = {"name": name, "cluster_template_id": old, "node_count": 1}
        path = f"/clusters/{self._call('POST', '/clusters', body)['uuid']}"
        try:
            self._until(path, "CREATE_COMPLETE")
            self._change(path, "resize", {"node_count": 2})
            upgrade = {"cluster_template": new, "max_batch_size": 1}
            self._change(path, "upgrade", upgrade)
        finally:
            self._call("DELETE", path)
            self._until(path, _GONE)

    def _change(self, path: str, action: str, body: dict[str, Any]) -> None:
        self._call("POST", f"{path}/actions/{action}", body)
        time.sleep(_ACCEPTED)
        self._until(path, "UPDATE_COMPLETE")

    def _template(self, image: str) -> str:
        body = {
            "name": f"bench-{self._mark}-{image}",
            "coe": "kubernetes",
            "image_id": image,
            "external_network_id": "public",
            "flavor_id": "m1.worker",
            "master_flavor_id": "m1.control",
            "network_driver": "calico",
            "master_lb_enabled": True,
            "keypair_id": "demo",
        }
        return str(self._call("POST", "/clustertemplates", body)["uuid"])

    def _until(self, path: str, wanted: str) -> None:
        deadline = time.monotonic() + _SECONDS
        while (found := self._status(path)) != wanted:
            if found.endswith("_FAILED") or time.monotonic() > deadline:
                raise SystemExit(f"{path} is {found}, not {wanted}")
            time.sleep(_POLL)

    def _status(self, path: str) -> str:
        try:
            return str(self._call("GET", path)["status"])
        except keystone_exceptions.NotFound:
            return _GONE
        except keystone_exceptions.BadRequest:
            # Its rows are being written or removed one by one.
            return ""

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._api.request(path, method, json=body)
        return answer.json() if answer.content else None


def run(times: int, say: Callable[[str], None]) -> None:
    """Say the medians of what the conductor logs meanwhile."""
    log = layout.log("magnum")
    before = log.stat().st_size
    Story().tell(times, say)
    with log.open(errors="replace") as stream:
        stream.seek(before)
        found = operation_log.parse(stream)
    for line in operation_log.summary(found):
        say(line)
