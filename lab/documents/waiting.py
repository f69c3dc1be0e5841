# SPDX-License-Identifier: Apache-2.0

"""A reader's patience: what is under way is over before the next step.

A page says ``create`` and then ``resize``; whoever follows it waits between
the two until the cluster is complete. Looking needs no waiting, nor does
deleting. A page that makes a second cluster of a name means another example:
the first one goes before.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from keystoneauth1 import exceptions as ka_exceptions

from lab.documents import changes
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api

#: Seconds where nothing else is going on.
LONGEST = 360
#: In which Magnum has written down that it begins.
_BEGINS = 20


class NotDone(AssertionError):
    """What a command began did not come to a good end."""


class Waiting:
    """The clusters and templates of one page."""

    def __init__(self, magnum: magnum_api.Magnum) -> None:
        self._magnum = magnum
        #: Clusters under way -> the command, and how they were before it.
        self._under_way: dict[str, tuple[str, Any]] = {}
        self._clusters: set[str] = set()
        self._templates: set[str] = set()

    def before(self, command: str) -> None:
        """Wait for what the command needs.

        :raises NotDone: an earlier command failed, as it turns out now
        """
        template = changes.of_template(command)
        if template and template.verb == "create":
            self._make_room(template.name)
        change = changes.of_cluster(command)
        deletes = change is not None and change.verb == "delete"
        if not (changes.looks(command) or deletes or template):
            self.settle()
        if change and change.verb == "create":
            self._remove(change.name)
            self._clusters.add(change.name)
        if change:
            self._under_way[change.name] = (command, self._row(change.name))

    def _make_room(self, template: str) -> None:
        """One that is there goes, and those that may have it before."""
        if template in self._templates:
            self.settle()
            self._remove_all(self._clusters)
        self._remove_template(template)
        self._templates.add(template)

    def settle(self) -> None:
        """Wait until nothing is under way.

        :raises NotDone: something failed
        """
        while self._under_way:
            name, (command, row) = self._under_way.popitem()
            self._begun(name, row)
            self._settled(name, command)

    def clean_up(self) -> None:
        """Delete what the page made."""
        self._remove_all(self._clusters)
        for name in self._templates:
            self._remove_template(name)

    def _row(self, name: str) -> dict[str, Any] | None:
        """A cluster as Magnum shows it, or None when it is gone."""
        try:
            return self._magnum.find(name)
        except ka_exceptions.BadRequest:
            # Its nodegroups come after it, and go before.
            return {"status": "UNSHOWN", "status_reason": "", "updated_at": ""}

    def _begun(self, name: str, before: dict[str, Any] | None) -> None:
        def moved() -> bool:
            now = self._row(name)
            if now is None or before is None:
                return now is not before
            return any(now[key] != before[key] for key in _SHOWING)

        # Of a change to what is there already, nothing is seen.
        deadline = time.monotonic() + _BEGINS
        while not moved() and time.monotonic() < deadline:
            time.sleep(base.POLL)

    def _settled(self, name: str, command: str) -> None:
        def over() -> bool:
            row = self._row(name)
            if row and str(row["status"]).endswith("_FAILED"):
                raise NotDone(
                    f"after {command!r} the cluster is {row['status']}:"
                    f" {row['status_reason']}"
                )
            return row is None or str(row["status"]).endswith("_COMPLETE")

        self._until(over, f"{command!r} is not done")
        if self._row(name) is None:
            self._clusters.discard(name)

    def _ask_to_go(self, name: str) -> None:
        row = self._row(name)
        if row and row["status"] != "DELETE_IN_PROGRESS":
            self._magnum.call("DELETE", f"/clusters/{name}")

    def _remove_all(self, names: set[str]) -> None:
        for name in names:
            self._ask_to_go(name)
        for name in names:
            self._remove(name)

    def _remove(self, name: str) -> None:
        self._ask_to_go(name)
        self._until(lambda: self._row(name) is None, f"{name} is still there")

    def _remove_template(self, name: str) -> None:
        for each in self._magnum.call("GET", "/clustertemplates")[
            "clustertemplates"
        ]:
            if each["name"] == name:
                path = f"/clustertemplates/{each['uuid']}"
                self._magnum.call("DELETE", path)

    def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LONGEST * base.SLOWER
        while not done():
            if time.monotonic() > deadline:
                raise NotDone(f"not within {LONGEST} s: {what}")
            time.sleep(base.POLL)


_SHOWING = ("status", "updated_at")
