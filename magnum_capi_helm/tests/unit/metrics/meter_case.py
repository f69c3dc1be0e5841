# SPDX-License-Identifier: Apache-2.0

"""What tests of a conductor's measures start with."""

from __future__ import annotations

from collections.abc import Callable
import pathlib

import fixtures
from oslotest import base

from magnum_capi_helm import metrics


class MeterCase(base.BaseTestCase):
    """A process 7 on c1, whose clock a test puts forward."""

    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, value in (
            ("socket.gethostname", "c1"),
            ("os.getpid", 7),
            ("time.time", 1000.0),
        ):
            self.useFixture(
                fixtures.MockPatch(name, lambda value=value: value)
            )
        self.now = 0.0
        self.begun: list[Callable[[], None]] = []
        self.log = self.useFixture(
            fixtures.FakeLogger("magnum_capi_helm", format="%(message)s")
        )
        self.meter = self.made(str(self.directory))

    def made(self, directory: str) -> metrics.Meter:
        return metrics.Meter(directory, lambda: self.now, self.begun.append)

    def poll(self, name: str, seconds: float) -> None:
        with self.meter.measure(metrics.POLL, name):
            self.now += seconds

    def text(self) -> str:
        return metrics.text(self.meter)

    def outcomes(self) -> list[str]:
        """Return what was counted, and how it ended."""
        return [" ".join(labels) for labels in counts(self.meter)]


def counts(meter: metrics.Meter) -> dict[tuple[str, ...], float]:
    """Return the counts of events by their labels without the process."""
    return {
        labels[1:]: value
        for labels, value in samples(meter).items()
        if labels[0].endswith("_count")
    }


def samples(meter: metrics.Meter) -> dict[tuple[str, ...], float]:
    """Return values by name and labels, without prefix and process."""
    return {
        (
            sample.name.removeprefix("magnum_capi_helm_"),
            *(
                sample.labels[name]
                for name in declared.labels
                if name != "process"
            ),
        ): sample.value
        for family in meter.collect()
        for declared in metrics.OF_PROCESS
        if declared.name == family.name
        for sample in family.samples
    }
