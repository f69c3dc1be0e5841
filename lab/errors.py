# SPDX-License-Identifier: Apache-2.0

"""What the lab says when something that can be expected to fail fails."""

import pathlib

TAIL_LINES = 15

_HINTS = (
    (
        ("No space left on device", "disk quota exceeded"),
        "Free some disk space and run the command again.",
    ),
    (
        (
            "Temporary failure in name resolution",
            "Name or service not known",
            "Network is unreachable",
            "NewConnectionError",
            "Failed to establish a new connection",
            "Could not find a version that satisfies",
            "no such host",
            "dial tcp",
            "proxyconnect",
            "TLS handshake timeout",
            "i/o timeout",
        ),
        "The package registry can't be reached: check the network, the proxy"
        " variables and the settings of pip and Go, then run the command"
        " again; what was downloaded is kept.",
    ),
    (
        ("Address already in use", "address already in use"),
        "Another process has the port; see who with 'ss -ltnp'.",
    ),
    (
        ("signal: killed", "MemoryError", "Cannot allocate memory"),
        "The machine ran out of memory: the lab wants about 4 GB free.",
    ),
)


class LabError(Exception):
    """A failure that is told to the user in words, without a traceback."""

    def __init__(
        self,
        message: str,
        *,
        log: pathlib.Path | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.log = log
        self.hint = hint


class AbortedError(LabError):
    """The user pressed Ctrl-C, or another step failed first."""

    def __init__(self) -> None:
        super().__init__("interrupted")


def tail(path: pathlib.Path, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of a file; none where it can't be read."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - 64 * 1024))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-lines:]


def guess_hint(text: str) -> str:
    """What to do, as far as a log's words tell it."""
    for words, hint in _HINTS:
        if any(word in text for word in words):
            return hint
    return ""


def render(step: str, error: LabError) -> str:
    """The whole message of a failed step: what, where to look, what to do."""
    lines = [f"FAILED: {step}: {error.message}"]
    hint = error.hint
    if error.log is not None:
        last = tail(error.log)
        lines.append(f"  log: {error.log}")
        lines.extend(f"  | {line}" for line in last)
        hint = hint or guess_hint("\n".join(last))
    if hint:
        lines.append(f"  do: {hint}")
    return "\n".join(lines)
