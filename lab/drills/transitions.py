# SPDX-License-Identifier: Apache-2.0
"""Each change of a cluster's status, as Magnum's database sees it."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from typing import Any

import psycopg2
import psycopg2.extras
import sqlalchemy

from magnum_capi_helm.tests.functional import database

_BUSY = "UPDATE_IN_PROGRESS"
_TABLE = """
CREATE TABLE transitions (id serial, uuid text, was text, became text,
  at float DEFAULT extract(epoch FROM clock_timestamp()));
CREATE FUNCTION note_transition() RETURNS trigger AS $$
BEGIN
  INSERT INTO transitions (uuid, was, became)
    VALUES (NEW.uuid, OLD.status, NEW.status);
  RETURN NULL;
END $$ LANGUAGE plpgsql;
CREATE TRIGGER note_transition AFTER UPDATE ON cluster FOR EACH ROW
WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION note_transition();
"""
_DROP = (
    "DROP FUNCTION IF EXISTS note_transition CASCADE;"
    "DROP TABLE IF EXISTS transitions"
)
_READ = "SELECT uuid, was, became, at FROM transitions WHERE at >= %s ORDER BY"


@dataclasses.dataclass(frozen=True)
class Transition:
    """A status that a cluster got.

    :param at: seconds since 1970
    """

    uuid: str
    was: str
    became: str
    at: float

    @property
    def begins(self) -> bool:
        """Return whether an update begins."""
        return self.became == _BUSY

    @property
    def ends(self) -> bool:
        """Return whether an update ends."""
        return self.was == _BUSY


class Transitions:
    """All of them since this was made, written by a trigger."""

    def __init__(self) -> None:
        url = sqlalchemy.make_url(database.url())
        self._connection = psycopg2.connect(
            url.set(drivername="postgresql").render_as_string(False)
        )
        self._connection.autocommit = True
        self._run(_DROP)
        self._run(_TABLE)

    def close(self) -> None:
        """Remove the trigger."""
        self._run(_DROP)
        self._connection.close()

    def since(self, moment: float) -> list[Transition]:
        """Return them in their order.

        :param moment: seconds since 1970
        """
        found = self._run(f"{_READ} id", moment)
        return [Transition(**each) for each in found]

    def _run(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        factory = psycopg2.extras.RealDictCursor
        with self._connection.cursor(None, factory) as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []


def most_at_once(found: list[Transition]) -> int:
    """Return how many clusters were in progress at a time."""
    return max(_counts(found), default=0)


def _counts(found: list[Transition]) -> Iterator[int]:
    busy: set[str] = set()
    for each in found:
        if each.begins:
            busy.add(each.uuid)
        elif each.ends:
            busy.discard(each.uuid)
        yield len(busy)
