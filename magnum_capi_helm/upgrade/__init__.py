# SPDX-License-Identifier: Apache-2.0

"""Upgrade of a cluster or of one nodegroup, and the way back."""
