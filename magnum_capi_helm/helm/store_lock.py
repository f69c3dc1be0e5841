# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Who writes to the chart store: one thread of one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import fcntl
import pathlib
import threading
import time
from typing import IO

from magnum_capi_helm import exceptions

#: Seconds between two tries to get the lock, and until giving up: longer than
#: any run of helm.
_PAUSE = 0.1
_LONGEST_WAIT = 900.0


class StoreLock:
    """The lock of a store.

    :param directory: made on first use
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._threads = threading.Lock()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Have the lock until the block ends.

        Threads wait for a lock of their own first, and nobody waits in the
        kernel: under eventlet that would stop the thread that is waited for.

        :raises ChartUnavailable: another process has it and keeps it
        :raises NotConfigured: the store can't be written
        """
        give_up = time.monotonic() + _LONGEST_WAIT
        # Closing the file lets go of the lock.
        with self._threads, self._file() as file:
            while not _locked(file.fileno()):
                if time.monotonic() > give_up:
                    raise exceptions.ChartUnavailable(
                        f"another process has kept {file.name} locked for "
                        f"{_LONGEST_WAIT / 60:.0f} minutes: look for a helm "
                        "that does not end"
                    )
                time.sleep(_PAUSE)
            yield

    def _file(self) -> IO[str]:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            return open(self._directory / ".lock", "a")
        except OSError as error:
            raise exceptions.NotConfigured(
                f"the chart store {self._directory} can't be written "
                f"({error.strerror}); see [capi_helm] chart_store"
            ) from error


def _locked(descriptor: int) -> bool:
    """Try to get the lock of a file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
