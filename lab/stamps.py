# SPDX-License-Identifier: Apache-2.0

"""Stamps: what a finished step was made from.

A step is skipped while the stamp it left equals the fingerprint of its inputs
as they are now. A stamp is written only after the step succeeded, so an
interrupted step is done again.
"""

from collections.abc import Iterable
import hashlib
import pathlib

from lab import layout


def fingerprint(*words: str, files: Iterable[pathlib.Path] = ()) -> str:
    """A digest of the words and of the names and contents of the files."""
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode() + b"\0")
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def fresh(name: str, value: str, folder: pathlib.Path = layout.STAMPS) -> bool:
    """Whether the step of this name was last done with this value."""
    try:
        return (folder / name).read_text() == value
    except OSError:
        return False


def write(name: str, value: str, folder: pathlib.Path = layout.STAMPS) -> None:
    """Remember that the step is done."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(value)
