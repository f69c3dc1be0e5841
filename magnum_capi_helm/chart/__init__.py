# SPDX-License-Identifier: Apache-2.0

"""Values of the chart, and decisions that need values alone.

Nothing here does I/O.
"""
