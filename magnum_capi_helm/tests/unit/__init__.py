# SPDX-License-Identifier: Apache-2.0

import gc
from importlib import metadata
import sys

if (
    "k8s_capi_helm_v1"
    not in metadata.entry_points(group="magnum.drivers").names
):
    sys.exit("Magnum does not find the driver: run `pip install -e .` first")

# Magnum and its libraries leave a large heap behind, which the collector
# would walk again and again: a fifth of the time of these tests.
gc.set_threshold(200_000, 50, 50)
