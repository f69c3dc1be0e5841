# SPDX-License-Identifier: Apache-2.0

"""Each step of each operation meets each fault.

What comes out becomes a table: :mod:`lab.chaos.table`.
``CHAOS_FAULTS`` chooses some of the faults, by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent import futures
import dataclasses
import os
import traceback

from lab.chaos import case
from lab.chaos import columns
from lab.chaos import endings
from lab.chaos import proxy
from lab.chaos import steps
from lab.chaos import story
from lab.chaos import witness

_CHOSEN = (os.environ.get("CHAOS_FAULTS") or "").split(",")
#: Each operation has at most so many steps.
STEPS = max(map(len, steps.KUBERNETES.values()))
#: How many clusters live at once.
CROWD = 12


class MatrixCase(case.HighlyAvailableCase):
    """Crowds of clusters, one after the other."""

    def live(self, crowds: Iterable[list[story.Plot]]) -> None:
        """All clusters of all crowds; nothing may be lost or left."""
        certificates = self.certificates()
        scene = witness.Scene(
            self.magnum,
            self.agreement,
            (self.template(), self.template(image_id="ubuntu-v1.35.1")),
            self.unique,
            self.left_of_cluster,
            self.made,
            self.credentials_of,
        )
        cells: list[endings.Cell] = []
        for plots in crowds:
            cells += self._crowd([story.Story(scene, each) for each in plots])
        bad = (endings.STUCK, endings.UNMET)
        self.assertEqual([], [each for each in cells if each.ended in bad])
        self.assertEqual([], self.agreement.wrong)
        self.assertEqual(certificates, self.certificates())
        self.assert_nothing_left()

    def _crowd(self, stories: list[story.Story]) -> list[endings.Cell]:
        try:
            with futures.ThreadPoolExecutor(len(stories)) as pool:
                list(pool.map(self._tell, stories))
        finally:
            self.settle()
        cells = [cell for each in stories for cell in each.cells]
        case.keep([dataclasses.asdict(each) for each in cells])
        # Known before the last crowd is gone.
        print(*self.agreement.wrong, sep="\n", flush=True)
        return cells

    def _tell(self, each: story.Story) -> None:
        """One that breaks off keeps no other from its end."""
        try:
            each.run()
        except Exception as error:
            traceback.print_exc()
            self.agreement.check(None, f"{each.name}: {error!r}")

    def plot(
        self,
        between: proxy.Proxy,
        table: dict[str, tuple[steps.Step, ...]],
        column: columns.Column,
        number: int,
    ) -> story.Plot:
        """A cluster with a fault."""
        fault = column.make(self.conductors, between)
        return story.Plot(between, table, column, fault, number)


class KubernetesTest(MatrixCase):
    """Between the conductors and the management cluster."""

    def test_each_operation_ends_and_nothing_is_lost_or_left(self) -> None:
        self.live(
            [
                self.plot(self.between, steps.KUBERNETES, column, number)
                for column in some
                for number in range(STEPS)
            ]
            for some in _crowds(_chosen())
        )


class KeystoneTest(MatrixCase):
    """Between the conductors and Keystone."""

    def test_each_credential_is_made_once_and_goes(self) -> None:
        quiet = [each for each in _chosen() if not each.crowd]
        away = [each for each in _chosen() if each.crowd == "away"]
        self.live(
            [
                self.plot(self.identity, steps.KEYSTONE, column, 0)
                for column in some
            ]
            for some in (quiet, away)
            if some
        )


def _chosen() -> list[columns.Column]:
    if _CHOSEN == [""]:
        return list(columns.COLUMNS)
    return [each for each in columns.COLUMNS if each.name in _CHOSEN]


def _crowds(
    chosen: Iterable[columns.Column],
) -> list[list[columns.Column]]:
    """What hits other clusters has a crowd of its own."""
    chosen = list(chosen)
    quiet = [each for each in chosen if not each.crowd]
    size = CROWD // STEPS
    found = [quiet[at : at + size] for at in range(0, len(quiet), size)]
    for name in dict.fromkeys(each.crowd for each in chosen if each.crowd):
        found.append([each for each in chosen if each.crowd == name])
    return found
