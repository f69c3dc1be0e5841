# SPDX-License-Identifier: Apache-2.0

"""What has gone wrong elsewhere, and the tests that it can't go wrong here.

Each trap is followed by the tests that show the right behaviour, named from
the package of the tests on.
"""

from __future__ import annotations

from magnum_capi_helm.tests.unit.known_traps import defects
from magnum_capi_helm.tests.unit.known_traps import surroundings

ALL = defects.DEFECTS | defects.PACE | surroundings.CHART | surroundings.MAGNUM
