# SPDX-License-Identifier: Apache-2.0

"""Puts a driver that does nothing in the place of this one.

It is found as any other: by an entry point, in a distribution of its own
that lies in the lab's environment for as long as it is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import pathlib
import shutil

from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.measured import nothing_driver

_NAME = "lab_nothing"
#: Of the driver in whose place it is.
_REAL = "k8s_capi_helm_v1"


@contextlib.contextmanager
def installed() -> Iterator[dict[str, str]]:
    """In the lab's environment; yields the options of [drivers] for it."""
    found = programs.run(
        str(programs.LAB / "venv" / "bin" / "python"),
        "-c",
        "import sysconfig; print(sysconfig.get_path('purelib'))",
    )
    home = pathlib.Path(found.strip()) / f"{_NAME}-1.dist-info"
    home.mkdir(exist_ok=True)
    try:
        (home / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: 1\n"
        )
        (home / "entry_points.txt").write_text(
            f"[magnum.drivers]\n{_NAME} = {nothing_driver.__name__}:Driver\n"
        )
        yield {"disabled_drivers": _REAL}
    finally:
        shutil.rmtree(home)
