# SPDX-License-Identifier: Apache-2.0

"""Measure importing a driver and making a Driver, beyond Magnum's part.

The script of one measurement; :mod:`bench.imports` runs it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

# Before any library of oslo: Magnum selects a backend of oslo.service.
from magnum.common import service as magnum_service  # isort: skip

# What Magnum's processes have imported before they load drivers.
import magnum.conductor.monitors
import magnum.drivers.common.driver  # noqa: F401

#: Constructions that one time is the mean of.
_TIMES = 200


def main(config: str, module: str) -> None:
    """Print the times and the number of modules that came along."""
    magnum_service.prepare_service(["magnum", "--config-file", config])
    before = len(sys.modules)
    started = time.perf_counter()
    found = importlib.import_module(module)
    imported = time.perf_counter() - started
    modules = len(sys.modules) - before
    started = time.perf_counter()
    for _ in range(_TIMES):
        found.Driver()
    made = (time.perf_counter() - started) / _TIMES
    answer = {"import": imported, "driver": made, "modules": modules}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
