# SPDX-License-Identifier: Apache-2.0

"""The record of a run: a file with one JSON object in each line.

People and programs read the file. The commands only add lines to it: what is
done already, the clusters themselves say.
"""

from __future__ import annotations

import datetime
import json
import os
from typing import Any

from magnum_capi_helm.cli import base
from magnum_capi_helm.model import errors


class Record:
    """A file that lines are added to, also by several processes.

    :param path: of the file; None: nothing is recorded
    :raises InvalidInput: the file can't be written
    """

    def __init__(self, path: str | None) -> None:
        self._file: int | None = None
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        try:
            if path:
                self._file = os.open(path, flags, 0o640)
        except OSError as error:
            raise errors.InvalidInput(
                f"--record {path}: give a file that you can write "
                f"({error.strerror})"
            ) from None

    def add(self, row: Any, event: str, **more: Any) -> None:
        """Add a line about a cluster.

        :param event: "begun", or the result
        :param more: other keys of the object
        """
        if self._file is None:
            return
        now = datetime.datetime.now(datetime.timezone.utc)
        line = {
            "time": now.isoformat(timespec="seconds"),
            "cluster": row.name or "",
            "uuid": row.uuid,
            "project": row.project_id,
            "event": event,
            **more,
        }
        # One write for each line: the kernel appends it as a whole.
        os.write(self._file, f"{json.dumps(line)}\n".encode())

    def machines(self, row: Any) -> frozenset[str] | None:
        """Return the UIDs of a cluster's machines; None: not recorded.

        Nothing is recorded of machines that can't be read now.
        """
        from magnum_capi_helm.kubernetes import kinds
        from magnum_capi_helm.status import view

        if self._file is None:
            return None
        try:
            release = base.release(row)
            found = release.runtime.management.list(
                kinds.MACHINE,
                release.namespace,
                f"{view.CLUSTER_NAME_LABEL}={release.release}",
                metadata_only=True,
            )
        except errors.CapiHelmError:
            return None
        return frozenset(each["metadata"]["uid"] for each in found)
