# SPDX-License-Identifier: Apache-2.0

"""Import time and construction of Driver, of each driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import json
import statistics

from bench import drivers
from bench import kinds
from bench import magnum_rows
from bench import places
from lab import layout
from lab import tools

_SCRIPT = layout.CHECKOUT / "bench" / "imported.py"
_MODULES = {
    kinds.NEW: "magnum_capi_helm.driver",
    kinds.BEFORE: "magnum_capi_helm.driver",
    kinds.OLD: "magnum_capi_helm.driver",
    kinds.NONE: "bench.noop",
}


def run(times: int, names: Iterable[str], say: Callable[[str], None]) -> None:
    """Say the medians over so many new processes of each driver."""
    places.log("magnum").parent.mkdir(parents=True, exist_ok=True)
    magnum_rows.configure({})
    found: dict[str, list[dict[str, float]]] = {}
    # The first round compiles.
    for number in range(times + 1):
        for name in names:
            module = _MODULES[name]
            words = drivers.command(name, _SCRIPT)
            said = tools.output(
                [*words, places.MAGNUM_CONF, module],
                env=drivers.environ(name),
                cwd=places.STATE,
            )
            last = json.loads(said.strip().splitlines()[-1])
            if number:
                found.setdefault(name, []).append(last)
    for name, listed in found.items():
        median = {
            key: statistics.median(each[key] for each in listed)
            for key in listed[0]
        }
        say(
            f"{name:>6}: import {median['import'] * 1e3:.1f} ms"
            f" ({median['modules']:.0f} modules),"
            f" Driver() {median['driver'] * 1e6:.1f} us"
        )
