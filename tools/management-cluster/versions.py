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


def main() -> None:
    """Print them; exit code 1 when they are not known."""
    sys.path.insert(0, str(_ROOT))
    # The path has to be there first.
    from magnum_capi_helm.model import versions

    parser = argparse.ArgumentParser()
    parser.add_argument("--chart", default=versions.known_charts()[-1])
    chart = parser.parse_args().chart
    tested = versions.find_tested(chart)
    if tested is None:
        known = ", ".join(versions.known_charts())
        sys.exit(f"error: --chart {chart!r} is not known: give one of {known}")
    print(f"CHART={shlex.quote(chart.removeprefix('v'))}")
    for name, value in dataclasses.asdict(tested).items():
        if isinstance(value, str):
            variable = _NAMES.get(name, name.upper())
            print(f"{variable}={shlex.quote(value)}")


if __name__ == "__main__":
    main()
