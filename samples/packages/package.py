#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Instantiate, scale, update and terminate a package of Magnum.

    package.py instantiate FILE
    package.py scale FILE NODEGROUP COUNT
    package.py update FILE
    package.py terminate FILE

FILE has a template, a cluster and its nodegroups, such as web.yaml beside this
script. Each command waits for its end and may be repeated: it continues where
it was interrupted. Exit code 1: the last line has the reason. Needs
openstacksdk and PyYAML; OS_CLOUD or other OS_ variables choose the cloud.
"""

from __future__ import annotations

from collections.abc import Callable
import pathlib
import sys
import time
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions
import openstack
import yaml

#: The first version of Magnum's API with all nodegroup operations.
MICROVERSION = "1.10"
#: Seconds in which Magnum begins an accepted request.
BEGINS = 20
POLL = 5


class Failed(Exception):
    """A request failed; the text is the reason."""


class Package:
    """One package in one project.

    :param magnum: an adapter of Magnum's API
    :param fields: the package, as its file has it
    """

    def __init__(self, magnum: adapter.Adapter, fields: Any) -> None:
        self._magnum = magnum
        self._template: dict[str, Any] = fields["template"]
        self._cluster: dict[str, Any] = fields["cluster"]
        self._nodegroups: list[dict[str, Any]] = fields.get("nodegroups", [])
        self._path = f"/clusters/{self._cluster['name']}"

    def instantiate(self) -> None:
        """Create the template, the cluster and the nodegroups."""
        template = self._create_template()
        if self._read() is None:
            body = {**self._cluster, "cluster_template_id": template}
            self._change(lambda: self._call("POST", "/clusters", body))
        else:
            self._wait()
        path = f"{self._path}/nodegroups"
        groups = self._call("GET", path)["nodegroups"]
        existing = {each["name"] for each in groups}
        for body in self._nodegroups:
            if body["name"] not in existing:
                self._change(lambda body=body: self._call("POST", path, body))

    def scale(self, nodegroup: str, count: int) -> None:
        """Change the number of machines of a nodegroup."""
        body = {"node_count": count, "nodegroup": nodegroup}
        path = f"{self._path}/actions/resize"
        self._change(lambda: self._call("POST", path, body))

    def update(self) -> None:
        """Create the template of the file, and upgrade the cluster to it."""
        template = self._create_template()
        # Magnum answers 500 to an upgrade without max_batch_size.
        body = {"cluster_template": template, "max_batch_size": 1}
        path = f"{self._path}/actions/upgrade"
        self._change(lambda: self._call("POST", path, body))

    def terminate(self) -> None:
        """Delete the cluster and the template."""
        if self._read() is not None:
            self._change(lambda: self._call("DELETE", self._path))
        template = self._find_template()
        if template:
            self._call("DELETE", f"/clustertemplates/{template}")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._magnum.request(
            path,
            method,
            json=body,
            microversion=MICROVERSION,
            raise_exc=True,
        )
        return answer.json() if answer.content else None

    def _find_template(self) -> str:
        """Return the UUID of the template, empty if there is none."""
        rows = self._call("GET", "/clustertemplates")["clustertemplates"]
        name = self._template["name"]
        return next((row["uuid"] for row in rows if row["name"] == name), "")

    def _create_template(self) -> str:
        existing = self._find_template()
        if existing:
            return existing
        row = self._call("POST", "/clustertemplates", self._template)
        return str(row["uuid"])

    def _read(self) -> Any:
        """Return the cluster as Magnum shows it, None if there is none."""
        try:
            return self._call("GET", self._path)
        except exceptions.NotFound:
            return None
        except exceptions.BadRequest:
            # For a second at the begin and the end, Magnum has the cluster
            # without its nodegroups, and cannot show it.
            time.sleep(1)
            return self._read()

    def _change(self, request: Callable[[], Any]) -> None:
        """Send a request and wait until Magnum has carried it out."""
        before = _summary(self._read())
        request()
        deadline = time.monotonic() + BEGINS
        while time.monotonic() < deadline:
            if _summary(self._read()) != before:
                break
            time.sleep(1)
        self._wait()

    def _wait(self) -> None:
        """Wait until the cluster is complete or gone.

        :raises Failed: the cluster has a failed status
        """
        shown = None
        while (row := self._read()) is not None:
            line = f"{row['status']} {row['status_reason'] or ''}".strip()
            if line != shown:
                print(line, flush=True)
            shown = line
            if row["status"].endswith("_FAILED"):
                raise Failed(line)
            if row["status"].endswith("_COMPLETE"):
                return
            time.sleep(POLL)


def _summary(row: Any) -> Any:
    return row and (row["status"], row["updated_at"])


def main(verb: str, path: str, *arguments: str) -> int:
    """Run one command and return its exit code."""
    fields = yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))
    cloud = openstack.connect()
    package = Package(cloud.container_infrastructure_management, fields)
    try:
        if verb == "scale":
            nodegroup, count = arguments
            package.scale(nodegroup, int(count))
        else:
            commands = {
                "instantiate": package.instantiate,
                "update": package.update,
                "terminate": package.terminate,
            }
            commands[verb]()
    except exceptions.HttpError as error:
        print(f"{error.message} {error.details or ''}", file=sys.stderr)
        return 1
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
