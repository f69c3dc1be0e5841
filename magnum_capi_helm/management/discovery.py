# SPDX-License-Identifier: Apache-2.0

"""Which version of each kind to use on a management cluster.

Each group is discovered once, and again after something in it was not
found: a provider may have been upgraded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading
from typing import Any

import requests

from magnum_capi_helm.management import answers
from magnum_capi_helm.management import kinds


class Versions:
    """What one management cluster serves, shared by all threads.

    :param get: reads a path from the root of the API
    :param pinned: ``[capi_helm] api_resources``: what the operator chose,
        by kind
    """

    def __init__(
        self,
        get: Callable[[str], Any],
        pinned: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._get = get
        self._lock = threading.Lock()
        self._known: dict[str, frozenset[str]] = {}
        self._pinned = {
            kinds.LEGACY_NAMES[name].name: entry
            for name, entry in pinned.items()
            if name in kinds.LEGACY_NAMES
        }

    def of(self, kind: kinds.Kind) -> str:
        """``group/version`` of a kind; empty when none is served.

        :raises ManagementUnreachable: no answer
        """
        if kind.fixed:
            return "/".join(filter(None, (kind.group, kind.versions[0])))
        pinned = self._pinned.get(kind.name, {}).get("api_version")
        if pinned:
            return pinned
        served = self._served(kind.group)
        for version in kind.versions:
            if version in served:
                return f"{kind.group}/{version}"
        return ""

    def plural(self, kind: kinds.Kind) -> str:
        """The kind's name in a path."""
        return self._pinned.get(kind.name, {}).get("plural_name", kind.plural)

    def of_group(self, group: str) -> dict[str, frozenset[str]]:
        """Versions by the name of the kind, of all that a group serves.

        Asked anew: whoever asks has reason to think that it changed. A
        version may be served for some kinds and not for others.

        :param group: empty for the core group
        :raises ManagementUnreachable: no answer
        """
        found: dict[str, set[str]] = {}
        root = f"/apis/{group}" if group else "/api"
        for version in sorted(self._listed(root)):
            listed = self._listed(f"{root}/{version}", "resources", "kind")
            for kind in listed:
                found.setdefault(kind, set()).add(version)
        return {kind: frozenset(each) for kind, each in found.items()}

    def _listed(
        self, path: str, what: str = "versions", key: str = "version"
    ) -> frozenset[str]:
        """What discovery lists at a path; nothing where it is not served."""
        answer = self._get(path)
        if answer.status_code == requests.codes.not_found:
            return frozenset()
        answers.raise_for(answer, f"discovery of {path}")
        return frozenset(
            each if isinstance(each, str) else each[key]
            for each in answers.body(answer)[what]
        )

    def forget(self, kind: kinds.Kind) -> None:
        """Discover the kind's group again, next time."""
        with self._lock:
            self._known.pop(kind.group, None)

    def _served(self, group: str) -> frozenset[str]:
        found = self._known.get(group)
        if found is None:
            answer = self._get(f"/apis/{group}")
            if answer.status_code == requests.codes.not_found:
                # Not remembered: it may be installed at any time.
                return frozenset()
            answers.raise_for(answer, f"discovery of {group}")
            found = frozenset(
                each["version"] for each in answers.body(answer)["versions"]
            )
            with self._lock:
                self._known[group] = found
        return found
