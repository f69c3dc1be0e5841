# SPDX-License-Identifier: Apache-2.0

"""Labels that have no effect are accepted by default, and logged."""

from __future__ import annotations

import io
import pathlib
import types
from typing import Any

import fixtures
from magnum.common import exception
from oslotest import base as oslotest_base

from magnum_capi_helm.cli import main
from magnum_capi_helm.cli import preview
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

TAG = (
    "label calico_tag has no effect: the label calico_chart_version or "
    "cilium_chart_version chooses the version. It is 'v3.26.4'"
)
PASSWORD = (
    "label grafana_admin_passwd has no effect: all users of a project see "
    "the labels of its clusters; Grafana's password is in a Secret of the "
    "cluster. It is ***"
)


class WithoutEffectTest(oslotest_base.BaseTestCase):
    def refused(
        self,
        template: dict[str, str],
        own: dict[str, str] | None = None,
        group: dict[str, str] | None = None,
    ) -> str:
        option = ("unknown_labels", "reject", "capi_helm")
        conf.CONF.set_override(*option)
        self.addCleanup(conf.CONF.clear_override, option[0], option[2])
        made = types.SimpleNamespace(labels=template)
        row = types.SimpleNamespace(
            uuid="u", cluster_template=made, labels=own
        )
        rows = [row]
        check: Any = requested_labels.check_unknown
        if group:
            check = requested_labels.check_unknown_of_group
            rows.append(types.SimpleNamespace(labels=group))
        return str(self.assertRaises(errors.InvalidInput, check, *rows))

    def test_an_unknown_label_is_quoted_with_the_nearest_one(self) -> None:
        for name, text in (
            ("a\nb", "label 'a\\nb' is not known"),
            (
                "node_label",
                "label 'node_label' is not known (did you mean node_labels?)",
            ),
            # The nearest one is about something else.
            (
                "api_server_load_balancer_enabled",
                "label 'api_server_load_balancer_enabled' is not known",
            ),
            ("y" * 200, f"label '{'y' * 95}...' is not known"),
        ):
            self.assertEqual(text, self.refused({name: "x"}))

    def test_only_missed_labels_of_other_drivers_are_named(self) -> None:
        found = requested_labels.without_effect(
            {
                # Another cluster with the Heat driver.
                "calico_tag": "v3\n26",
                "grafana_admin_passwd": "s3cret",
                # The same cluster: the chart does it anyway.
                "cloud_provider_enabled": "True",
                # It concerns nothing that this driver makes.
                "heat_container_agent_tag": "v1",
                "node_labels": "a=b",
            }
        )
        self.assertEqual(["calico_tag", "grafana_admin_passwd"], sorted(found))
        self.assertTrue(found["calico_tag"].endswith("It is 'v3\\n26'"))
        self.assertEqual(PASSWORD, found["grafana_admin_passwd"])

    def test_a_label_is_misplaced_where_it_is_not_read(self) -> None:
        own = {
            "capi_helm_chart_version": "0.27.0",
            "calico_ipv4pool": "10.0.0.0/16",
            "node_labels": "a=b",
        }
        template = (
            "label capi_helm_chart_version is read from the template alone"
        )
        pool = (
            "label calico_ipv4pool is read from the template and the cluster "
            "alone"
        )
        self.assertEqual(template, self.refused({}, own))
        self.assertEqual(f"{pool}; {template}", self.refused({}, {}, own))


