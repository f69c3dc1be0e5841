# SPDX-License-Identifier: Apache-2.0

"""Whatever tenants write changes nothing outside their own values.

``FUZZ_INPUTS`` is how many requests are made up (tox -e fuzz: 10,000),
``FUZZ_SEED`` which ones.
"""

from __future__ import annotations

import collections
import os
import pathlib
from typing import Any

import fixtures
from oslotest import base
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import offline
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.fakes import sample_cloud
from magnum_capi_helm.tests.unit.lifecycle import base as flows
from magnum_capi_helm.tests.unit.lifecycle import hostile_inputs
from magnum_capi_helm.tests.unit.lifecycle import hostile_invariants

_INPUTS = int(os.environ.get("FUZZ_INPUTS") or 120)
_SEED = int(os.environ.get("FUZZ_SEED") or 1)
_PROFILES = pathlib.Path(data.__file__).parent / "profiles"


class HostileTenantsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        conf.CONF.set_override(
            "values_profile_dir", str(_PROFILES), "capi_helm"
        )
        made = plane.Plane(conf.CONF.capi_helm.chart_store)
        flows.install(self, made.runtime())
        folder = self.useFixture(fixtures.TempDir()).path
        self.file = pathlib.Path(folder) / "request.yaml"
        self.cloud: Any = sample_cloud.cloud(None)

    def _values(self, request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The release's name, and the values that helm would get."""
        self.file.write_text(yaml.safe_dump(request))
        row = offline.read(str(self.file))
        row.project_id = "p1"
        release = names.release(row.name, row.uuid)
        found = resolve_cluster.resolve(row, self.cloud, release)
        return release, operator_files.complete(
            runtime.get(), found, values.checked(found)
        )

    def test_no_request_reaches_beyond_its_own_values(self) -> None:
        outcomes: collections.Counter[str] = collections.Counter()
        wrong = []
        for request in hostile_inputs.requests(_INPUTS, _SEED):
            try:
                release, values = self._values(request.hostile)
            except errors.InvalidInput as error:
                outcomes["refused"] += 1
                if len(str(error)) > 2000 or not str(error).isprintable():
                    wrong.append((request.where, str(error)))
                continue
            outcomes["taken"] += 1
            _, harmless = self._values(request.harmless)
            wrong += [
                (request.where, problem)
                for problem in hostile_invariants.problems(
                    release, values, harmless, request.where
                )
            ]
        print(f"{_INPUTS} hostile requests: {dict(outcomes)}")
        self.assertEqual([], wrong)
        self.assertGreater(min(outcomes.values()), _INPUTS // 20)
