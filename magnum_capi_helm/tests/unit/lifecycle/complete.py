# SPDX-License-Identifier: Apache-2.0

"""A cluster that is complete: made once, and copied for each test.

A copy is what a conductor meets that has just been started: all rows, the
management cluster and OpenStack as they are, and nothing in memory. What is
kept are bytes and a database of its own, which no test can change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import logging
import pathlib
import pickle
import sqlite3
from typing import Any

from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]

from magnum_capi_helm.config import conf


@dataclasses.dataclass(frozen=True)
class _Kept:
    rows: sqlite3.Connection
    fakes: bytes
    charts: dict[str, bytes]
    log: str


_kept: dict[object, _Kept] = {}


def restore(case: Any, key: object, make: Callable[[], object]) -> None:
    """What ``make`` leaves behind; it runs once for each ``key``.

    :param case: a FlowTestCase in which nothing was made yet
    """
    assert not case.management.requests, "it must be the first thing made"
    if key not in _kept:
        make()
        _kept[key] = _keep(case)
        return
    kept = _kept[key]
    with _database() as rows:
        [empty] = rows.execute("SELECT count(*) = 0 FROM cluster_template")
        assert empty == (1,), "it must be the first thing made"
        kept.rows.backup(rows)
    found = pickle.loads(kept.fakes)  # noqa: S301
    for (fake, _), state in zip(_fakes(case), found, strict=True):
        vars(fake).update(state)
    for name, content in kept.charts.items():
        path = _store() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    [handler] = logging.getLogger("magnum_capi_helm").handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.stream.write(kept.log)


def _keep(case: Any) -> _Kept:
    copy = sqlite3.connect(":memory:")
    with _database() as rows:
        rows.backup(copy)
    states = [
        {name: getattr(fake, name) for name in names}
        for fake, names in _fakes(case)
    ]
    charts = {
        str(path.relative_to(_store())): path.read_bytes()
        for path in _store().rglob("*")
        if path.is_file()
    }
    return _Kept(copy, pickle.dumps(states), charts, case.log.output)


@contextlib.contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    borrowed = enginefacade.writer.get_engine().raw_connection()
    try:
        yield borrowed.driver_connection
    finally:
        borrowed.close()


def _store() -> pathlib.Path:
    return pathlib.Path(conf.CONF.capi_helm.chart_store)


def _fakes(case: Any) -> tuple[tuple[Any, tuple[str, ...]], ...]:
    """What creating a cluster changes in the fakes."""
    return (
        (case.server, ("_objects", "_applied", "_revision")),
        (case.management, ("requests",)),
        (case.helm, ("pulls", "upgrades")),
        (case.openstack, ("credentials",)),
        (case.openstack.server_groups, ("groups", "requests")),
    )
