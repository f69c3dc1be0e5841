# SPDX-License-Identifier: Apache-2.0

"""A tree of branches as text: plain, or as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator
import io
import json
from typing import TextIO

from rich import console
from rich import live
from rich import text as rich_text
from rich import tree
import yaml

from magnum_capi_helm.status import branch

_STYLES = {
    branch.State.NONE: "",
    branch.State.READY: "green",
    branch.State.UNKNOWN: "yellow",
    branch.State.NOT_READY: "red",
}
#: Of what is not a terminal: nothing is cut or wrapped.
_WIDE = 1_000_000


def shown(found: branch.Branch, form: str) -> str:
    """A tree as text without colours.

    :param form: json, yaml, or anything else for a tree
    """
    if form == "json":
        return f"{json.dumps(found.plain(), indent=2)}\n"
    if form == "yaml":
        return str(yaml.safe_dump(found.plain(), sort_keys=False))
    out = io.StringIO()
    lines = console.Console(file=out, width=_WIDE, color_system=None)
    lines.print(drawn(found), soft_wrap=True)
    return "".join(f"{each.rstrip()}\n" for each in _lines(out))


def _lines(out: io.StringIO) -> Iterator[str]:
    yield from out.getvalue().splitlines()


def draw(found: branch.Branch, stream: TextIO) -> None:
    """Print a tree on a terminal, as wide as that is."""
    console.Console(file=stream).print(drawn(found))


def drawn(found: branch.Branch) -> tree.Tree:
    """A tree for a terminal."""
    root = tree.Tree(_label(found))
    _grow(root, found)
    return root


def fitting(found: branch.Branch, screen: console.Console) -> tree.Tree:
    """The tree; of one that is too long, what is not well all over."""
    whole = drawn(found)
    if len(screen.render_lines(whole, pad=False)) < screen.height:
        return whole
    return drawn(branch.folded(found))


def moving(stream: TextIO) -> live.Live:
    """What is drawn again and again in the same place of a terminal.

    What is longer than the terminal can't be: it ends in dots, until it is
    drawn for the last time.
    """
    screen = console.Console(file=stream)
    return live.Live(
        console=screen, auto_refresh=False, vertical_overflow="ellipsis"
    )


def _grow(root: tree.Tree, found: branch.Branch) -> None:
    for each in found.children:
        _grow(root.add(_label(each)), each)


def _label(found: branch.Branch) -> rich_text.Text:
    """A line. It is no markup: names and messages are other people's."""
    line = rich_text.Text(_clean(f"{found.kind} {found.name}".rstrip()))
    if found.note:
        line.append(f" ({_clean(found.note)})", "dim")
    style = _STYLES[found.state]
    if found.state.value:
        line.append(": ")
        line.append(found.state.value, style)
    if found.reason:
        line.append(f": {_clean(found.reason)}")
    return line


def _clean(text: str) -> str:
    """Nothing that a terminal would obey."""
    return "".join(each if each.isprintable() else "?" for each in text)
