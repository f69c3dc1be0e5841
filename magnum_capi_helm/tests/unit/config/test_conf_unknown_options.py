# SPDX-License-Identifier: Apache-2.0

"""Options that do not exist, in the log of a conductor."""

from __future__ import annotations

import pathlib

import fixtures

from magnum_capi_helm.config import conf
from magnum_capi_helm.tests.unit.lifecycle import base


class UnknownOptionsTest(base.FlowTestCase):
    def test_the_first_use_logs_each_misspelt_option_once(self) -> None:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = home / "magnum.conf"
        file.write_text(
            "[capi_helm]\nchart_stroe = /srv\n"
            "[capi_helm_cluster_labels]\nboot_volume_sise = 5\n"
        )
        conf.CONF([], project="magnum", default_config_files=[str(file)])
        # Commands that ran in this process before have raised its level.
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm.runtime"))
        self.create()
        self.poll()
        self.assertEqual(
            [
                "[capi_helm] has no option chart_stroe (did you mean "
                "chart_store?): what it sets has no effect",
                "[capi_helm_cluster_labels] has no option boot_volume_sise "
                "(did you mean boot_volume_size?): what it sets has no effect",
            ],
            log.output.splitlines(),
        )
