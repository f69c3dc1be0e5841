# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows: reads, writes and queries."""
