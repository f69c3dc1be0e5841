# SPDX-License-Identifier: Apache-2.0
"""All texts of the product, and whether a quotation is one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import functools
import math
import pathlib
import re

import magnum_capi_helm
from magnum_capi_helm.status import messages

_ROOT = pathlib.Path(magnum_capi_helm.__file__).parent
#: What a text leaves open: {name} of str.format, %s of the log.
_HOLE = re.compile(r"\{\w*\}|%(?:\.\d)?[sdf]")
_OPEN = "\0"
#: What a quotation leaves out, and where one text may end in another.
_JOINT = re.compile(r"=?\.\.\.|: |; | \(|\)")
#: A quotation of fewer letters would be found anywhere.
_LETTERS = 6
#: How many letters of a quotation, or which part of a short one, have to
#: stand in the code.
_ENOUGH = 12
_SHARE = 0.4
#: Words that one hole is filled with, at most.
_FILLED = 8
#: What belongs to the sentence and not to the word.
_PUNCTUATION = ",.;:'\"`()?"
#: A word that stands for another one: a name, a number.
_STANDS_FOR = re.compile(r"[A-Z][A-Z_]*|v?\d[\d-]*|v[XY]")


def _constants(tree: ast.AST) -> Iterator[str]:
    """Texts of a module, documentation aside; ``\\0`` for what is open."""
    passed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            passed.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            passed.update(id(part) for part in node.values)
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else _OPEN
                for part in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in passed
        ):
            yield _HOLE.sub(_OPEN, node.value)


@functools.cache
def _texts() -> tuple[tuple[str, ...], ...]:
    """The words of every text of the product."""
    found = {
        tuple(_words(text))
        for path in sorted(_ROOT.rglob("*.py"))
        if "tests" not in path.relative_to(_ROOT).parts
        for text in _constants(ast.parse(path.read_text()))
    }
    for each in messages.known():
        for text in (each.fact, each.advice):
            found.add(tuple(_words(_HOLE.sub(_OPEN, text))))
    return tuple(words for words in found if words)


def _words(text: str) -> list[str]:
    stripped = (word.strip(_PUNCTUATION) for word in text.split())
    return [word for word in stripped if word]


def parts(quotation: str) -> list[str]:
    """What of a quotation must stand in one text of the code."""
    flat = re.sub(r"\s+", " ", quotation)
    return [
        part.strip(" ,")
        for part in _JOINT.split(flat)
        if sum(map(str.islower, part)) >= _LETTERS
    ]


def known(part: str) -> bool:
    """Whether the code has a text that could read like this.

    A hole stands for some words, but enough of the letters have to be the
    code's own.
    """
    wanted = tuple(_words(part))
    least = min(_ENOUGH, _SHARE * sum(map(_letters, wanted)))
    return any(
        _literal(wanted, text[start:]) >= least
        for text in _texts()
        # A word of the text's own, or one with a hole in it.
        if any(
            word in wanted or (_OPEN in word and _letters(word))
            for word in text
        )
        for start in range(len(text))
    )


def _letters(word: str) -> int:
    return sum(map(str.islower, word))


def _literal(wanted: tuple[str, ...], text: tuple[str, ...]) -> float:
    """How many letters are the text's own if it reads so from its start.

    Minus infinity: it does not read so.
    """
    if not wanted:
        return 0
    if not text:
        # What follows a text may be a name.
        left = all(map(_STANDS_FOR.fullmatch, wanted))
        return 0 if left else -math.inf
    word, rest = text[0], text[1:]
    if _OPEN in word and not _letters(word):
        return max(
            _literal(wanted[count:], rest)
            for count in range(min(_FILLED, len(wanted)) + 1)
        )
    # A quotation may end before the value of an option.
    pattern = re.escape(word).replace(f"={re.escape(_OPEN)}", "(?:=.*)?")
    pattern = pattern.replace(re.escape(_OPEN), ".*")
    if not re.fullmatch(pattern, wanted[0]):
        return -math.inf
    return _letters(word) + _literal(wanted[1:], rest)
