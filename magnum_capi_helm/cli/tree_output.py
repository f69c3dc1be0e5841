# SPDX-License-Identifier: Apache-2.0

"""Draw a cluster's tree, or print it as JSON or YAML."""

from __future__ import annotations

import json
import time
from typing import TextIO

from rich import console
from rich import text as rich_text
from rich import tree as rich_tree
import yaml

from magnum_capi_helm.cli import base
from magnum_capi_helm.status import tree

_STYLES = {
    tree.State.READY: "green",
    tree.State.UNKNOWN: "yellow",
    tree.State.NOT_READY: "red",
}


def format_tree(root: tree.Branch, form: str) -> str:
    """Return a tree as text.

    :param form: json or yaml
    """
    if form == "json":
        return f"{json.dumps(root.as_dict(), indent=2)}\n"
    return str(yaml.safe_dump(root.as_dict(), sort_keys=False))


def draw(root: tree.Branch, stream: TextIO) -> None:
    """Print a tree, wrapped at the width of the terminal or of a pipe."""
    console.Console(file=stream, width=base.width()).print(_tree(root))


def _tree(root: tree.Branch) -> rich_tree.Tree:
    drawn = rich_tree.Tree(_label(root))
    drawn.children.extend(map(_tree, root.children))
    return drawn


def _label(part: tree.Branch) -> rich_text.Text:
    """Return a line without rich's markup, which a name might contain."""
    line = rich_text.Text(_printable(f"{part.kind} {part.name}".rstrip()))
    if part.note:
        line.append(f" ({_printable(part.note)})", "dim")
    if part.state.value:
        line.append(": ")
        line.append(part.state.value, _STYLES[part.state])
    if reason := part.shown_reason:
        line.append(f": {_printable(reason)}{_age(part.reason.since)}")
    return line


def _age(since: float) -> str:
    """Return how long ago a time is; empty if it is 0.

    ``status_reason`` leaves this out: Magnum would save it every minute.
    """
    minutes = (time.time() - since) / 60
    hours = minutes / 60
    text = f"{hours:.0f} hours" if hours > 2 else f"{minutes:.0f} minutes"
    return f", {text} ago" if since else ""


def _printable(text: str) -> str:
    """Replace control characters, which a terminal would obey."""
    return "".join(each if each.isprintable() else "?" for each in text)
