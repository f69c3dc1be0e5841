# SPDX-License-Identifier: Apache-2.0

"""What Zuul is told: its items, and the jobs with their variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
import unittest

from release import zuul


class ZuulCase(unittest.TestCase):
    maxDiff = None
    items = zuul.items()
    jobs = zuul.jobs(items)

    @property
    def project(self) -> dict[str, Any]:
        (found,) = (each for kind, each in self.items if kind == "project")
        return found

    def ancestry(self, name: str) -> Iterator[dict[str, Any]]:
        """The job and its parents, as far as they are defined here."""
        while name in self.jobs:
            yield self.jobs[name]
            name = self.jobs[name].get("parent", "base")

    def variables(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for job in self.ancestry(name):
            found = {**job.get("vars", {}), **found}
        return found

    def concrete(self, prefix: str) -> list[str]:
        return [
            name
            for name, job in self.jobs.items()
            if name.startswith(prefix) and not job.get("abstract")
        ]
