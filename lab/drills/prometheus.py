# SPDX-License-Identifier: Apache-2.0
"""Prometheus and node_exporter of Debian, on loopback, beside a drill."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from typing import Any

import requests

from lab import unpacked
from magnum_capi_helm.tests.functional import programs

_PROMETHEUS = unpacked.Program("promtool", "prometheus")
_EXPORTER = unpacked.Program(
    "prometheus-node-exporter", "prometheus-node-exporter"
)
_PORTS = {"prometheus": 19090, "node": 19100}
#: As Grafana replaces them.
_VARIABLES = {"$management_cluster": ".*", "$__rate_interval": "30s"}
_SCRAPED = """\
global: {{scrape_interval: 2s, evaluation_interval: 2s}}
rule_files: ["{rules}"]
scrape_configs:
- job_name: node
  static_configs: [{{targets: ["127.0.0.1:{node}"]}}]
"""


class Prometheus:
    """Both programs, from :meth:`start` to :meth:`stop`.

    :param home: directory of its own
    :param metrics: directory of the textfile collector
    """

    def __init__(self, home: pathlib.Path, metrics: pathlib.Path) -> None:
        self._home, self._metrics = home, metrics
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start both; Prometheus loads the alert rules of the driver."""
        rules = programs.CHECKOUT / "etc" / "prometheus"
        file = self._home / "prometheus.yaml"
        file.write_text(
            _SCRAPED.format(
                rules=rules / "magnum-capi-helm.rules.yaml", **_PORTS
            )
        )
        self._run(
            _program(_EXPORTER, "prometheus-node-exporter"),
            "--collector.disable-defaults",
            "--collector.textfile",
            f"--collector.textfile.directory={self._metrics}",
            f"--web.listen-address=127.0.0.1:{_PORTS['node']}",
        )
        self._run(
            _program(_PROMETHEUS, "prometheus"),
            f"--config.file={file}",
            f"--storage.tsdb.path={self._home / 'data'}",
            f"--web.listen-address=127.0.0.1:{_PORTS['prometheus']}",
        )

    def stop(self) -> None:
        """Stop both."""
        for each in self._processes:
            each.terminate()
            each.wait(30)

    def answers(self) -> bool:
        """Return whether Prometheus has scraped once."""
        try:
            return bool(self.query("up == 1"))
        except OSError:
            return False

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an expression, with their present values."""
        return self._ask("query", query=expression)

    def history(
        self, expression: str, begin: float, end: float
    ) -> list[dict[str, Any]]:
        """Return the series of an expression between two times."""
        return self._ask(
            "query_range", query=expression, start=begin, end=end, step=2
        )

    def _ask(
        self, path: str, *, query: str, **words: float
    ) -> list[dict[str, Any]]:
        for name, value in _VARIABLES.items():
            query = query.replace(name, value)
        answer = requests.get(
            f"http://127.0.0.1:{_PORTS['prometheus']}/api/v1/{path}",
            params=dict[str, str | float](words, query=query),
            timeout=30,
        )
        answer.raise_for_status()
        series: list[dict[str, Any]] = answer.json()["data"]["result"]
        return series

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire or wait."""
        alerts = self.query("ALERTS")
        return {each["metric"]["alertname"] for each in alerts}

    def _run(self, *command: str) -> None:
        log = self._home / f"{pathlib.Path(command[0]).name}.log"
        with log.open("wb") as stream:
            self._processes.append(
                subprocess.Popen(command, stdout=stream, stderr=stream)
            )


def _program(package: unpacked.Program, name: str) -> str:
    """Return the path of a program; Debian's package is unpacked for it."""
    folder = package.folder()
    found = shutil.which(name, path=str(folder)) or shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} of Debian is needed")
    return found
