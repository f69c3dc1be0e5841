# SPDX-License-Identifier: Apache-2.0

"""Which of Magnum's objects a command makes, changes or deletes."""

from __future__ import annotations

import dataclasses
import re
import shlex

from lab.documents import commands

_CLUSTER = {
    ("cluster", "create"): "create",
    ("cluster", "delete"): "delete",
    ("cluster", "resize"): "change",
    ("cluster", "update"): "change",
    ("cluster", "upgrade"): "change",
    ("credential", "rotate"): "change",
    ("nodegroup", "create"): "change",
    ("nodegroup", "delete"): "change",
    ("nodegroup", "update"): "change",
}
_LOOK = re.compile(r"openstack coe \w+( template)? (show|list)\b")


@dataclasses.dataclass(frozen=True)
class Change:
    """What a command does to a cluster, or to a template."""

    verb: str
    name: str


def of_template(command: str) -> Change | None:
    """What a command does to a cluster template."""
    words = _words(command)
    if words[:4] == ["openstack", "coe", "cluster", "template"]:
        return _named(words[4], words[5:])
    return None


def of_cluster(command: str) -> Change | None:
    """What a command does to a cluster; None: nothing."""
    words = _words(command)
    if words[:2] != ["openstack", "coe"]:
        return None
    verb = _CLUSTER.get((words[2], words[3]))
    return _named(verb, words[4:]) if verb else None


def looks(command: str) -> bool:
    """Whether it shows things as they are at the moment, in any state."""
    return bool(_LOOK.match(commands.one_line(command)))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(commands.one_line(command))
    except ValueError:
        return []


def _named(verb: str, words: list[str]) -> Change | None:
    """The name is what comes first."""
    return Change(verb, words[0]) if words else None
