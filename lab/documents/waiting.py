# SPDX-License-Identifier: Apache-2.0

"""A reader's patience: a change is over before the next command.

A page says ``create`` and then ``resize``; a reader waits between the two
until the cluster is complete. Looking and deleting need no wait. A second
cluster of a name is another example: the first one is deleted before. No page
makes a template twice.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import re
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from lab.documents import commands
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api

#: Seconds for a change where nothing else is going on.
_LONGEST = 360 * base.SLOWER
#: Seconds in which Magnum writes down that a change begins.
_BEGINS = 20
_GONE = "DELETE_COMPLETE"
_TEMPLATE = re.compile(r"openstack coe cluster template create (\S+)")
_CHANGE = re.compile(
    r"openstack coe (cluster (create|delete|resize|update|upgrade)"
    r"|credential rotate|nodegroup (create|delete|update)) (?P<name>\S+)"
)
#: What a reader does while a change is under way.
_AT_ONCE = re.compile(
    r"openstack coe (\w+ (show|list)|cluster (delete|template))\b"
)


class NotDone(RuntimeError):
    """What a command began did not come to a good end."""


class Waiting:
    """The clusters and templates of one page."""

    def __init__(self, magnum: magnum_api.Magnum) -> None:
        self._magnum = magnum
        #: Cluster -> the command that changes it, and its state before.
        self._under_way: dict[str, tuple[str, Any]] = {}
        self._clusters: set[str] = set()
        self._templates: set[str] = set()

    def before(self, command: str) -> None:
        """Wait for what the command needs.

        :raises NotDone: an earlier command failed
        """
        line = commands.one_line(command)
        if template := _TEMPLATE.match(line):
            self._delete("clustertemplates", template[1])
            self._templates.add(template[1])
        if not _AT_ONCE.match(line):
            self.settle()
        if change := _CHANGE.match(line):
            name = change["name"]
            if change[2] == "create":
                self._remove(name)
                self._clusters.add(name)
            self._under_way[name] = (command, self._state(name)[:2])

    def settle(self) -> None:
        """Wait until no change is under way.

        :raises NotDone: a change failed
        """
        while self._under_way:
            self._wait(*self._under_way.popitem())

    def clean_up(self) -> None:
        """Delete what the page made."""
        for name in self._clusters:
            self._remove(name)
        for name in self._templates:
            self._delete("clustertemplates", name)

    def _state(self, name: str) -> tuple[str, Any, str]:
        """Return a cluster's status, time of the last change, and reason."""
        row = self._magnum.find(name)
        if row is None:
            return _GONE, None, ""
        return row["status"], row["updated_at"], row["status_reason"]

    def _wait(self, name: str, change: tuple[str, Any]) -> None:
        command, before = change

        def ended() -> bool:
            status, _, reason = self._state(name)
            if status.endswith("_FAILED"):
                raise NotDone(f"after {command!r} {status}: {reason}")
            return status.endswith("_COMPLETE")

        # A change to what is there already is not seen.
        with contextlib.suppress(NotDone):
            _until(lambda: self._state(name)[:2] != before, "", _BEGINS)
        _until(ended, command)

    def _remove(self, name: str) -> None:
        if self._state(name)[0] not in (_GONE, "DELETE_IN_PROGRESS"):
            self._delete("clusters", name)
        _until(lambda: self._state(name)[0] == _GONE, f"delete {name}")

    def _delete(self, kind: str, name: str) -> None:
        with contextlib.suppress(ka_exceptions.NotFound):
            self._magnum.call("DELETE", f"/{kind}/{name}")


def _until(
    done: Callable[[], bool], what: str, seconds: float = _LONGEST
) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise NotDone(f"not within {seconds} s: {what}")
        time.sleep(base.POLL)
