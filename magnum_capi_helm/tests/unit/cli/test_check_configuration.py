# SPDX-License-Identifier: Apache-2.0

"""``check``: options, and the files that they name."""

from __future__ import annotations

import json
import pathlib

import fixtures

from magnum_capi_helm import runtime
from magnum_capi_helm.cli import check
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.cli import command_case

_GONE = "/gone.yaml: No such file or directory"
_NO_FILE = (
    "no configuration file was found, so all options have their defaults: "
    "give --config-file"
)


class ConfigurationTest(command_case.CommandCase):
    def checked(self) -> dict[str, tuple[str, str]]:
        """State and detail by check."""
        self.out.truncate(0)
        self.out.seek(0)
        self.run_command(check.Check, "-f", "json")
        return {
            row["Check"]: (row["State"], row["Detail"])
            for row in json.loads(self.printed())
        }

    def read(self, text: str) -> str:
        """Have the options of such a file; the path of it."""
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = home / "magnum.conf"
        path.write_text(text)
        conf.CONF([], project="magnum", default_config_files=[str(path)])
        return str(path)

    def test_without_a_configuration_file_nothing_is_ok(self) -> None:
        conf.CONF([], project="magnum", default_config_files=[])
        self.assertEqual(("failed", _NO_FILE), self.checked()["configuration"])

    def test_a_directory_of_configuration_files_is_one(self) -> None:
        home = self.useFixture(fixtures.TempDir()).path
        conf.CONF(["--config-dir", home], default_config_files=[])
        self.assertEqual(("ok", home), self.checked()["configuration"])

    def test_the_files_of_the_options_are_read_as_a_create_does(self) -> None:
        [broken] = self.create_tempfiles([("broken", "- a list\n")])
        rows: list[tuple[str, object, str]] = [
            ("values_files", ["/gone.yaml"], f" {_GONE}"),
            ("values_files", [broken], f" {broken}: must be a mapping"),
            ("trusted_ca_files", ["/gone.yaml"], f" {_GONE}"),
            ("audit_policy_file", "/gone.yaml", f" {_GONE}"),
            ("registry_auth_file", "/gone.yaml", f" {_GONE}"),
            ("app_cred_access_rules", "/gone.yaml", f" {_GONE}"),
            (
                "registry_mirror",
                "https://m",
                "=https://m: give a registry such as "
                "mirror.example.org:5000/all, without https://",
            ),
        ]
        for name, value, words in rows:
            with self.subTest(f"{name} {value}"):
                conf.CONF.set_override(name, value, "capi_helm")
                self.assertEqual(
                    ("failed", f"[capi_helm] {name}{words}"),
                    self.checked()["configuration"],
                )
                conf.CONF.clear_override(name, "capi_helm")
        self.assertEqual("ok", self.checked()["configuration"][0])

    def test_all_that_is_wrong_is_told_at_once(self) -> None:
        for name in ("app_cred_access_rules", "audit_policy_file"):
            conf.CONF.set_override(name, "/gone.yaml", "capi_helm")
        self.assertEqual(
            f"[capi_helm] audit_policy_file {_GONE}; "
            f"[capi_helm] app_cred_access_rules {_GONE}",
            self.checked()["configuration"][1],
        )

    def test_a_default_label_that_is_not_allowed_is_named(self) -> None:
        self.read("[capi_helm_cluster_labels]\nboot_volume_size = abc\n")
        found = self.checked()
        self.assertEqual(
            (
                "failed",
                "[capi_helm_cluster_labels] boot_volume_size: 'abc' is not a "
                "whole number",
            ),
            found["configuration"],
        )
        self.assertEqual("ok", found["management cluster"][0])

    def test_options_that_nothing_starts_with_are_the_only_trouble(
        self,
    ) -> None:
        self.read("[capi_helm]\nhelm_timeout = abc\n")
        runtime.reset()
        self.assertEqual(
            {
                "configuration": (
                    "failed",
                    "[capi_helm] helm_timeout: invalid literal for int() with "
                    "base 10: 'abc'",
                )
            },
            self.checked(),
        )

    def test_the_file_that_was_read_is_named(self) -> None:
        path = self.read("")
        self.assertEqual(("ok", path), self.checked()["configuration"])

    def test_an_unexpected_error_ends_one_check_alone(self) -> None:
        self.plane.management.kubeconfig = RuntimeError("two\nlines")
        found = self.checked()
        self.assertEqual(
            ("failed", "RuntimeError: two\\nlines"), found["kubeconfig"]
        )
        self.assertEqual("ok", found["helm"][0])
