# SPDX-License-Identifier: Apache-2.0

"""What is derived from options: interface, labels' defaults, runs of helm."""

from __future__ import annotations

import os
import pathlib
from unittest import mock

import fixtures
from oslo_config import fixture
from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels


class InterfaceTest(base.BaseTestCase):
    def test_both_spellings_of_an_interface(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        for given in ("internal", "internalURL"):
            config.config(group="capi_helm", app_cred_interface_type=given)
            self.assertEqual("internal", conf.interface())


class LabelDefaultsTest(base.BaseTestCase):
    def test_every_cluster_label_is_an_option_and_no_other(self) -> None:
        self.assertEqual(
            {
                label.name
                for label in features.LABELS
                if label.scope is not labels.Scope.TEMPLATE
            },
            set(conf.label_defaults()),
        )

    def test_the_operators_option_is_the_default_of_the_label(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        config.config(group="capi_helm_cluster_labels", octavia_provider="ovn")
        self.assertEqual("ovn", conf.label_defaults()["octavia_provider"])


class ChartStoreTest(base.BaseTestCase):
    def test_only_the_operator_sets_it(self) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        self.assertFalse(conf.chart_store_is_set())
        config.config(state_path="/var/lib/magnum")
        self.assertFalse(conf.chart_store_is_set())
        config.load_raw_values(
            group="capi_helm", chart_store="/var/lib/charts"
        )
        self.assertTrue(conf.chart_store_is_set())

    def test_a_conductor_that_can_write_nothing_else_uses_temporary_space(
        self,
    ) -> None:
        config = self.useFixture(fixture.Config(conf.CONF))
        home = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.MonkeyPatch("tempfile.tempdir", home))
        self.addCleanup(runtime.reset)
        # No directory can be made below a file.
        config.config(state_path=f"{__file__}/magnum")
        self.assertEqual(
            pathlib.Path(home, f"magnum-capi-helm-{os.geteuid()}"),
            runtime.build().charts.place(),
        )
        store = f"{__file__}/charts"
        config.load_raw_values(group="capi_helm", chart_store=store)
        error = self.assertRaises(
            errors.NotConfigured, runtime.build().charts.place
        )
        self.assertIn(f"the chart store {store} can't be written", str(error))


class HelmProcessesTest(base.BaseTestCase):
    """How many there are at once, on hosts and with workers of all kinds."""

    def test_each_worker_has_its_share_of_the_processors(self) -> None:
        for configured, processors, workers, expected in (
            (0, 2, None, 2),
            (0, 64, None, 2),
            (0, 1, 1, 2),
            (0, 8, 1, 8),
            (0, 8, 2, 4),
            (1, 8, 1, 1),
            (20, 2, None, 20),
        ):
            config = self.useFixture(fixture.Config(conf.CONF))
            config.config(group="capi_helm", max_helm_processes=configured)
            config.config(group="conductor", workers=workers)
            host = mock.patch.object(
                os, "sched_getaffinity", return_value=range(processors)
            )
            with host:
                self.assertEqual(expected, conf.helm_processes())
