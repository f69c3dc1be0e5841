#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The versions of one chart, as assignments for a shell to evaluate.

``versions.yaml`` is read by the package's own module; nothing of
it is installed for that.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import shlex
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
#: In the shell, JANITOR says whether there is to be one.
_NAMES = {"janitor": "JANITOR_VERSION"}


def main() -> int:
    """Print them; exit code 1 when they are not known."""
    sys.path.insert(0, str(_ROOT))
    # The path has to be there first.
    from magnum_capi_helm.model import versions

    parser = argparse.ArgumentParser()
    parser.add_argument("--chart", help="default: the newest")
    wanted = parser.parse_args().chart
    releases = versions.tested_releases()
    charts = [each for release in releases for each in release.charts]
    chart = wanted.removeprefix("v") if wanted else charts[-1]
    for release in releases:
        if chart in release.charts:
            _show(chart, dataclasses.asdict(release))
            return 0
    return _fail(
        f"--chart {wanted!r} is not known: give one of {', '.join(charts)}"
    )


def _show(chart: str, fields: dict[str, object]) -> None:
    print(f"CHART={shlex.quote(chart)}")
    for name, value in fields.items():
        if isinstance(value, str):
            variable = _NAMES.get(name, name.upper())
            print(f"{variable}={shlex.quote(value)}")


def _fail(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
