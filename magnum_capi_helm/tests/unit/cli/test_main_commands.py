# SPDX-License-Identifier: Apache-2.0

"""The operator's commands: their words, output and exit codes."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import shlex
import warnings

import fixtures
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base

_NO_FILES = (
    "no configuration file was found, so all options have their defaults: "
    "give --config-file\n"
)


class CommandsTest(command_case.CommandCase):
    def program(self, *words: str) -> int:
        app = command_case.application()
        app.stdout, app.stderr = self.out, self.err
        return int(app.run(list(words)))

    def without_configuration(self) -> None:
        """Let oslo.config find no file on this host."""
        for name in ("find_config_files", "find_config_dirs"):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f"oslo_config.cfg.{name}", lambda *_, **__: []
                )
            )

    def test_without_a_configuration_file_a_command_is_refused(self) -> None:
        self.without_configuration()
        self.assertEqual(1, self.program("list"))
        self.assertEqual(_NO_FILES, self.err.getvalue())

    def test_charts_need_no_configuration_file_and_are_told(self) -> None:
        """A host without a conductor may fetch them."""
        self.without_configuration()
        self.assertEqual(0, self.program("chart", "list"))
        self.assertEqual(
            f"{_NO_FILES}the chart store is empty\n", self.err.getvalue()
        )

    def test_permissions_are_printed_without_a_configuration(self) -> None:
        self.without_configuration()
        self.assertEqual(0, self.program("management-cluster", "permissions"))
        self.assertEqual(permissions.manifest(), self.out.getvalue())
        self.assertEqual(_NO_FILES, self.err.getvalue())
        self.assertEqual([], self.plane.management.requests)
        conf.CONF.set_override("namespace_prefix", "east", "capi_helm")
        self.out.truncate(self.out.seek(0))
        self.run_command(management_cluster.Permissions)
        self.assertEqual(permissions.manifest(["east"]), self.printed())

    def test_a_configuration_file_that_is_missing_is_named(self) -> None:
        self.assertEqual(1, self.program("--config-file", "/gone", "list"))
        self.assertEqual(
            "Failed to find some config files: /gone\n", self.err.getvalue()
        )

    def test_a_database_is_asked_once_despite_max_retries(self) -> None:
        conf.CONF.clear_override("connection", "database")
        [path] = self.create_tempfiles(
            [
                (
                    "magnum",
                    "[database]\nmax_retries = -1\n"
                    "connection = mysql+pymysql://u:p@127.0.0.1:1/magnum\n",
                )
            ]
        )
        self.program("--config-file", path, "check", "-f", "json")
        self.assertEqual(0, conf.CONF.database.max_retries)
        lines = json.loads(self.out.getvalue())
        states = {each["Check"]: each["State"] for each in lines}
        self.assertEqual("failed", states["database"])

    def test_a_usage_error_comes_before_the_configuration(self) -> None:
        words = ["--config-file", "/gone", "list", "--no-such"]
        ended = self.assertRaises(SystemExit, self.program, *words)
        self.assertEqual(2, ended.code)

    def test_permissions_are_printed_for_namespaces_that_exist(self) -> None:
        self.run_command(
            management_cluster.Permissions,
            "namespace/east-5f0d",
            "--namespace-prefix=east",
            "--namespace-prefix=west-2",
        )
        text = self.printed()
        self.assertIn("^(east|west-2)-[a-z0-9]+$", text)
        self.assertEqual(
            [
                (
                    "Namespace",
                    {
                        "name": "east-5f0d",
                        "labels": {
                            "magnum.openstack.org/project-namespace": "true",
                            "pod-security.kubernetes.io/enforce": "baseline",
                        },
                    },
                ),
                (
                    "RoleBinding",
                    {"name": "magnum-capi-helm", "namespace": "east-5f0d"},
                ),
            ],
            [
                (each["kind"], each["metadata"])
                for each in yaml.safe_load_all(text)
            ][-2:],
        )

    def test_each_of_several_has_clients_of_its_own(self) -> None:
        self.several()
        runtime.reset()
        for name in ("a", "b"):
            made = runtime.get(name)
            self.assertIs(made, runtime.get(name))
            error = self.assertRaises(
                errors.NotConfigured, made.maintenance.read
            )
            self.assertEqual(
                f"no kubeconfig at /kube/{name}: set "
                f"[capi_helm_management_{name}] kubeconfig_file to a "
                "kubeconfig of the management cluster",
                str(error),
            )
        # There is none without a name.
        self.assertRaises(errors.NotConfigured, runtime.get)


_ONE_THING = (
    "give one, and only one, of --chart-version VERSION (with or without "
    "--values-files), --values-files, --label and --cloud-settings"
)
_NO_EAST = (
    "there is no management cluster 'east': give one of [capi_helm] "
    "management_clusters (it is empty)"
)
_NO_WEB = "cluster web not found: choose one of `openstack coe cluster list`"

#: Words -> the last line of the error output. A usage error begins with
#: ``error:``, behind the program and its command, and its exit code is 2; of
#: the others it is 1.
_FAILING = {
    "list --no-such": "error: unrecognized arguments: --no-such",
    "describe": "error: the following arguments are required: CLUSTER",
    "describe web": _NO_WEB,
    "kubeconfig web": _NO_WEB,
    "values": "error: one of the arguments CLUSTER --template is required",
    "values --template nope.yaml": "there is no file nope.yaml",
    "values --template nope": (
        "cluster template nope not found: choose one of `openstack coe "
        "cluster template list`"
    ),
    "diff web --label a=b --chart-version 0.27.0": (
        "--label does not go with --template or --chart-version"
    ),
    "list --management-cluster east": _NO_EAST,
    "check --management-cluster east": _NO_EAST,
    "check --project p1": (
        "--project is for --from-1-4-0: give both, or neither"
    ),
    "chart fetch": (
        "the chart is not in the chart store and can't be fetched; check "
        "[capi_helm] default_helm_chart_version, or put its file into the "
        "store. It is openstack-cluster 0.27.0 of "
        "https://azimuth-cloud.github.io/capi-helm-charts, file "
        "openstack-cluster-0.27.0.tgz; helm pull: chart openstack-cluster "
        "version 0.27.0 not found"
    ),
    "chart fetch 9.9.9": (
        "the chart is not in the chart store and can't be fetched; check the "
        "label capi_helm_chart_version, or put its file into the store. It "
        "is openstack-cluster 9.9.9 of "
        "https://azimuth-cloud.github.io/capi-helm-charts, file "
        "openstack-cluster-9.9.9.tgz; helm pull: chart openstack-cluster "
        "version 9.9.9 not found"
    ),
    "chart fetch nonsense": (
        "error: argument VERSION: 'nonsense' is not a version"
    ),
    "chart mirror": "error: one of the arguments --to --list is required",
    "cluster apply --all": _ONE_THING,
    "cluster apply --label a=b --cloud-settings web": _ONE_THING,
    "cluster apply --certificates --all": (
        "error: unrecognized arguments: --certificates"
    ),
    "cluster apply --values-files": (
        "give names or UUIDs of clusters, or --project ID, or --all: exactly "
        "one of the three"
    ),
    "cluster apply --values-files web": _NO_WEB,
    "cluster apply --values-files --all --timeout 0": (
        "error: argument --timeout: '0' is not allowed: give a whole number "
        "of at least 1"
    ),
    "cluster apply --values-files --all --parallel two": (
        "error: argument --parallel: 'two' is not allowed: give a whole "
        "number of at least 1"
    ),
    "cluster apply --values-files --all --from 24:01 --to 04:00": (
        "error: argument --from: '24:01' is not a time of the day: give one "
        "such as 22:00"
    ),
    "cluster apply --cloud-settings --allow-replacement --all": (
        "--allow-replacement goes with --chart-version, --values-files or "
        "--label"
    ),
    "cluster apply --values-files --only-new-ca --all": (
        "--only-new-ca goes with --cloud-settings"
    ),
    "cluster apply --chart-version nonsense --all": (
        "error: argument --chart-version: 'nonsense' is not a version"
    ),
    "cluster apply --label =x --all": (
        "error: argument --label: give NAME=VALUE, or NAME alone. It is '=x'"
    ),
    "cluster credentials --all": (
        "--all and --project need --invalid, or --before TIME: which "
        "credentials are to be replaced?"
    ),
    "cluster credentials web --before yesterday": (
        "error: argument --before: 'yesterday' is not a time: give one such "
        "as 2026-11-22T23:30"
    ),
    "cluster credentials web --os-cloud a --service-user": (
        "error: argument --service-user: not allowed with argument --os-cloud"
    ),
    "cluster rollback web": _NO_WEB,
    "management-cluster accept --lost --all": (
        "--lost takes names or UUIDs of clusters, not --all or --project"
    ),
    "management-cluster accept --all --management-cluster east": _NO_EAST,
    "management-cluster freeze": (
        "error: the following arguments are required: --reason"
    ),
    "management-cluster permissions kube-system": (
        "NAMESPACE kube-system: allowed are namespaces of projects, "
        "magnum-PROJECT"
    ),
    "management-cluster permissions magnum-capi-helm": (
        "NAMESPACE magnum-capi-helm: allowed are namespaces of projects, "
        "magnum-PROJECT"
    ),
    "management-cluster permissions '--namespace-prefix=a|b'": (
        "--namespace-prefix a|b: allowed are lowercase letters, digits and "
        "hyphens between them"
    ),
    "metrics --output metrics.txt": (
        "--output 'metrics.txt' is not read by node_exporter: give a file "
        "whose name ends with .prom"
    ),
}

#: Words -> exit code, output and error output.
_PRINTING: dict[str, tuple[int, str, str]] = {
    "chart": (
        2,
        "magnum-capi-helm: 'chart' is not a magnum-capi-helm command. "
        "See 'magnum-capi-helm --help'.\n"
        "Did you mean one of these?\n"
        "  chart fetch\n  chart list\n  chart mirror\n",
        "",
    ),
    "clustre list": (
        2,
        "magnum-capi-helm: 'clustre list' is not a magnum-capi-helm command. "
        "See 'magnum-capi-helm --help'.\n"
        "Did you mean one of these?\n"
        "  cluster apply\n  cluster credentials\n  cluster hibernate\n"
        "  cluster rollback\n  cluster upgrade\n  cluster wake\n",
        "",
    ),
    "rollback": (
        2,
        "magnum-capi-helm: 'rollback' is not a magnum-capi-helm command. "
        "See 'magnum-capi-helm --help'.\n"
        "Did you mean one of these?\n"
        "  cluster rollback\n",
        "",
    ),
    "list": (0, "", "there are no clusters\n"),
    "list -f json": (0, "[]\n", "there are no clusters\n"),
    "chart list": (0, "", "the chart store is empty\n"),
    "chart list -f json": (0, "[]\n", "the chart store is empty\n"),
    "cluster apply --values-files --all": (0, "", "no cluster was chosen\n"),
}


class WrongCommandsTest(base.FlowTestCase):
    """A conductor's host without clusters, templates and charts."""

    def setUp(self) -> None:
        super().setUp()
        self.helm.published = set()
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = home / "magnum.conf"
        self.file.touch()
        for name in ("COLUMNS", "CLIFF_MAX_TERM_WIDTH"):
            self.useFixture(fixtures.EnvironmentVariable(name, None))

    def program(self, words: str) -> tuple[int, str, str]:
        app = command_case.application()
        app.stdout, app.stderr = io.StringIO(), io.StringIO()
        argv = ["--config-file", str(self.file), *shlex.split(words)]
        # argparse knows no other place for usage errors. main() filters, too.
        with contextlib.redirect_stderr(app.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                code = app.run(argv)
            except SystemExit as ended:
                code = int(ended.code or 0)
        return code, app.stdout.getvalue(), app.stderr.getvalue()

    def test_each_wrong_command_line_says_its_reason_last(self) -> None:
        names = command_case.declared()
        for words, text in _FAILING.items():
            code, out, err = self.program(words)
            if text.startswith("error:"):
                name = max(filter(words.startswith, names), key=len)
                expected = (2, "", f"magnum-capi-helm {name}: {text}")
                err = err.rstrip("\n").rpartition("\n")[2]
            else:
                expected = (1, "", f"{text}\n")
            self.assertEqual(expected, (code, out, err), words)

    def test_groups_and_empty_lists_say_their_contents(self) -> None:
        found = {words: self.program(words) for words in _PRINTING}
        self.assertEqual(_PRINTING, found)

    def test_no_command_prints_the_help(self) -> None:
        code, out, err = self.program("")
        self.assertEqual((0, ""), (code, err))
        self.assertEqual(self.program("--help")[1], out)
        self.assertIn("\n  cluster apply ", out)

    def test_no_piped_line_has_more_than_120_columns(self) -> None:
        lines = []
        for words in (*_PRINTING, "check"):
            lines += self.program(words)[1].splitlines()
        self.assertEqual(120, max(map(len, lines)))

    def test_a_missing_sqlite_file_is_named_and_not_made(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / "none"
        conf.CONF.set_override("connection", f"sqlite:///{path}", "database")
        text = f"there is no file {path}: set [database] connection"
        self.assertEqual((1, "", f"{text}\n"), self.program("list"))
        code, out, _ = self.program("check -f json")
        self.assertEqual(1, code)
        self.assertIn(text, out)
        self.assertFalse(path.exists())
