# SPDX-License-Identifier: Apache-2.0

"""The lab's chart in a chart repository of its own, on loopback."""

import shutil

from lab import layout
from lab import service
from lab import stamps
from lab import tools

NAME = "openstack-cluster"
VERSION = "0.27.0"
#: The same chart under an older version as well, to upgrade from.
_VERSIONS = ("0.26.1", VERSION)
PORT = 8879
URL = f"http://127.0.0.1:{PORT}"
SOURCE = layout.SOURCE / "chart" / NAME
_LOG = layout.log("package-chart")


def _stamp() -> str:
    files = [path for path in SOURCE.rglob("*") if path.is_file()]
    names = (str(path.relative_to(SOURCE)) for path in sorted(files))
    return stamps.fingerprint(*_VERSIONS, URL, *names, files=files)


def ready() -> bool:
    """Whether the repository holds the chart as it is in the checkout."""
    index = layout.CHARTS / "index.yaml"
    return index.exists() and stamps.fresh("chart", _stamp())


def package() -> None:
    """Package the chart and write the repository's index.

    Whoever keeps a local copy of the packaged chart would go on with the old
    one: the driver's chart store is emptied.
    """
    layout.CHARTS.mkdir(parents=True, exist_ok=True)
    helm = layout.BIN / "helm"
    for version in _VERSIONS:
        tools.run(
            [
                helm,
                "package",
                SOURCE,
                f"--version={version}",
                f"--destination={layout.CHARTS}",
            ],
            log=_LOG,
        )
    tools.run([helm, "repo", "index", layout.CHARTS, "--url", URL], log=_LOG)
    shutil.rmtree(layout.CHART_STORE, ignore_errors=True)
    stamps.write("chart", _stamp())


def server() -> service.Service:
    """The repository: static files."""
    return service.Service(
        "charts",
        (
            str(layout.PYTHON),
            "-m",
            "http.server",
            str(PORT),
            "--bind=127.0.0.1",
            f"--directory={layout.CHARTS}",
        ),
        layer=6,
        ports=(PORT,),
        probe=service.answers(f"{URL}/index.yaml", strict=True),
    )
