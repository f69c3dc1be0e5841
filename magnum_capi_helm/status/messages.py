# SPDX-License-Identifier: Apache-2.0

"""Messages of OpenStack and Cluster API, for the tenant who reads them.

Their messages are those of programs to programmers: Go's chains of errors,
JSON in text, identifiers of requests. The driver keeps the decisive fact of a
known message (which resource, how many, which name) and adds advice. Another
message is passed on in one line, cut, and without secrets.

Texts: Nova's, Neutron's, Cinder's and Octavia's quota errors; Cluster API's
provider for OpenStack 0.10 to 0.15; gophercloud 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable
import functools
import re
from typing import NamedTuple

from magnum_capi_helm.model import encoding

#: Longer ones are cut at a word: the column takes them, terminals don't.
LONGEST = 300


class Known(NamedTuple):
    """A known message.

    :ivar code: never changes: programs of users read it
    :ivar fact: a sentence with named parts of the pattern
    :ivar advice: an action for the tenant
    """

    code: str
    pattern: re.Pattern[str]
    fact: str
    advice: str


@functools.cache
def known() -> tuple[Known, ...]:
    """Return the known messages of messages.yaml, in order."""
    entries = encoding.package_data("status/messages.yaml")
    return tuple(_known(**entry) for entry in entries)


def _known(patterns: list[str], **texts: str) -> Known:
    pattern = re.compile("|".join(patterns), re.IGNORECASE)
    return Known(pattern=pattern, **texts)


_LIST_ITEM = re.compile(r"^\s*\* ")
#: Parts that only programmers read.
_NOISE = re.compile(
    r"\s*\((?:HTTP \d{3}|Request-ID: [\w-]+)\)"
    r"|\s*\breq-[0-9a-f]{8}-[0-9a-f-]{27}\b"
    r"|<[^<>]{1,200}>"
    r"|\bTraceback \(most recent call last\):.*"
)
#: gophercloud's text around the answer of a service.
_ANSWER = re.compile(
    r"(?:Expected HTTP response code \[[\d ]*\] when accessing|[A-Z][a-z ]+"
    r"(?: with)?:) \[[A-Z]+ [^\]]*\],? ?(?:but got (?P<code>\d{3}) instead)?"
    r"(?:error message)?:?"
)
#: The sentence inside a service's JSON.
_INNER = re.compile(
    r"\"(?:message|faultstring)\"\s*:\s*\"((?:[^\"\\]|\\.)+)\""
)
_JSON = re.compile(r"\{\s*\".*\}", re.DOTALL)
#: Tokens of Keystone and of Kubernetes.
_TOKEN = re.compile(r"\b(?:gAAAA|eyJ)[\w=.-]{16,}|(?<=earer )\S+")
_QUERY = re.compile(r"(https?://[^\s\"'?\]]+)\?[^\s\"'\]]*")


def plain(text: str) -> str:
    """Return one sentence of at most :data:`LONGEST` characters."""
    return explained(text)[0]


@functools.lru_cache(maxsize=1024)
def explained(text: str) -> tuple[str, str]:
    """Return one sentence, and the code of a known message or nothing."""
    masked = _TOKEN.sub(encoding.MASK, encoding.mask_values(_one_line(text)))
    clean = _QUERY.sub(r"\1", masked)
    inner = _INNER.search(clean)
    # A pattern that matches the wrapper alone would hide the service's words.
    said = inner[1] if inner else clean
    for each in known():
        if match := each.pattern.search(said):
            fact = each.fact.format(**match.groupdict(""))
            sentence = " ".join(f"{fact}: {each.advice}".split())
            return cut(sentence.replace(" :", ":")), each.code
    return cut(_shortened(clean)), ""


def first(texts: Iterable[str]) -> str:
    """Return the first text that is not empty, or an empty one."""
    return next(filter(None, texts), "")


def cut(text: str) -> str:
    """Return a text, cut behind a word if it is too long."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 3].rsplit(" ", 1)[0].rstrip(" ,;:") + "..."


def _one_line(text: str) -> str:
    """Join the lines of a text; items of a list are separated by "; "."""
    lines = [_LIST_ITEM.sub("", each).strip() for each in text.splitlines()]
    joined = ""
    for line in filter(None, lines):
        is_item = f"* {line}" in text and not joined.endswith(":")
        joined += ("; " if joined and is_item else " ") + line
    return " ".join(joined.split())


def _shortened(text: str) -> str:
    """Return an unknown message without its technical parts."""
    inner = _INNER.search(text)
    sentence = inner[1].replace('\\"', '"') if inner else ""
    short = _JSON.sub(sentence.replace("\\n", " "), text)
    short = _ANSWER.sub(
        lambda m: f"OpenStack answered {m['code'] or 'with an error'}:", short
    )
    return " ".join(_NOISE.sub("", short).split()).rstrip(" :;")
