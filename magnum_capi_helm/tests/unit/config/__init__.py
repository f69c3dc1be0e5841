# SPDX-License-Identifier: Apache-2.0

import gc

# Magnum and its libraries leave a large heap behind, which the collector
# would walk again and again: a fifth of the time of these tests.
gc.set_threshold(200_000, 50, 50)
