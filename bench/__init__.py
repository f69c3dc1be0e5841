# SPDX-License-Identifier: Apache-2.0

"""Measures what polling costs, side by side with 1.4.0; see ``benchmarks``."""
