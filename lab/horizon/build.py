# SPDX-License-Identifier: Apache-2.0

"""Horizon's virtual environment and static files."""

import pathlib
import secrets

from lab import environment
from lab import layout
from lab import stamps
from lab import tools
from lab import virtualenv

FOLDER = layout.HORIZON
PYTHON = layout.HORIZON_VENV / "bin" / "python"
_HERE = pathlib.Path(__file__).resolve().parent
# Horizon imports the package ``local`` from here.
_PATH = _HERE / "path"
_SETTINGS = _PATH / "local" / "local_settings.py"
_OVERRIDES = _PATH / "local" / "overrides.py"
_REQUIREMENTS = _HERE / "requirements.txt"
_CONSTRAINTS = _HERE / "constraints.txt"
_PACKAGES = "packages.stamp"
_STATIC = "static.stamp"
_KEY = "secret_key"
_PACKAGES_LOG = layout.log("horizon-packages")
_STATIC_LOG = layout.log("horizon-static")


def inputs() -> list[pathlib.Path]:
    """What the running dashboard is made from."""
    return [_REQUIREMENTS, _CONSTRAINTS, _SETTINGS, _OVERRIDES]


def variables() -> dict[str, str]:
    """What its programs have in their environment."""
    return {
        "PYTHONPATH": str(_PATH),
        "DJANGO_SETTINGS_MODULE": "openstack_dashboard.settings",
        "LAB_HORIZON": str(FOLDER),
    }


def packages_ready() -> bool:
    """Whether the environment has what the requirements ask for."""
    return PYTHON.exists() and stamps.fresh(
        _PACKAGES, _packages(), layout.HORIZON_VENV
    )


def _packages() -> str:
    files = [_REQUIREMENTS, _CONSTRAINTS]
    return stamps.fingerprint(virtualenv.version(), files=files)


def install() -> None:
    """Horizon and magnum-ui from PyPI, in an environment of their own."""
    python = virtualenv.create(layout.HORIZON_VENV, _PACKAGES_LOG)
    words = ("-r", _REQUIREMENTS, "-c", _CONSTRAINTS)
    virtualenv.pip(python, _PACKAGES_LOG, *words)
    stamps.write(_PACKAGES, _packages(), layout.HORIZON_VENV)


def static_ready() -> bool:
    """Whether the static files are those of packages and settings."""
    return stamps.fresh(_STATIC, _static(), FOLDER)


def _static() -> str:
    return stamps.fingerprint(_packages(), files=[_SETTINGS])


def write_key() -> None:
    """What sessions are signed with: made once, its owner's alone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / _KEY
    if path.exists() and path.stat().st_size:
        return
    path.touch(mode=0o600)
    path.write_text(secrets.token_urlsafe(48))


def make_static() -> None:
    """Collect styles and scripts of all panels, and compress them."""
    for words in (
        ("collectstatic", "--noinput", "--clear", "-v0"),
        ("compress", "--force", "-v0"),
    ):
        tools.run(
            [PYTHON, "-m", "django", *words],
            log=_STATIC_LOG,
            env=environment.inside(**variables()),
            cwd=FOLDER,
        )
    stamps.write(_STATIC, _static(), FOLDER)
