# SPDX-License-Identifier: Apache-2.0

"""The operator's commands: what they print, and how they exit."""

from __future__ import annotations

import json

import fixtures
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import management_cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.cli import entry_points

_NO_FILES = (
    "no configuration file was found, so all options have their defaults: "
    "give --config-file\n"
)


class CommandsTest(command_case.CommandCase):
    def program(self, *words: str) -> int:
        app = entry_points.application()
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

    def test_database_that_refuses_is_asked_once_despite_max_retries(
        self,
    ) -> None:
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

    def test_a_usage_error_is_told_before_the_configuration_is_read(
        self,
    ) -> None:
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

    def test_permissions_are_printed_for_projects_alone(self) -> None:
        for words, problem in (
            (["kube-system"], "NAMESPACE kube-system: allowed are "),
            (["magnum-capi-helm"], "NAMESPACE magnum-capi-helm: allowed are "),
            (["--namespace-prefix=a|b"], "--namespace-prefix a|b: allowed "),
        ):
            error = self.assertRaises(
                errors.InvalidInput,
                self.run_command,
                management_cluster.Permissions,
                *words,
            )
            self.assertIn(problem, str(error))

    def test_a_fault_is_one_line_and_exit_code_1(self) -> None:
        self.plane.helm.published = set()
        [file] = conf.files()
        code = self.program("--config-file", file, "chart", "fetch", "0.1.0")
        self.assertEqual(1, code)
        self.assertRegex(
            self.err.getvalue(),
            r"\Athe chart is not .* openstack-cluster 0\.1\.0",
        )
        self.assertEqual(1, self.err.getvalue().count("\n"))

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