class CreateTest(base.FlowTestCase):
    def test_a_warning_names_cluster_labels_values_and_reasons(self) -> None:
        self.create(
            {"labels": {"calico_tag": "v3.26.4", "use_podman": "true"}},
            labels={
                "calico_tag": "v3.26.4",
                "grafana_admin_passwd": "s3cret",
                "selinux_mode": "",
            },
        )
        self.assertEqual(
            [f"WARNING cluster {base.UUID}: {TAG}; {PASSWORD}"],
            self.warnings(),
        )
        self.assertEqual("CREATE_IN_PROGRESS", self.row().status)

    def test_deprecated_labels_are_logged_once(self) -> None:
        given = {
            "ingress_controller": "NGINX",
            "kube_dashboard_enabled": "false",
        }
        self.create({"labels": {"ingress_controller": "NGINX"}}, labels=given)
        warnings = [
            f"WARNING cluster {base.UUID}: label ingress_controller is "
            "deprecated: nginx gets no security fixes; give traefik",
            f"WARNING cluster {base.UUID}: label kube_dashboard_enabled is "
            "deprecated: charts from 0.20.0 on have no dashboard",
        ]
        self.assertEqual(warnings, sorted(self.warnings()))
        self.capi.settle()
        self.poll()
        self.resize(3)
        self.poll()
        self.assertEqual(warnings, sorted(self.warnings()))


class UpgradeTest(upgrading.UpgradeTestCase):
    def test_the_new_template_is_looked_at(self) -> None:
        new = self.template(
            image_id="ubuntu-1.35", labels={"calico_tag": "v3.26.4"}
        )
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        self.assertEqual(TAG, self.refused(new))
        conf.CONF.clear_override("unknown_labels", "capi_helm")
        self.upgrade(new)
        self.assertIn(f"WARNING cluster {base.UUID}: {TAG}", self.warnings())


class ValuesTest(base.FlowTestCase):
    """``magnum-capi-helm values`` names them."""

    def values(self, *argv: str) -> None:
        app = main.Application()
        app.stdout = io.StringIO()
        command = preview.Values(app, None)
        command.run(command.get_parser("values").parse_args(list(argv)))
        self.assertIn("kubernetesVersion", app.stdout.getvalue())

    def test_the_command_names_labels_without_effect(self) -> None:
        given = {"calico_tag": "v3.26.4"}
        made = self.created({"labels": given}, labels=given)
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        self.values(base.UUID)
        warning = f"WARNING cluster {base.UUID}: {TAG}"
        self.assertEqual([warning] * 2, self.warnings())
        conf.CONF.clear_override("unknown_labels", "capi_helm")
        self.values("--template", made.cluster_template.uuid)
        self.assertEqual(3, len(self.warnings()))
        self.assertTrue(self.warnings()[-1].endswith(TAG))


class NodegroupTest(base.NodegroupTestCase):
    def test_its_own_labels_are_looked_at(self) -> None:
        given = {"calico_tag": "v3.26.4"}
        self.add("gpu", labels=given)
        self.assertIn("gpu", self.groups())
        warning = f"WARNING cluster {base.UUID}: {TAG}"
        self.assertEqual([warning], self.warnings())
        conf.CONF.set_override("unknown_labels", "reject", "capi_helm")
        wrong = exception.InvalidParameterValue
        error = self.assertRaises(wrong, self.add, "more", labels=given)
        self.assertEqual(TAG, str(error))


class ChartTest(base.FlowTestCase):
    def test_the_chart_is_the_templates_choice_alone(self) -> None:
        row = self.saved(
            {"labels": {"capi_helm_chart_version": "0.26.1"}},
            labels={"capi_helm_chart_version": "0.1.0"},
        )
        chart = requested_labels.wanted_chart(
            requested_labels.cluster_labels(row)
        )
        self.assertEqual("0.26.1", chart.version)
        self.assertEqual("openstack-cluster", chart.name)

    def test_a_chart_at_a_path_has_the_version_it_has(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / "Chart.yaml").write_text("name: mine\nversion: 0.23.0\n")
        for name, value in (
            ("helm_chart_name", str(folder)),
            ("helm_chart_repo", ""),
        ):
            conf.CONF.set_override(name, value, "capi_helm")
        self.assertEqual("0.23.0", requested_labels.default_chart().version)
        conf.CONF.set_override(
            "helm_chart_name", str(folder / "gone"), "capi_helm"
        )
        self.assertEqual("0.27.0", requested_labels.default_chart().version)
