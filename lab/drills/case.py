# SPDX-License-Identifier: Apache-2.0
"""What all drills have: they say what they see, for a page."""

from __future__ import annotations

import time

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import records


class DrillCase(base.LabCase):
    """A drill; a class is one page's worth."""

    #: The name of its record.
    record = ""

    def setUp(self) -> None:
        super().setUp()
        records.write(self.record, "")
        self._record = records.DIRECTORY / f"{self.record}.txt"
        self._began = time.monotonic()

    def tell(self, text: str) -> None:
        """One line of the record, with the minute and second of the drill."""
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        line = f"{minutes:02}:{seconds:02}  {text}\n"
        print(line, end="", flush=True)
        with self._record.open("a") as stream:
            stream.write(line)
