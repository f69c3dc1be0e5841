# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Magnum's API loads every driver: loading this one is light."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

from oslotest import base

_BASE = "from magnum.drivers.common import driver"
_DRIVER = "from magnum_capi_helm import driver; driver.Driver()"
_REPORT = "import json, sys; print(json.dumps(sorted(sys.modules)))"

#: What only talking to Kubernetes and running helm needs.
HEAVY = {"pykube", "pyhelm3", "pydantic", "pydantic_core"}


@functools.cache
def _loaded_by(code: str) -> frozenset[str]:
    """Modules that a fresh Python has loaded after ``code``."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{code}\n{_REPORT}"],
        check=True,
        capture_output=True,
        timeout=50,
    )
    return frozenset(json.loads(done.stdout.splitlines()[-1]))


class LightImportTest(base.BaseTestCase):
    def test_a_driver_needs_none_of_the_heavy_libraries(self) -> None:
        ours = _loaded_by(_DRIVER)
        self.assertIn("magnum_capi_helm.driver", ours)
        self.assertEqual(set(), ours & HEAVY)
        if "openstack" in ours:
            # Then Magnum itself must have loaded it.
            self.assertIn("openstack", _loaded_by(_BASE))

    def test_nothing_that_does_the_work_is_loaded_yet(self) -> None:
        ours = {
            name.removeprefix("magnum_capi_helm.")
            for name in _loaded_by(_DRIVER)
            if name.startswith("magnum_capi_helm.")
        }
        workers = ("changes", "cloud", "helm", "management", "operations")
        self.assertEqual(
            [], sorted(name for name in ours if name.startswith(workers))
        )
