# SPDX-License-Identifier: Apache-2.0

"""How many machines a control plane may have."""

from __future__ import annotations

from magnum.common import exception
from oslotest import base

from magnum_capi_helm import driver


class SizeTest(base.BaseTestCase):
    """As magnum-api asks the driver, without any clients."""

    def test_odd_numbers_up_to_seven_are_accepted(self) -> None:
        made = driver.Driver()
        for count in (1, 3, 5, 7):
            made.validate_master_size(count)
            made.validate_master_resize(count)

    def test_all_others_are_refused_with_those_that_are_allowed(self) -> None:
        made = driver.Driver()
        for count in (-1, 0, 2, 4, 6, 8, 9):
            for check, field in (
                (made.validate_master_size, "master_count"),
                (made.validate_master_resize, "node_count"),
            ):
                error = self.assertRaises(
                    exception.MasterNGSizeInvalid, check, count
                )
                self.assertEqual(
                    f"{field}={count}: a control plane, whose machines run "
                    "etcd, has an odd number of machines; give 1, 3, 5 or 7",
                    str(error),
                )
                self.assertEqual(400, error.code)
