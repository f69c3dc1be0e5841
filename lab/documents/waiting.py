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
_CREATE = re.compile(r"openstack coe cluster (template )?create (\S+)")
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
        #: Kind and name of what the page creates.
        self._created: set[tuple[str, str]] = set()

    def before(self, command: str) -> None:
        """Wait for what the command needs.

        :raises NotDone: an earlier command failed
        """
        line = commands.one_line(command)
        if not _AT_ONCE.match(line):
            self.settle()
        if create := _CREATE.match(line):
            kind = "clustertemplates" if create[1] else "clusters"
            self._remove(kind, create[2])
            self._created.add((kind, create[2]))
        if change := _CHANGE.match(line):
            name = change["name"]
            self._under_way[name] = (command, self._state(name)[:2])

    def settle(self) -> None:
        """Wait until no change is under way.

        :raises NotDone: a change failed
        """
        while self._under_way:
            self._wait(*self._under_way.popitem())

    def clean_up(self) -> None:
        """Delete what the page made, the clusters first."""
        for kind, name in sorted(self._created):
            self._remove(kind, name)

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

    def _remove(self, kind: str, name: str) -> None:
        if kind == "clustertemplates" or self._state(name)[0] not in (
            *(_GONE, "DELETE_IN_PROGRESS"),
        ):
            with contextlib.suppress(ka_exceptions.NotFound):
                self._magnum.call("DELETE", f"/{kind}/{name}")
        if kind == "clusters":
            _until(lambda: self._state(name)[0] == _GONE, f"delete {name}")


def _until(
    done: Callable[[], bool], what: str, seconds: float = _LONGEST
) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise NotDone(f"not within {seconds} s: {what}")
        time.sleep(base.POLL)
