# SPDX-License-Identifier: Apache-2.0

"""Which Magnum runs as its own programs: the lab's, or an older one.

An older one has a virtual environment of its own, with this checkout's
driver in it, and a database of its own: no Magnum reads another one's tables.
"""

import dataclasses
import pathlib

from lab import choices
from lab import layout
from lab import stamps
from lab import virtualenv

OWN = "23"
CHOICE = choices.Choice("magnum", OWN)
_STAMP = "installed.stamp"
#: Later ones have no option that Magnum's own code sets until 22.
_MIDDLEWARE = "keystonemiddleware==12.0.0"
_REQUIREMENTS = layout.CHECKOUT / "requirements.txt"
#: What the lab pins in other versions.
_OTHERWISE = ("magnum", "keystonemiddleware")


@dataclasses.dataclass(frozen=True)
class Release:
    """One that is not the lab's own."""

    name: str
    version: str

    @property
    def folder(self) -> pathlib.Path:
        """Its virtual environment."""
        return layout.STATE / f"magnum-{self.name}"

    @property
    def log(self) -> pathlib.Path:
        """What its installation says."""
        return layout.log(f"magnum-{self.name}-packages")

    @property
    def packages(self) -> pathlib.Path:
        """Which changes when what is installed does."""
        return self.folder / _STAMP

    @property
    def ready(self) -> bool:
        """Whether it is installed, and the driver with it."""
        return stamps.fresh(_STAMP, self._fingerprint(), self.folder)

    def install(self) -> None:
        """From PyPI, and the driver from the checkout."""
        python = virtualenv.create(self.folder, self.log)
        pins = self.folder / "constraints.txt"
        pins.write_text(constraints(virtualenv.CONSTRAINTS.read_text()))
        virtualenv.pip(
            python, self.log, "-c", pins, "-r", _REQUIREMENTS, *self._words()
        )
        driver = ("--no-build-isolation", "--no-deps", "-e", layout.CHECKOUT)
        virtualenv.pip(python, self.log, *driver)
        stamps.write(_STAMP, self._fingerprint(), self.folder)

    def _words(self) -> list[str]:
        # The last three build the driver.
        others = ("PyMySQL", "pbr", "setuptools", "wheel")
        return [f"magnum=={self.version}", _MIDDLEWARE, *others]

    def _fingerprint(self) -> str:
        files = [virtualenv.CONSTRAINTS, _REQUIREMENTS]
        files.append(layout.CHECKOUT / "setup.cfg")
        return stamps.fingerprint(
            virtualenv.version(), *self._words(), files=files
        )


OTHERS = {
    name: Release(name, version)
    for name, version in (
        ("20", "20.0.2"),
        ("21", "21.0.1"),
        ("22", "22.0.0"),
    )
}
NAMES = (*OTHERS, OWN)


def constraints(text: str) -> str:
    """The lab's pins without those that an older Magnum has otherwise."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if line.partition("==")[0] not in _OTHERWISE
    )


def other() -> Release | None:
    """What runs in the place of the lab's own."""
    return OTHERS.get(CHOICE.read())


def programs() -> pathlib.Path:
    """The folder of the chosen one's programs."""
    found = other()
    return (found.folder if found else layout.VENV) / "bin"


def packages() -> pathlib.Path:
    """What changes when its packages do."""
    found = other()
    return found.packages if found else virtualenv.PACKAGES


def database() -> str:
    """The name of its database."""
    found = other()
    return f"magnum{found.name}" if found else "magnum"
