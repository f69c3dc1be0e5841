# SPDX-License-Identifier: Apache-2.0

"""What tests of the operator's commands start with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import configparser
import functools
import importlib
import io
import json
import pathlib
import re
import tempfile
import types
from typing import Any, TextIO

import fixtures
from magnum import objects
from magnum.db.sqlalchemy import models
from oslotest import base
import sqlalchemy

import magnum_capi_helm
from magnum_capi_helm import runtime
from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import check
from magnum_capi_helm.cli import describe
from magnum_capi_helm.cli import list as listing
from magnum_capi_helm.cli import main
from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import call
from magnum_capi_helm.tests.fakes import management
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


ROOT = pathlib.Path(magnum_capi_helm.__file__).parents[1]
#: Commands of each program that uses cliff.
CLIFF = frozenset({"complete", "help"})


def declared() -> dict[str, type[commands.Command]]:
    """Each command as one types it, and its class."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    lines = parser["entry_points"]["magnum_capi_helm.cli"].split("\n")
    found = {}
    for line in filter(None, lines):
        name, _, where = line.partition(" = ")
        module, _, kind = where.partition(":")
        command = getattr(importlib.import_module(module), kind)
        found[name.replace("_", " ")] = command
    return found


def application() -> Any:
    """The program with these commands, and with output that is kept."""
    app = main.Application()
    app.stdout, app.stderr = io.StringIO(), io.StringIO()
    commands = app.command_manager.commands
    for name in set(commands) - CLIFF:
        del commands[name]
    for name, command in declared().items():
        app.command_manager.add_command(name, command)
    return app


CHART = {"metadata": {"labels": {"helm.sh/chart": "openstack-cluster-0.27.0"}}}


def run_list(*argv: str) -> tuple[int, list[dict[str, str]]]:
    return run_json(listing.List, *argv)


def refuse_all_namespaces(made: management.FakeManagement) -> None:
    """Let RBAC refuse lists of all namespaces at once."""
    original = made.list

    def refused(
        kind: kinds.Kind, namespace: str | None, *args: Any, **options: Any
    ) -> Any:
        if namespace is None:
            raise responses.ForbiddenError("forbidden")
        return original(kind, namespace, *args, **options)

    made.list = refused  # type: ignore[method-assign]


class ListTestCase(flows.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.edit(kinds.CLUSTER, flows.RELEASE, CHART)

    def states(self, *argv: str) -> list[tuple[str, str]]:
        return [
            (each["Release"], each["State"]) for each in run_list(*argv)[1]
        ]

    def forget(self) -> None:
        """Magnum loses the cluster, and nothing else does."""
        for each in self.groups().values():
            each.destroy()
        self.row().destroy()


#: With R in the place of the release.
WELL = """\
cluster web (CREATE_COMPLETE, HEALTHY): ready
├── helm release R (revision 1 deployed, chart 0.27.0): ready
├── Cluster R (https://203.0.113.10:6443): ready
│   ├── OpenStackCluster R: ready
│   ├── KubeadmControlPlane R-control-plane (nodegroup default-master, 1 of 1 \
ready): ready
│   │   └── Machine R-control-plane-m0 (192.168.3.10, server \
server-R-control-plane-m0, v1.34.2): ready
│   │       └── Node R-control-plane-m0: ready
│   ├── MachineDeployment R-default-worker (nodegroup default-worker, 2 of 2 \
ready): ready
│   │   ├── Machine R-default-worker-m0 (192.168.3.11, server \
server-R-default-worker-m0): ready
│   │   │   └── Node R-default-worker-m0: ready
│   │   └── Machine R-default-worker-m1 (192.168.3.12, server \
server-R-default-worker-m1): ready
│   │       └── Node R-default-worker-m1: ready
│   └── addons (4 of 4 deployed): ready
│       ├── HelmRelease R-ccm-openstack: ready
│       ├── Manifests R-cloud-config: ready
│       ├── HelmRelease R-cni-calico: ready
│       └── HelmRelease R-csi-cinder: ready
├── Lease R (nobody holds it)
└── credential R-cloud-credentials: ready
"""


class Terminal(io.StringIO):
    """What is written to it is seen at once."""

    def isatty(self) -> bool:
        return True


class DescribeTestCase(flows.FlowTestCase):
    fields: Mapping[str, Any] = types.MappingProxyType({})

    def setUp(self) -> None:
        super().setUp()
        self.complete(**self.fields)
        self.health_poll()
        # The literals have whole lines, with R instead of the release.
        self.useFixture(fixtures.EnvironmentVariable("COLUMNS", "1000"))
        self.out: io.StringIO = io.StringIO()
        self.err = io.StringIO()

    def describe(self, *argv: str) -> int:
        return run(describe.Describe, "web", *argv, out=self.out, err=self.err)

    def printed(self) -> str:
        """What came out, with R for the release, and without ages."""
        text = self.out.getvalue().replace(flows.RELEASE, "R")
        return re.sub(r", \d+ (?:minutes|hours) ago", "", text)

    def lines(self, *argv: str) -> list[str]:
        """The lines that are not ready, without their branches."""
        self.describe(*argv)
        return [
            each.strip("│├└─ ")
            for each in self.printed().splitlines()
            if not each.endswith(": ready") and "Lease" not in each
        ]
