# SPDX-License-Identifier: Apache-2.0

"""The lab's own virtual environment, and the driver inside it."""

import os
import pathlib
import shutil
import sys

from lab import environment
from lab import errors
from lab import layout
from lab import stamps
from lab import tools

REQUIREMENTS = layout.SOURCE / "requirements.txt"
CONSTRAINTS = layout.SOURCE / "constraints.txt"
# The stamps stand inside the environment that they speak of.
PACKAGES = layout.VENV / "packages.stamp"
DRIVER = layout.VENV / "driver.stamp"
_LOG = layout.log("packages")
_DRIVER_INPUTS = ("setup.cfg", "setup.py", "pyproject.toml")


def pip(
    python: pathlib.Path, log: pathlib.Path, *words: str | pathlib.Path
) -> None:
    """Install: quiet, without questions, wheels if there are any."""
    options = ["--disable-pip-version-check", "--no-input", "-q"]
    # What is imported is compiled then; most never is.
    options += ["--prefer-binary", "--no-compile"]
    tools.run(
        [python, "-m", "pip", "install", *options, *words],
        log=log,
        env=environment.outside(),
    )


def version() -> str:
    """The Python that runs us, to its minor number."""
    return ".".join(str(number) for number in sys.version_info[:2])


def _packages() -> str:
    return stamps.fingerprint(version(), files=[REQUIREMENTS, CONSTRAINTS])


def _driver() -> str:
    names = (*_DRIVER_INPUTS, "requirements.txt")
    files = [layout.CHECKOUT / name for name in names]
    files = [path for path in files if path.exists()]
    return stamps.fingerprint(_packages(), str(layout.CHECKOUT), files=files)


def packages_ready() -> bool:
    """Whether the environment has what the requirements ask for."""
    return layout.PYTHON.exists() and stamps.fresh(
        PACKAGES.name, _packages(), layout.VENV
    )


def usable() -> bool:
    """Whether the environment was once complete, if not up to date."""
    return layout.PYTHON.exists() and PACKAGES.exists()


def driver_ready() -> bool:
    """Whether the driver is installed from this checkout as it is."""
    return packages_ready() and stamps.fresh(
        DRIVER.name, _driver(), layout.VENV
    )


def create(folder: pathlib.Path, log: pathlib.Path) -> pathlib.Path:
    """Make a virtual environment; returns its interpreter."""
    python = folder / "bin" / "python"
    if not _usable(folder):
        shutil.rmtree(folder, ignore_errors=True)
        _need_venv(log)
        tools.run(
            [sys.executable, "-m", "venv", folder],
            log=log,
            env=environment.outside(),
        )
    return python


def _usable(folder: pathlib.Path) -> bool:
    """Whether it is complete and for the Python that runs us."""
    try:
        text = (folder / "pyvenv.cfg").read_text()
    except OSError:
        return False
    has_pip = any((folder / "bin").glob("pip*"))
    return has_pip and f"version = {version()}." in text


def _need_venv(log: pathlib.Path) -> None:
    """Debian and Ubuntu ship Python without what makes environments."""
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        pass
    else:
        return
    package = f"python{version()}-venv"
    if os.getuid() or not shutil.which("apt-get"):
        raise errors.LabError(
            "this Python can't make virtual environments",
            hint=f"sudo apt-get install -y {package}",
        )
    env = environment.outside(DEBIAN_FRONTEND="noninteractive")
    tools.run(["apt-get", "update", "-q"], log=log, env=env)
    tools.run(["apt-get", "install", "-q", "-y", package], log=log, env=env)


def install_packages() -> None:
    """Everything of PyPI that the lab runs; wheels only, no compiler."""
    python = create(layout.VENV, _LOG)
    pip(python, _LOG, "-r", REQUIREMENTS, "-c", CONSTRAINTS)
    stamps.write(PACKAGES.name, _packages(), layout.VENV)


def install_driver() -> None:
    """The driver from the checkout, editable: changes need a restart only."""
    words = ("--no-build-isolation", "-c", CONSTRAINTS, "-e", layout.CHECKOUT)
    pip(layout.PYTHON, _LOG, *words)
    stamps.write(DRIVER.name, _driver(), layout.VENV)
