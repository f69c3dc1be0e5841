# SPDX-License-Identifier: Apache-2.0

"""``rows``: how many rows each OpenStack service has, now and before."""

from collections.abc import Iterator, Mapping
import json
import pathlib

from lab.cloud import catalogue
from lab.cloud import rows

#: Name of a kind -> ID of a row -> its name.
Look = Mapping[str, Mapping[str, str]]


def run(keep: pathlib.Path | None, since: pathlib.Path | None) -> int:
    """Print the table; return 1 if a row came that has no excuse.

    :param keep: write the rows to this file
    :param since: compare with the rows in this file
    """
    now = look()
    if keep:
        keep.write_text(json.dumps(now, indent=1))
    before: Look = json.loads(since.read_text()) if since else now
    print("\n".join(table(before, now)))
    return 1 if any(came(before, now)) else 0


def look() -> Look:
    """Return every row that there is now."""
    cloud = rows.Cloud(catalogue.connect("admin").session)
    return {
        kind: {str(row["id"]): rows.called(row) for row in listed}
        for kind, listed in cloud.all_rows().items()
    }


def came(before: Look, now: Look) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each new row that has no excuse."""
    for kind, listed in now.items():
        for id_ in sorted(listed.keys() - before.get(kind, {}).keys()):
            if (kind, listed[id_]) not in rows.EXCUSED:
                yield kind, listed[id_]


def table(before: Look, now: Look) -> Iterator[str]:
    """Yield the lines of the table, new rows and excuses below it."""
    yield f"{'':26}{'BEFORE':>8}{'NOW':>8}"
    for kind, listed in now.items():
        yield f"{kind:26}{len(before.get(kind, {})):>8}{len(listed):>8}"
    for kind, name in came(before, now):
        yield f"new in {kind}: {name}"
    for (kind, name), why in rows.EXCUSED.items():
        yield f"may come in {kind}: {name} ({why})"
