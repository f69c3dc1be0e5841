# SPDX-License-Identifier: Apache-2.0

"""What somebody once asked for stays, until another is asked for."""

import dataclasses

from lab import layout


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of several names, kept in a file.

    :param name: of the file, in the lab's folder
    :param default: what runs until somebody asks
    """

    name: str
    default: str

    def read(self) -> str:
        """The one that was asked for last."""
        try:
            return (layout.STATE / self.name).read_text().strip()
        except OSError:
            return self.default

    def write(self, value: str) -> None:
        """Have this one from the next start on."""
        (layout.STATE / self.name).write_text(value)
