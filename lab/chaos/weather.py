# SPDX-License-Identifier: Apache-2.0

"""Faults at random, of all kinds."""

from __future__ import annotations

import collections
from collections.abc import Callable
import random
import threading

from lab.chaos import columns
from lab.chaos import conductors
from lab.chaos import faults
from lab.chaos import proxy
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import programs

_METHODS = ("GET", "PATCH", "POST", "PUT", "DELETE")
#: Seconds of a conductor's sleep: shorter and longer than a Lease lasts.
_SLEEPS = (10.0, 40.0, 60.0)


class Weather(beside.Beside):
    """One fault after the other, until it is left.

    :param dice: what decides
    :param pause: seconds between two faults
    """

    def __init__(
        self,
        dice: random.Random,
        pause: float,
        killers: conductors.Conductors,
        kubernetes: proxy.Proxy,
        keystone: proxy.Proxy,
    ) -> None:
        super().__init__(pause)
        self._dice = dice
        self._killers = killers
        self._kubernetes = kubernetes
        self._keystone = keystone
        self.seen: collections.Counter[str] = collections.Counter()
        self.problem: Exception | None = None

    def look(self) -> bool:
        """The next fault."""
        kinds = self._kinds()
        weights = [weight for weight, _ in kinds.values()]
        (name,) = self._dice.choices([*kinds], weights)
        self.seen[name] += 1
        try:
            kinds[name][1]()
        except Exception as problem:
            # A test that believes in faults that were none proves nothing.
            self.problem = problem
            return False
        return True

    def _kinds(self) -> dict[str, tuple[int, Callable[[], None]]]:
        """How likely each is, and what it does."""
        return {
            "request to Kubernetes": (12, self._kubernetes_fault),
            "request to Keystone": (4, self._keystone_fault),
            "conductor killed": (3, self._kill),
            "conductor frozen": (2, self._freeze),
            "helms killed": (2, self._killers.kill_helms),
            "Kubernetes away": (1, self._away),
            "RabbitMQ restarted": (1, lambda: self._restart("rabbitmq")),
            "MariaDB restarted": (1, lambda: self._restart("mariadb")),
            "chart store emptied": (1, _empty_chart_store),
        }

    def _kubernetes_fault(self) -> None:
        method = self._dice.choice(_METHODS)
        self._hit(self._kubernetes, lambda request: request.method == method)

    def _keystone_fault(self) -> None:
        self._hit(self._keystone, lambda request: True)

    def _hit(
        self, between: proxy.Proxy, asks: Callable[[faults.Request], bool]
    ) -> None:
        quiet = [each for each in columns.COLUMNS if not each.crowd]
        column = self._dice.choice(quiet)
        self.seen[f"  {column.name}"] += 1
        between.when(asks, column.make(self._killers, between))

    def _kill(self) -> None:
        self._killers.kill_one(self._dice.choice(conductors.NAMES))

    def _freeze(self) -> None:
        name = self._dice.choice(conductors.NAMES)
        self._killers.freeze_one(name, self._dice.choice(_SLEEPS))

    def _away(self) -> None:
        away = threading.Thread(
            target=columns.stay_away, args=(self._kubernetes,)
        )
        away.start()
        away.join()

    def _restart(self, service: str) -> None:
        self._killers.restart(service)


def _empty_chart_store() -> None:
    """What is fetched again when it is not there."""
    for path in (programs.LAB / "chart-store").rglob("*.tgz"):
        path.unlink()
