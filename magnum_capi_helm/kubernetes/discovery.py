# SPDX-License-Identifier: Apache-2.0

"""API versions that a management cluster serves, and the one to use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import requests

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses


class ServedVersions:
    """API versions that a management cluster serves.

    Each group is discovered once, and again after a path in it was not
    found: its provider may have been upgraded.

    :param get: reads a path from the root of the API
    :param pinned: ``[capi_helm] api_resources``: versions that the operator
        chose, by kind
    """

    def __init__(
        self,
        get: Callable[[str], Any],
        pinned: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._get = get
        #: Group -> path of a discovery document -> what was found in it.
        self._found: dict[str, dict[str, frozenset[str]]] = {}
        self._pinned = {
            kinds.LEGACY_NAMES[name].name: entry
            for name, entry in pinned.items()
            if name in kinds.LEGACY_NAMES
        }

    def choose(self, kind: kinds.Kind) -> str:
        """Return the ``group/version`` to use; empty when none is served.

        :raises ManagementUnreachable: no answer
        """
        if kind.fixed:
            return "/".join(filter(None, (kind.group, kind.versions[0])))
        pinned = self._pinned.get(kind.name, {}).get("api_version")
        if pinned and not self._is_gone(kind, pinned):
            return pinned
        served = self._served(kind.group)
        versions = [each for each in kind.versions if each in served]
        while (
            kind.shared and versions[1:] and not self._has(kind, versions[0])
        ):
            versions.pop(0)
        return f"{kind.group}/{versions[0]}" if versions else ""

    def plural(self, kind: kinds.Kind) -> str:
        """Return the name of the kind in a path."""
        return self._pinned.get(kind.name, {}).get("plural_name", kind.plural)

    def _is_gone(self, kind: kinds.Kind, pinned: str) -> bool:
        """Return whether a group serves other versions than the pinned one.

        Configurations of 1.4.0 pin versions that Cluster API stops serving.
        """
        group, _, version = pinned.rpartition("/")
        if group != kind.group or self.plural(kind) != kind.plural:
            # Another provider's kind.
            return False
        served = self._served(group)
        return bool(served) and version not in served

    def read_group(self, group: str) -> dict[str, frozenset[str]]:
        """Return the versions of each kind of a group, not from memory.

        A version may be served for some kinds and not for others.

        :raises ManagementUnreachable: no answer
        """
        root = f"/apis/{group}" if group else "/api"
        versions: dict[str, set[str]] = {}
        for version in sorted(self._discover(root)):
            path = f"{root}/{version}"
            for kind in self._discover(path, "resources", "kind"):
                versions.setdefault(kind, set()).add(version)
        return {kind: frozenset(each) for kind, each in versions.items()}

    def forget(self, kind: kinds.Kind) -> None:
        """Discover the kind's group again, next time."""
        self._found.pop(kind.group, None)

    def _served(self, group: str) -> frozenset[str]:
        return self._remembered(group, f"/apis/{group}")

    def _has(self, kind: kinds.Kind, version: str) -> bool:
        """Return whether a version of a group has a kind."""
        path = f"/apis/{kind.group}/{version}"
        found = self._remembered(kind.group, path, "resources", "kind")
        return kind.name in found

    def _remembered(
        self, group: str, path: str, *fields: str
    ) -> frozenset[str]:
        """Return the same as :meth:`_discover`, asked for once."""
        found = self._found.get(group, {}).get(path)
        # A group that is not served may be installed at any time.
        if not found:
            found = self._discover(path, *fields)
            self._found.setdefault(group, {})[path] = found
        return found

    def _discover(
        self, path: str, field: str = "versions", key: str = "version"
    ) -> frozenset[str]:
        """Return a field of a discovery document; empty when unserved."""
        answer = self._get(path)
        if answer.status_code == requests.codes.not_found:
            return frozenset()
        responses.raise_for(answer, f"discovery of {path}")
        return frozenset(
            each if isinstance(each, str) else each[key]
            for each in responses.body(answer)[field]
        )
