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

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.management import costs


class CostsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.costs = costs.Costs(lambda: self.now)

    def _from(self) -> int:
        """The fewest releases for which all of them are looked at."""
        return next(
            number
            for number in range(1, 10_000)
            if self.costs.all_is_cheaper(number)
        )

    def test_before_anything_was_measured_many_are_worth_a_try(self) -> None:
        self.assertEqual(200, self._from())

    def test_where_all_are_few_a_few_are_all(self) -> None:
        self.costs.took(0.05, 300, True)
        self.assertEqual(10, self._from())

    def test_the_more_there_are_the_longer_only_some_are_read(self) -> None:
        found = []
        for seconds in (0.5, 1.0, 4.0):
            self.costs.took(seconds, 1000, True)
            found.append(self._from())
        self.assertEqual([301, 601, 2450], found)

    def test_what_some_cost_is_learned_from_looks_at_some(self) -> None:
        self.costs.took(1.0, 1000, True)
        for _ in range(30):
            self.costs.took(0.01, 1, False)
            self.costs.took(0.51, 100, False)
        # 10 ms for each hundred, and 5 ms for each.
        self.assertEqual(157, self._from())

    def test_a_measurement_is_not_believed_for_ever(self) -> None:
        self.costs.took(100.0, 1000, True)
        self.assertFalse(self.costs.all_is_cheaper(1000))
        self.now += 601
        self.assertTrue(self.costs.all_is_cheaper(1000))
