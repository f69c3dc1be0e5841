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
"""What becomes of each label of the Heat driver and magnum-cluster-api."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.features import ignored
from magnum_capi_helm.tests import other_drivers

_DECLARED = other_drivers.DECLARED
_IGNORED = other_drivers.IGNORED
_HEAT = other_drivers.HEAT
_MAGNUM_CLUSTER_API = other_drivers.MAGNUM_CLUSTER_API


def becomes(name: str) -> list[str]:
    """Everything that the label is here; it has to be one thing."""
    found = [_DECLARED for label in features.LABELS if name == label.name]
    found += [
        f"alias of {label.name}"
        for label in features.LABELS
        if name in label.aliases
    ]
    return [
        *found,
        *([_IGNORED] if name in ignored.LABELS else []),
    ]


class OtherDriversTest(base.BaseTestCase):
    def test_each_label_of_the_heat_driver_is_one_thing(self) -> None:
        self.assertEqual(
            {name: [expected] for name, expected in _HEAT.items()},
            {name: becomes(name) for name in _HEAT},
        )

    def test_each_label_of_magnum_cluster_api_is_one_thing(self) -> None:
        self.assertEqual(
            {
                name: [expected]
                for name, expected in _MAGNUM_CLUSTER_API.items()
            },
            {name: becomes(name) for name in _MAGNUM_CLUSTER_API},
        )

    def test_only_labels_of_these_drivers_are_ignored(self) -> None:
        # Any other is a label that somebody has misspelt.
        strange = set(ignored.LABELS) - set(_HEAT) - set(_MAGNUM_CLUSTER_API)
        self.assertEqual(set(), strange)

    def test_each_is_ignored_for_a_reason(self) -> None:
        for name, why in ignored.LABELS.items():
            self.assertTrue(why.endswith("."), f"{name}: {why}")
