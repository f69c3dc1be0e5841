# SPDX-License-Identifier: Apache-2.0

"""A checkout of the addon provider, in the place of labinfra's.

It has a virtual environment of its own with its requirements. It stays chosen
until the variable is set to nothing.
"""

import os
import pathlib

from lab import choices
from lab import environment
from lab import errors
from lab import layout
from lab import stamps
from lab import tools
from lab import virtualenv

NAME = "addon-provider"
VARIABLE = "LAB_ADDON_PROVIDER"
CHOICE = choices.Choice(NAME, "")
FOLDER = layout.STATE / "addon-provider-venv"
_MODULE = "capi_addons.operator"
_LOG = layout.log("addon-provider-packages")
_STAMP = "packages.stamp"
# It ends when the API of its CRDs does not answer yet, and a Deployment
# restarts it then.
_ALWAYS = 'while :; do "$0" "$@"; sleep 1; done'


def choose() -> None:
    """Note the checkout that the user's environment names, if it does.

    :raises errors.LabError: that folder is no checkout of it
    """
    asked = os.environ.get(VARIABLE)
    if asked is None:
        return
    if asked:
        asked = os.path.abspath(asked)
        for name in ("capi_addons/operator.py", "requirements.txt"):
            if not (pathlib.Path(asked) / name).is_file():
                raise errors.LabError(
                    f"{VARIABLE}: {asked} has no {name}",
                    hint="Give a checkout of cluster-api-addon-provider, or"
                    " nothing for the addon provider of labinfra.",
                )
    CHOICE.write(asked)


def chosen() -> bool:
    """Return whether the real one runs."""
    return bool(CHOICE.read())


def ready() -> bool:
    """Return whether its packages are installed, if it runs at all."""
    return not chosen() or stamps.fresh(_STAMP, _packages(), FOLDER)


def install() -> None:
    """Install the requirements of the checkout."""
    python = virtualenv.create(FOLDER, _LOG)
    tools.run(
        [*virtualenv.pip(python), "-r", _requirements()],
        log=_LOG,
        env=environment.outside(),
    )
    stamps.write(_STAMP, _packages(), FOLDER)


def argv() -> tuple[str, ...]:
    """Return the command of its Dockerfile, run again when it ends."""
    kopf = str(FOLDER / "bin" / "kopf")
    options = ("--all-namespaces", "--verbose")
    command = (kopf, "run", "--module", _MODULE, *options)
    return ("/bin/sh", "-c", _ALWAYS, *command)


def variables(kubeconfig: pathlib.Path) -> dict[str, str]:
    """Return its environment besides the lab's programs."""
    return {"KUBECONFIG": str(kubeconfig), "PYTHONPATH": CHOICE.read()}


def inputs() -> list[pathlib.Path]:
    """Return the files whose change needs a restart."""
    source = pathlib.Path(CHOICE.read()) / "capi_addons"
    return [FOLDER / _STAMP, *sorted(source.rglob("*.py"))]


def _requirements() -> pathlib.Path:
    return pathlib.Path(CHOICE.read()) / "requirements.txt"


def _packages() -> str:
    return stamps.fingerprint(virtualenv.version(), files=[_requirements()])
