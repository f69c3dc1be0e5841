# SPDX-License-Identifier: Apache-2.0

"""Cluster templates, and the values that they become."""
