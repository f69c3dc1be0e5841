# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Tables of faults and how they ended, from what the tests kept.

``python3 -m magnum_capi_helm.tests.chaos.table``, after the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import json
import pathlib
import sys

from magnum_capi_helm.tests.chaos import columns
from magnum_capi_helm.tests.chaos import endings
from magnum_capi_helm.tests.chaos import steps
from magnum_capi_helm.tests.chaos import story

_CHECKOUT = pathlib.Path(__file__).parents[3]
RESULTS = _CHECKOUT / ".lab" / "chaos.jsonl"
COMPARED = _CHECKOUT / ".lab" / "chaos-compared.jsonl"
#: Characters of a reason.
_LONGEST = 120
_HEAD = """\
.. Written by "python3 -m magnum_capi_helm.tests.chaos.table".
"""


def tables(
    cells: Sequence[story.Cell], ended: Sequence[endings.Ending] = ()
) -> str:
    """Of what was run several times, the last run."""
    last = {(each.operation, each.step, each.fault): each for each in cells}
    parts = [_HEAD, *_summary(list(last.values()))]
    for title, known in (
        ("Requests to the management cluster", steps.KUBERNETES),
        ("Requests to Keystone", steps.KEYSTONE),
    ):
        rows = [
            (operation, step.name)
            for operation, choice in known.items()
            for step in choice
        ]
        met = {key[2] for key in last if key[:2] in rows}
        names = [each.name for each in columns.COLUMNS if each.name in met]
        if names:
            parts += _table(title, rows, names, last)
    around = [each for each in last.values() if not each.fault]
    if around:
        parts += _around(around)
    if ended:
        parts += _compared(ended)
    return "\n".join(parts)


def _summary(cells: Sequence[story.Cell]) -> Iterable[str]:
    counts = {
        ended: sum(each.ended == ended for each in cells)
        for ended in (story.DONE, story.FAILED, story.LOST, story.STUCK)
    }
    yield (
        f"{len(cells)} operations with a fault: {counts[story.DONE]} done, "
        f"{counts[story.FAILED]} failed with a reason and done when asked "
        f"again, {counts[story.LOST]} lost by Magnum, {counts[story.STUCK]} "
        "stuck."
    )
    yield ""


def _table(
    title: str,
    rows: Sequence[tuple[str, str]],
    names: Sequence[str],
    last: dict[tuple[str, str, str], story.Cell],
) -> Iterable[str]:
    yield f".. list-table:: {title}"
    yield "   :header-rows: 1"
    yield "   :stub-columns: 1"
    yield ""
    yield from _row(["Step", *names])
    for operation, step in rows:
        found = [last.get((operation, step, name)) for name in names]
        if any(found):
            yield from _row([f"{operation}: {step}", *map(_cell, found)])
    yield ""


def _around(cells: Sequence[story.Cell]) -> Iterable[str]:
    yield ".. list-table:: While a cluster is resized"
    yield "   :header-rows: 1"
    yield "   :widths: 40 15 45"
    yield ""
    yield from _row(["What happens", "Done after, s", "The user reads"])
    for each in cells:
        yield from _row([each.step, f"{each.seconds:.0f}", each.reason])
    yield ""


def _compared(ended: Sequence[endings.Ending]) -> Iterable[str]:
    """This driver beside the other one; the last run of each."""
    last = {(e.operation, e.step, e.fault, e.driver): e for e in ended}
    drivers = list(dict.fromkeys(each.driver for each in ended))
    yield ".. list-table:: The same faults with magnum-capi-helm 1.4.0"
    yield "   :header-rows: 1"
    yield ""
    yield from _row(["Step", "Fault", *drivers])
    for row in dict.fromkeys(key[:3] for key in last):
        operation, step, fault = row
        found = [last.get((*row, driver)) for driver in drivers]
        yield from _row([f"{operation}: {step}", fault, *map(_ending, found)])
    yield ""


def _ending(found: endings.Ending | None) -> str:
    """Status and reason, and what nobody will remove."""
    if found is None:
        return ""
    text = f"``{found.status}`` after {found.seconds:.0f} s"
    if found.reason:
        text += f": {found.reason[:_LONGEST]}"
    if found.left:
        text += f"; left behind: {', '.join(found.left)}"
    return text


def _cell(found: story.Cell | None) -> str:
    """Seconds, and a word where it was not just done."""
    if found is None:
        return ""
    seconds = f"{found.seconds:.0f}"
    return seconds if found.ended == story.DONE else f"{found.ended} {seconds}"


def _row(words: Sequence[str]) -> Iterable[str]:
    for number, word in enumerate(words):
        yield f"   {'  ' if number else '* '}- {word}".rstrip()


def main() -> None:
    """Print them."""
    source = pathlib.Path(sys.argv[1]) if sys.argv[1:] else RESULTS
    lines = source.read_text().splitlines()
    cells = [story.Cell(**json.loads(each)) for each in lines]
    ended = []
    if COMPARED.exists():
        lines = COMPARED.read_text().splitlines()
        ended = [endings.Ending(**json.loads(each)) for each in lines]
    print(tables(cells, ended))


if __name__ == "__main__":
    main()
