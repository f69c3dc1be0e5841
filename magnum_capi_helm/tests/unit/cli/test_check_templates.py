# SPDX-License-Identifier: Apache-2.0

"""The line of ``check`` about templates with labels without effect."""

from __future__ import annotations

import json
from typing import Any

import fixtures
from magnum import objects
from sqlalchemy import exc

from magnum_capi_helm.cli import check
from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.cli import command_case


class TemplatesTest(command_case.CommandCase):
    def setUp(self) -> None:
        super().setUp()
        #: The cluster templates in Magnum's database.
        self.templates: list[Any] = []
        self.useFixture(
            fixtures.MockPatchObject(
                objects.ClusterTemplate, "list", lambda _: self.templates
            )
        )

    def line(self) -> tuple[str, str, int]:
        """State and detail of the line, and the exit code."""
        code = self.run_command(check.Check, "-f", "json")
        found = {each["Check"]: each for each in json.loads(self.printed())}
        line = found["templates"]
        return line["State"], line["Detail"], code

    def test_templates_and_labels_are_listed(self) -> None:
        lost = {"selinux_mode": "permissive", "calico_tag": "v3.26.4"}
        template = command_case.template
        self.templates += [
            template("good", labels={"boot_volume_size": "20"}),
            # Magnum goes by the name alone where a template has one.
            template(
                "heat",
                cluster_distro="fedora-coreos",
                labels={**lost, "use_podman": "true"},
            ),
            template("odd", driver=None, labels={"boot_volume_sise": "20"}),
            template("theirs", driver="k8s_cluster_api", labels=lost),
            template(
                "atomic",
                driver=None,
                cluster_distro="fedora-coreos",
                labels=lost,
            ),
            template("bare", driver=None, server_type="bm", labels=lost),
        ]
        self.assertEqual(
            (
                "ok",
                "labels without effect: template 'heat' (calico_tag, "
                "selinux_mode); template 'odd' (boot_volume_sise)",
                0,
            ),
            self.line(),
        )

    def test_a_template_whose_clusters_are_refused_fails_the_check(
        self,
    ) -> None:
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        heat = command_case.template("heat", labels={"calico_tag": "v3"})
        self.templates.append(heat)
        self.assertEqual(
            (
                "failed",
                "[capi_helm] unknown_labels = reject refuses clusters of "
                "templates with labels that have no effect: template 'heat' "
                "(calico_tag)",
                1,
            ),
            self.line(),
        )

    def test_without_such_labels(self) -> None:
        self.templates.append(command_case.template("good"))
        self.assertEqual(("ok", "labels without effect: none", 0), self.line())

    def test_a_database_that_can_not_be_read(self) -> None:
        # A command on another host than Magnum's may have no database.
        secret = "mysql://magnum:s3cret@db"
        self.useFixture(
            fixtures.MockPatchObject(
                objects.ClusterTemplate,
                "list",
                side_effect=exc.OperationalError(secret, {}, OSError()),
            )
        )
        state, detail, code = self.line()
        self.assertEqual(("unknown", 0), (state, code))
        self.assertIn("Magnum's database can't be read", detail)
        self.assertNotIn("s3cret", self.printed())
