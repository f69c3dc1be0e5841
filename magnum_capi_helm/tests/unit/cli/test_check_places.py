# SPDX-License-Identifier: Apache-2.0

"""``check``: what it looks at where there are several management clusters."""

from __future__ import annotations

import json

from magnum_capi_helm.cli import check
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.cli import command_case


class CheckPlacesTest(command_case.CommandCase):
    def checked(self, *argv: str) -> tuple[int, list[tuple[str, str, str]]]:
        """Exit code; management cluster, check and state of each line."""
        code = self.run_command(check.Check, "-f", "json", *argv)
        return code, [
            (row["Management cluster"], row["Check"], row["State"])
            for row in json.loads(self.out.getvalue())
        ]

    def test_check_looks_at_each_of_several_management_clusters(self) -> None:
        planes = self.several()
        planes["b"].management.unreachable()
        code, found = self.checked()
        self.assertEqual(1, code)
        self.assertEqual(
            [
                ("a", "kubeconfig", "ok"),
                ("a", "management cluster", "ok"),
                ("a", "clock", "ok"),
                ("a", "maintenance", "ok"),
                ("a", "permissions", "ok"),
                ("a", "Cluster API", "ok"),
                ("a", "components", "ok"),
                ("b", "kubeconfig", "ok"),
                ("b", "management cluster", "failed"),
                ("b", "clock", "unknown"),
                ("b", "maintenance", "unknown"),
                ("b", "permissions", "unknown"),
                ("b", "Cluster API", "unknown"),
                ("b", "components", "unknown"),
                ("(all)", "configuration", "ok"),
                ("(all)", "database", "ok"),
                ("(all)", "driver", "ok"),
                ("(all)", "helm", "ok"),
                ("(all)", "chart", "ok"),
                ("(all)", "network drivers", "ok"),
                ("(all)", "templates", "ok"),
                ("(all)", "service user", "ok"),
                ("(all)", "certificates", "ok"),
                ("(all)", "delivery", "ok"),
            ],
            found,
        )

    def test_check_looks_at_one_of_several_if_it_is_told_to(self) -> None:
        planes = self.several()
        planes["b"].management.unreachable()
        code, found = self.checked("--management-cluster", "a")
        self.assertEqual(0, code)
        self.assertEqual({"a", "(all)"}, {where for where, _, _ in found})
        error = self.assertRaises(
            errors.NotConfigured, self.checked, "--management-cluster", "x"
        )
        self.assertEqual(
            "there is no management cluster 'x': give one of [capi_helm] "
            "management_clusters (a, b)",
            str(error),
        )

    def test_check_finds_two_names_of_one_management_cluster(self) -> None:
        planes = self.several()
        planes["b"].management.server = planes["a"].server
        code, found = self.checked()
        self.assertEqual(1, code)
        self.assertIn(("b", "management cluster", "failed"), found)
        self.assertIn("is configured as a as well", self.out.getvalue())
