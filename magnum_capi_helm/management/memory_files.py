# SPDX-License-Identifier: Apache-2.0

"""Files that end with the process, however it ends.

TLS libraries read certificates and keys from files alone. What is written to
a directory is still there after a process was killed. These files are in
memory (memfd_create(2)), have no name in any directory, and only processes of
the same user can open them, by the number they have here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
import os
import weakref

_FOLDER = "/proc/self/fd/"


class Files:
    """Files that are there for as long as this object is."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        weakref.finalize(self, _close, self._open)

    def write(self, name: str, content: bytes) -> str:
        """The path of a new file.

        :param name: for who looks at the process; it is not in the path
        """
        # Not inherited by helm and plugins: it is closed on exec.
        number = os.memfd_create(name)
        self._open.add(number)
        os.fchmod(number, 0o600)
        with open(number, "wb", closefd=False) as sink:
            sink.write(content)
        return f"{_FOLDER}{number}"

    def forget(self, paths: Collection[str]) -> None:
        """Close those that are files of this object.

        Another file may get such a path again.
        """
        gone = {each for each in self._open if f"{_FOLDER}{each}" in paths}
        self._open -= gone
        _close(gone)


def _close(numbers: Iterable[int]) -> None:
    for each in numbers:
        os.close(each)
