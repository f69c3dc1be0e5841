# SPDX-License-Identifier: Apache-2.0

"""The dashboard's queries on a real Prometheus, through an upgrade."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import fixtures

from lab.drills import picture
from lab.drills import planes
from lab.drills import prometheus
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import records
from magnum_capi_helm.tests.unit.metrics import dashboard

#: Panels that show nothing while all is well.
_OF_TROUBLE = {
    "Refused credentials",
    "Clusters that need attention",
    "Addons that are not deployed",
    "Certificates that end within 60 days",
    "Parts that could not be read",
    "Stale Leases",
}
#: Nobody receives kubeconfigs here.
_NEVER = {"Deliveries of kubeconfigs"}


class Command(beside.Beside):
    """``magnum-capi-helm metrics``, as often as its timer would run it."""

    def __init__(self, directory: pathlib.Path) -> None:
        super().__init__(3)
        self._file = str(directory / "magnum_capi_helm.prom")

    def look(self) -> bool:
        """Write the file once."""
        programs.completed("metrics", "--output", self._file)
        return True


class MonitoringTest(planes.PlaneCase):
    """A cluster is made and upgraded, and an addon fails."""

    record = "monitoring"

    def test_each_panel_shows_what_happens(self) -> None:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        metrics = home / "metrics"
        metrics.mkdir()
        self.configure(metrics_dir=str(metrics))
        self.prometheus = prometheus.Prometheus(home, metrics)
        self.addCleanup(self.prometheus.stop)
        self.prometheus.start()
        with Command(metrics):
            self.until(self.prometheus.answers, 60)
            self._live()

    def _live(self) -> None:
        newer = self.template(image_id="ubuntu-v1.35.1")
        uuid = self.made("shop", self.template())
        quiet = _OF_TROUBLE | _NEVER
        self._look("complete", lambda empty: empty <= quiet)
        self.upgrade(uuid, newer)
        self.until_status(uuid, ("UPDATE_IN_PROGRESS",))
        self._look("in an upgrade", lambda empty: empty <= quiet)
        self.until_status(uuid, ("UPDATE_COMPLETE",))
        self._break_addon(uuid)
        self._shows("Addons that are not deployed")
        self._look("an addon fails", lambda empty: empty <= quiet)
        seconds = time.monotonic() - self._began
        target = records.DIRECTORY / f"{self.record}.png"
        picture.draw(self.prometheus, seconds, target)
        self.deleted(uuid)

    def _break_addon(self, cluster: str) -> None:
        """Let the addon provider fail at the addon csi-cinder."""
        planes.kubectl(
            *("-n", self.namespace, "annotate", "helmreleases"),
            f"{self.release(cluster)}-csi-cinder",
            "lab.example.org/fail=the registry does not answer",
        )

    def _shows(self, title: str) -> None:
        """Wait until a panel shows something."""
        self.until(lambda: self._panel(_panel(title)), 300)

    def _look(self, moment: str, expected: Any) -> None:
        """Tell what each panel shows."""
        self.until(lambda: expected(self._empty()), 120)
        self.tell(f"{moment}; alerts: {self._alerts()}")
        for panel in dashboard.panels():
            series = self._panel(panel)
            values = ", ".join(_shown(each) for each in series[:3])
            self.tell(f"  {panel['title']}: {values or '-'}")

    def _alerts(self) -> str:
        return ", ".join(sorted(self.prometheus.firing())) or "none"

    def _empty(self) -> set[str]:
        return {
            panel["title"]
            for panel in dashboard.panels()
            if not self._panel(panel)
        }

    def _panel(self, panel: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all series of a panel."""
        found = []
        for target in panel["targets"]:
            found += self.prometheus.query(target["expr"])
        return found


def _panel(title: str) -> dict[str, Any]:
    return next(each for each in dashboard.panels() if each["title"] == title)


def _shown(series: dict[str, Any]) -> str:
    """Return a series' labels of interest and its value."""
    labels = {
        name: value
        for name, value in series["metric"].items()
        if name in ("status", "state", "poll", "command", "outcome", "phase")
    }
    words = " ".join(labels.values())
    value = round(float(series["value"][1]), 3)
    return f"{words} {value:g}".strip()
