# SPDX-License-Identifier: Apache-2.0

"""The dashboard as a service, and what has to be done before it starts."""

from collections.abc import Callable
import pathlib

from lab import debian
from lab import service
from lab import steps
from lab.horizon import build

PORT = 8880
URL = f"http://127.0.0.1:{PORT}/"
NAME = "horizon"
#: For who has no browser here, and for the tests.
CHROMIUM = pathlib.Path("/usr/bin/chromium")
# Without a font, a browser shows none of the letters.
_FONT = pathlib.Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
_SCRIPT = pathlib.Path(__file__).resolve().parent / "serve.py"
_CHROMIUM = "Chromium"
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
    if without_browser() and debian.installable():
        # Two runs of apt-get are in each other's way.
        found.append(_step(_CHROMIUM, _install_browser, "Debian packages"))
    if not build.packages_ready():
        found.append(_step(_PACKAGES, build.install))
    if not build.static_ready():
        found.append(_step(_STATIC, build.make_static, _PACKAGES))
    one = server()
    if not one.running:
        found.append(_step(NAME, one.start, _STATIC))
    return found


def without_browser() -> list[str]:
    """Packages that a browser on this machine lacks: for the tests alone."""
    return debian.missing({"chromium": CHROMIUM, "fonts-dejavu-core": _FONT})


def advice() -> str:
    """How to use it, in lines for the user's terminal."""
    lines = [f"  Horizon:    {URL} (demo or admin, password lab)"]
    names = without_browser()
    if names:
        lines.append(
            f"  No browser for its tests; as root: {debian.command(names)}"
        )
    return "\n".join(lines)


def _install_browser() -> None:
    debian.install(without_browser())


def _step(name: str, action: Callable[[], None], *needs: str) -> steps.Step:
    return steps.Step(name, lambda say: action(), frozenset(needs))
