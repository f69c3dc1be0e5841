# SPDX-License-Identifier: Apache-2.0

"""Values of the chart, and what can be computed from them.

Nothing here does I/O.
"""
