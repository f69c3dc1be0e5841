# SPDX-License-Identifier: Apache-2.0
"""Ten troubles, each found by ``check`` and told in one line."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent import futures
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import planted
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import records

_LABS = programs.LAB / "cloud" / "magnum" / "magnum.conf"
_PROGRAM = (sys.executable, "-m", "magnum_capi_helm.cli.main")
#: A line of ``check -f json``.
_Line = Mapping[str, str]
#: Of a management cluster that is well, and of the host.
_MOST_LINES = 17
_WIDTH = 79
#: Minutes that the API server's clock is behind.
_BEHIND = 5
_FLANNEL = {"kubernetes_allowed_network_drivers": "flannel"}
#: Management cluster and line of each, where all are there at once.
_EVERY_ONE = [
    ("planted", "clock"),
    ("planted", "permissions"),
    ("planted", "Cluster API"),
    ("planted", "components"),
    ("stranger", "management cluster"),
    ("ended", "management cluster"),
    ("closed", "management cluster"),
    ("(all)", "helm"),
    ("(all)", "chart"),
    ("(all)", "network drivers"),
]


@dataclasses.dataclass(frozen=True)
class Planted:
    """A trouble, and what finds it.

    :param what: is wrong, for the page
    :param check: its name
    :param sections: of Magnum's configuration, beside the lab's own
    :param helm: whether it is installed
    """

    what: str
    check: str
    kubeconfig: str
    sections: Mapping[str, Mapping[str, str]] = dataclasses.field(
        default_factory=dict
    )
    helm: bool = True


class CheckTest(base.LabCase):
    """The second management cluster, and options of the test's own."""

    def setUp(self) -> None:
        super().setUp()
        self.second_management()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        self.trouble = planted.Trouble(self.home)
        self.good = self.trouble.good()
        self.record: list[str] = []

    def test_each_trouble_is_told_alone_and_all_together(self) -> None:
        code, lines = self.check(Planted("nothing", "", self.good))
        self.assertEqual((0, []), (code, _ill(lines)), str(lines))
        self.assertLessEqual(len(lines), _MOST_LINES)
        self._there()
        self._on_the_way()
        self._here()
        self._all_at_once()
        text = "".join(f"{each}\n" for each in self.record)
        records.write("check", text)
        self.assertEqual(records.page("check"), text)

    def _there(self) -> None:
        with self.trouble.missing_crd():
            self.told(Planted("a CRD was removed", "Cluster API", self.good))
        with self.trouble.idle_capo():
            self.told(Planted("CAPO has no pod", "components", self.good))
        lesser = self.trouble.lesser(_tomorrow())
        with self.trouble.clock(_BEHIND * 60.0) as server:
            behind = self.trouble.at(server)
            self.told(
                Planted("a permission is missing", "permissions", lesser),
                Planted("its clock is behind", "clock", behind),
            )

    def _on_the_way(self) -> None:
        found = "management cluster"
        self.told(
            Planted("another CA", found, self.trouble.stranger()),
            Planted("the token has ended", found, self.trouble.ended()),
            Planted("nobody listens", found, self.trouble.closed()),
        )

    def _here(self) -> None:
        store = {"capi_helm": {"chart_store": self.trouble.chart_store()}}
        flannel = {"cluster_template": _FLANNEL}
        self.told(
            Planted("helm is missing", "helm", self.good, helm=False),
            Planted("the chart is cut off", "chart", self.good, store),
            Planted(
                "Magnum allows flannel alone",
                "network drivers",
                self.good,
                flannel,
            ),
        )

    def _all_at_once(self) -> None:
        """Four management clusters, of which the first can be asked."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.trouble.missing_crd())
            stack.enter_context(self.trouble.idle_capo())
            server = stack.enter_context(self.trouble.clock(_BEHIND * 60.0))
            planes = {
                "planted": self.trouble.lesser(_tomorrow(), server),
                "stranger": self.trouble.stranger(),
                "ended": self.trouble.ended(),
                "closed": self.trouble.closed(),
            }
            homes = {
                f"capi_helm_management_{name}": {"kubeconfig_file": path}
                for name, path in planes.items()
            }
            options = {
                "management_clusters": ",".join(planes),
                "chart_store": self.trouble.chart_store(),
            }
            sections = {
                "capi_helm": options,
                "cluster_template": _FLANNEL,
                **homes,
            }
            everything = Planted("all", "", "", sections, helm=False)
            code, lines = self.check(everything)
        self.assertEqual(1, code)
        self.assertEqual(
            _EVERY_ONE,
            [(row["Management cluster"], row["Check"]) for row in _ill(lines)],
        )

    def told(self, *rows: Planted) -> None:
        """Each is the only trouble of its own, and has one line."""
        with futures.ThreadPoolExecutor(len(rows)) as pool:
            answers = pool.map(self.check, rows)
            for row, (code, lines) in zip(rows, answers, strict=True):
                ill = _ill(lines)
                checks = [each["Check"] for each in ill]
                self.assertEqual([row.check], checks, row.what)
                self.assertEqual(1, code, row.what)
                self._keep(row, ill[0])

    def _keep(self, row: Planted, line: _Line) -> None:
        """For the page."""
        self.record.append(f"# {row.what}")
        text = f"{row.check}: {line['State']}: {line['Detail']}"
        self.record += textwrap.wrap(
            self._general(text, row.kubeconfig),
            _WIDTH,
            subsequent_indent="    ",
            break_on_hyphens=False,
        )

    def _general(self, line: str, kubeconfig: str) -> str:
        """Without what is of this run alone."""
        server = planted.server(kubeconfig)
        for found, shown in (
            (kubeconfig, "/etc/magnum/capi.kubeconfig"),
            (str(self.home), "/var/lib/magnum/capi_helm"),
            (server, "https://management.example.org:6443"),
        ):
            line = line.replace(found, shown)
        return line

    def check(self, row: Planted) -> tuple[int, list[_Line]]:
        """Exit code and lines of ``check``."""
        sections = {"capi_helm": {"kubeconfig_file": row.kubeconfig}}
        for name, options in row.sections.items():
            sections[name] = {**sections.get(name, {}), **options}
        handle, conf = tempfile.mkstemp(dir=self.home)
        with os.fdopen(handle, "w") as stream:
            stream.write(planted.ini(sections))
        # One without programs, of which this one starts helm alone.
        path = {} if row.helm else {"PATH": str(self.home)}
        files = [f"--config-file={each}" for each in (_LABS, conf)]
        done = subprocess.run(
            [*_PROGRAM, *files, "check", "-f", "json"],
            cwd=programs.CHECKOUT,
            env={**os.environ, **programs.command_path(), **path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertNotIn("Traceback", done.stderr)
        lines: list[_Line] = json.loads(done.stdout or "[]")
        self.assertNotEqual([], lines, done.stderr)
        return done.returncode, lines


def _ill(lines: list[_Line]) -> list[_Line]:
    """What is neither well nor unknown, which is said of what is not there."""
    return [each for each in lines if each["State"] not in ("ok", "unknown")]


def _tomorrow() -> int:
    return int(time.time()) + 86400
