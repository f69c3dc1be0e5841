# SPDX-License-Identifier: Apache-2.0

"""What tests of the operator's commands start with."""

from __future__ import annotations

from collections.abc import Callable
import functools
import io
import json
import pathlib
import tempfile
import types
from typing import Any, TextIO

import fixtures
from magnum import objects
from magnum.db.sqlalchemy import models
from oslotest import base
import sqlalchemy

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import check
from magnum_capi_helm.cli import main
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options
from magnum_capi_helm.model import call
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base as flows


@functools.cache
def _empty_database() -> bytes:
    """Return a SQLite file with Magnum's tables."""
    with tempfile.NamedTemporaryFile() as file:
        engine = sqlalchemy.create_engine(f"sqlite:///{file.name}")
        models.Base.metadata.create_all(engine)
        engine.dispose()
        return pathlib.Path(file.name).read_bytes()


def with_magnum(case: Any) -> pathlib.Path:
    """Let a configuration file, and a SQLite file with empty tables, be there.

    Magnum's own list of templates is replaced: Magnum keeps its first
    connection, to the file of the first test, as long as the process lives.

    :param case: has called ``flows.configure``, which resets the options
    :returns: the SQLite file
    """
    home = pathlib.Path(case.useFixture(fixtures.TempDir()).path)
    file, path = home / "magnum.conf", home / "magnum.sqlite"
    file.write_text("")
    conf.CONF([], project="magnum", default_config_files=[str(file)])
    path.write_bytes(_empty_database())
    templates = fixtures.MockPatchObject(
        objects.ClusterTemplate, "list", lambda _: []
    )
    case.useFixture(templates)
    conf.CONF.set_override("connection", f"sqlite:///{path}", "database")
    return path


def template(name: str, **fields: Any) -> Any:
    """Return a cluster template of this driver, with other fields."""
    return types.SimpleNamespace(
        **{
            "name": name,
            "coe": "kubernetes",
            "server_type": "vm",
            "cluster_distro": "ubuntu",
            "driver": "k8s_capi_helm_v1",
            "labels": {},
            **fields,
        }
    )


def run(
    kind: Any,
    *argv: str,
    out: TextIO | None = None,
    err: TextIO | None = None,
    **attributes: Any,
) -> int:
    """Run one command as the application would; return the exit code.

    :param out: the command's output; None: it is dropped
    :param err: the command's messages; None: they are dropped
    :param attributes: are set on the command
    """
    app = main.Application()
    app.stdout = io.StringIO() if out is None else out
    app.stderr = io.StringIO() if err is None else err
    command = kind(app, None)
    for name, value in attributes.items():
        setattr(command, name, value)
    options = command.get_parser("test").parse_args(argv)
    # A command holds no Lease of its test.
    with call.acting(None):
        return int(command.run(options) or 0)


def run_json(
    kind: Any, *argv: str, err: TextIO | None = None, **attributes: Any
) -> tuple[int, list[dict[str, Any]]]:
    """Run a command that prints a table; return exit code and lines."""
    out = io.StringIO()
    code = run(kind, *argv, "-f", "json", out=out, err=err, **attributes)
    lines: list[dict[str, Any]] = json.loads(out.getvalue())
    return code, lines


def polled(kind: Any, look: Callable[[], None]) -> Any:
    """Return a command that calls ``look`` instead of a pause."""

    class Polled(kind):
        @property
        def pause(self) -> float:
            look()
            return 0.0

    return Polled


class CommandCase(base.BaseTestCase):
    """Commands on fakes, and on Magnum's real configuration code."""

    def setUp(self) -> None:
        super().setUp()
        self.openstack = flows.configure(self)
        self.store = pathlib.Path(conf.CONF.capi_helm.chart_store)
        self.plane = plane.Plane(str(self.store))
        flows.install(self, self.plane.runtime())
        self.database = with_magnum(self)
        self.out = io.StringIO()
        self.err = io.StringIO()

    def run_command(self, kind: type, *argv: str) -> int:
        return run(kind, *argv, out=self.out, err=self.err)

    def checked(self, *argv: str) -> dict[str, tuple[str, str]]:
        """Run ``check``; return state and detail of each line by its check."""
        self.out.truncate(self.out.seek(0))
        self.code = self.run_command(check.Check, "-f", "json", *argv)
        self.lines = json.loads(self.printed())
        return {
            row["Check"]: (row["State"], row["Detail"]) for row in self.lines
        }

    def assert_failed(self, check: str, *words: str) -> None:
        """A check fails, and its line has these words."""
        state, detail = self.checked()[check]
        self.assertEqual("failed", state)
        for each in words:
            self.assertIn(each, detail)

    def printed(self) -> str:
        return self.out.getvalue()

    def several(self) -> dict[str, plane.Plane]:
        conf.CONF.set_override("management_clusters", ["a", "b"], "capi_helm")
        for name in "ab":
            group = f"capi_helm_management_{name}"
            conf.CONF.register_opts(
                options.MANAGEMENT_CLUSTER_OPTIONS, group=group
            )
            path = f"/kube/{name}"
            conf.CONF.set_override("kubeconfig_file", path, group)
        runtime.reset()
        planes = {
            home.name: plane.Plane(str(self.store), home)
            for home in runtime.configured()
        }
        for each in planes.values():
            runtime.use(each.runtime())
        return planes
