# SPDX-License-Identifier: Apache-2.0

"""Options: which management clusters there are, and how each is reached."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import fixtures
from oslo_config import fixture
from oslotest import base

from magnum_capi_helm.config import conf
from magnum_capi_helm.config import options
from magnum_capi_helm.model import errors


class ManagementClustersTest(base.BaseTestCase):
    def _found(
        self, names: list[str], **groups: dict[str, Any]
    ) -> tuple[options.ManagementCluster, ...]:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm", management_clusters=names)
        for name, chosen in groups.items():
            group = f"capi_helm_management_{name}"
            config.register_opts(
                options.MANAGEMENT_CLUSTER_OPTIONS, group=group
            )
            config.config(group=group, **chosen)
        return conf.management_clusters()

    def test_without_a_list_there_is_one_without_a_name(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm", kubeconfig_file="/etc/kube")
        self.assertEqual(
            (
                options.ManagementCluster(
                    "", "/etc/kube", "[capi_helm] kubeconfig_file"
                ),
            ),
            conf.management_clusters(),
        )

    def test_each_name_has_its_group(self) -> None:
        found = self._found(
            ["east", "west-2"],
            east={
                "kubeconfig_file": "/e",
                "weight": 50,
                "projects": ["p1"],
                "availability_zones": ["az1", "az2"],
                "only_labelled": True,
            },
            **{"west-2": {"kubeconfig_file": "/w"}},
        )
        self.assertEqual(
            (
                options.ManagementCluster(
                    name="east",
                    kubeconfig="/e",
                    option="[capi_helm_management_east] kubeconfig_file",
                    weight=50,
                    projects=("p1",),
                    zones=("az1", "az2"),
                    only_labelled=True,
                ),
                options.ManagementCluster(
                    name="west-2",
                    kubeconfig="/w",
                    option="[capi_helm_management_west-2] kubeconfig_file",
                ),
            ),
            found,
        )

    def test_what_is_missing_or_wrong_is_named(self) -> None:
        kube = {"kubeconfig_file": "/k"}
        rows: list[tuple[list[str], dict[str, Any], str]] = [
            (
                ["a", "b"],
                {"a": kube},
                "[capi_helm] management_clusters names b: set "
                "[capi_helm_management_b] kubeconfig_file to its kubeconfig",
            ),
            (
                ["a", "a"],
                {"a": kube},
                "[capi_helm] management_clusters has 'a': give each "
                "management cluster a name of its own, of lower case "
                "letters, digits, - and _",
            ),
            (
                ["A b"],
                {},
                "[capi_helm] management_clusters has 'A b': give each "
                "management cluster a name of its own, of lower case "
                "letters, digits, - and _",
            ),
        ]
        for names, groups, expected in rows:
            error = self.assertRaises(
                errors.NotConfigured, self._found, names, **groups
            )
            self.assertEqual(expected, str(error))

    def test_a_weight_below_0_is_refused(self) -> None:
        directory = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(directory, "magnum.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                "[capi_helm]\nmanagement_clusters = a\n"
                "[capi_helm_management_a]\nkubeconfig_file = /k\nweight = -1\n"
            )
        self.useFixture(fixture.Config(conf.CONF))
        conf.CONF(["--config-file", path], project="magnum")
        error = self.assertRaises(
            errors.NotConfigured, conf.management_clusters
        )
        self.assertIn("weight", str(error))


class KubeconfigPathTest(base.BaseTestCase):
    def _path(self, configured: str, environment: dict[str, str]) -> str:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm", kubeconfig_file=configured)
        with mock.patch.dict(os.environ, {"HOME": "/home/magnum"}):
            os.environ.pop("KUBECONFIG", None)
            os.environ.update(environment)
            return conf.kubeconfig_path()

    def test_option_before_environment_before_home(self) -> None:
        environment = {"KUBECONFIG": "/env/one"}
        self.assertEqual(
            ["/etc/kube", "/env/one", "/home/magnum/.kube/config"],
            [
                self._path("/etc/kube", environment),
                self._path("", environment),
                self._path("", {}),
            ],
        )

    def test_home_of_the_option_is_expanded(self) -> None:
        self.assertEqual("/home/magnum/kube", self._path("~/kube", {}))

    def test_of_several_in_the_environment_the_first_counts(self) -> None:
        several = {"KUBECONFIG": "/env/one:/env/two"}
        self.assertEqual("/env/one", self._path("", several))
        self.assertEqual(
            "/home/magnum/.kube/config", self._path("", {"KUBECONFIG": ""})
        )
