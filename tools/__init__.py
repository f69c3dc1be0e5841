# SPDX-License-Identifier: Apache-2.0

"""Scripts for operators, and tools for a release.

``stestr run --test-path tools`` runs the quick tests of all folders.
"""

from __future__ import annotations

import pathlib
import unittest

_CHECKOUT = pathlib.Path(__file__).parents[1]


def load_tests(
    loader: unittest.TestLoader, _found: unittest.TestSuite, pattern: str
) -> unittest.TestSuite:
    """Return the tests that need no lab; unittest calls it."""
    folders = ("magnum_capi_helm/tests/unit", "tools/tests")
    return unittest.TestSuite(
        loader.discover(str(_CHECKOUT / each), pattern, str(_CHECKOUT))
        for each in (*folders, "lab/tests", "bench/tests")
    )
