# SPDX-License-Identifier: Apache-2.0

"""The dashboard as a service, and what has to be done before it starts."""

import pathlib

from lab import service
from lab import steps
from lab.horizon import build

PORT = 8880
URL = f"http://127.0.0.1:{PORT}/"
NAME = "horizon"
_SCRIPT = pathlib.Path(__file__).resolve().parent / "serve.py"
_PACKAGES = "Horizon's packages"
_STATIC = "Horizon's static files"


def server() -> service.Service:
    """Horizon and its static files, on loopback alone."""
    return service.Service(
        NAME,
        # -P: the name of the script's own folder is that of its package.
        (str(build.PYTHON), "-P", str(_SCRIPT), str(PORT)),
        layer=9,
        ports=(PORT,),
        probe=service.answers(f"{URL}auth/login/", strict=True),
        env=build.variables(),
        inputs=lambda: [*build.inputs(), _SCRIPT],
        grace=5.0,
    )


def todo() -> list[steps.Step]:
    """The steps that have something to do."""
    found = []
    if not build.packages_ready():
        found.append(steps.step(_PACKAGES, build.install))
    if not build.static_ready():
        found.append(steps.step(_STATIC, build.make_static, _PACKAGES))
    one = server()
    if not one.running:
        found.append(steps.step(NAME, one.start, _STATIC))
    return found
