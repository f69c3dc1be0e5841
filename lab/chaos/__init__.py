# SPDX-License-Identifier: Apache-2.0

"""Tests on the lab, with faults between Magnum and what it needs."""
