# SPDX-License-Identifier: Apache-2.0

"""SHA-256 of files, recorded beside them: ``<file>.sha256``.

The records are in the format of sha256sum, so ``sha256sum --check`` can read
them. They find what broke on a disk or on the way, not a forger: whoever can
write the file can write its record.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import threading

#: Size, time of the last change in ns, and inode: what tells, at the cost of
#: one system call, that a file is still the one that was read.
_Looks = tuple[int, int, int]


class DamagedError(Exception):
    """A file is not what its record says."""


class Checksums:
    """The checksums that this process knows to be right."""

    def __init__(self) -> None:
        self._known: dict[pathlib.Path, tuple[_Looks, str]] = {}

    def verify(self, file: pathlib.Path, *, record: bool = True) -> str:
        """Return the checksum; read the file once per process and change.

        :param record: write a record of a file that has none, which an
            operator put there by hand
        :raises DamagedError: the file is not what was recorded
        :raises OSError: the file can't be read
        """
        looks = _looks(file)
        known = self._known.get(file)
        if known is not None and known[0] == looks:
            return known[1]
        found = digest(file)
        if wanted := recorded(file):
            if wanted != found:
                raise DamagedError
        elif record:
            # A process that can't write it trusts the file as it is.
            with contextlib.suppress(OSError):
                write(file, found)
        else:
            return found
        self._known[file] = (looks, found)
        return found


def write(file: pathlib.Path, checksum: str) -> None:
    """Write the checksum of a file beside it, whole or not at all."""
    target = path_of(file)
    writer = f"{os.getpid()}-{threading.get_ident()}"
    staged = target.with_name(f".{target.name}.{writer}")
    staged.write_text(f"{checksum}  {file.name}\n")
    os.replace(staged, target)


def path_of(file: pathlib.Path) -> pathlib.Path:
    """Where the checksum of a file is recorded."""
    return file.with_name(f"{file.name}.sha256")


def digest(file: pathlib.Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def recorded(file: pathlib.Path) -> str:
    """What the record says; empty when there is none."""
    try:
        text = path_of(file).read_text()
    except FileNotFoundError:
        return ""
    return (text.split() or ["an empty record"])[0].lower()


def _looks(file: pathlib.Path) -> _Looks:
    found = file.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino
