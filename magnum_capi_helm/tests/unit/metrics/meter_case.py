# SPDX-License-Identifier: Apache-2.0

"""What tests of a conductor's measures start with."""

from __future__ import annotations

from collections.abc import Callable
import pathlib

import fixtures
from oslotest import base

from magnum_capi_helm.metrics import exposition
from magnum_capi_helm.metrics import families
from magnum_capi_helm.metrics import meter


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

    def made(self, directory: str) -> meter.Meter:
        """A meter that writes there."""
        return meter.Meter(directory, lambda: self.now, self.begun.append)

    def poll(self, name: str, seconds: float) -> None:
        """A poll that takes so long."""
        with self.meter.polling(name):
            self.now += seconds

    def text(self) -> str:
        """What there is now."""
        return exposition.text(self.meter.samples())

    def outcomes(self) -> list[str]:
        """Of all that was counted: what, and how it ended."""
        return [
            " ".join(each.labels[1:])
            for each in self.meter.samples()
            if each.family.kind == families.SUMMARY
        ]
