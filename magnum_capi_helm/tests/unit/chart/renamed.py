# SPDX-License-Identifier: Apache-2.0

"""The next chart, which renames three values; one of them is immutable.

What a developer changes for it: three rows of :data:`paths.MOVED`, and the
data of the chart, ``tests/data/value_paths.json``.
"""

from __future__ import annotations

import fixtures
from oslotest import base

from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions
from magnum_capi_helm.tests import value_paths

#: The newest version, and the next one, such as 0.28.0.
LAST = value_paths.chart_versions()[0]
VERSION = f"0.{int(LAST.split('.')[1]) + 1}.0"
_SINCE = versions.Range(since=VERSION)

#: The rows for the source.
MOVED = (
    ("apiServer.loadBalancerProvider", _SINCE, "apiServer.provider"),
    ("addons.reloader.enabled", _SINCE, "addons.restarts.enabled"),
    ("nodeGroups[].machineCount", _SINCE, "nodeGroups[].replicas"),
)
_OLD = {"apiServer.loadBalancerProvider", "addons.reloader.enabled"}
_NEW = {
    "apiServer.provider",
    "addons.restarts.enabled",
    "addons.headlamp.enabled",
}
#: Charts read them without a default.
_COUNTS = {
    "nodeGroups.machineCount": (versions.Range(until=LAST),),
    "nodeGroups.replicas": (_SINCE,),
}


def add_source(case: base.BaseTestCase) -> None:
    """Add the rows to the source."""
    moved = (*paths.MOVED, *MOVED)
    case.useFixture(fixtures.MockPatchObject(paths, "MOVED", moved))


def add_data(case: base.BaseTestCase) -> None:
    """Add the chart to the data."""
    read = {*value_paths.table()["paths"], *_NEW} - _OLD
    new = value_paths.extended(VERSION, read)
    for name, content in (
        ("table", lambda: new),
        ("READ", {**value_paths.READ, **_COUNTS}),
    ):
        case.useFixture(fixtures.MockPatchObject(value_paths, name, content))
    for cached in (value_paths.known, value_paths.is_known):
        cached.cache_clear()
        case.addCleanup(cached.cache_clear)
