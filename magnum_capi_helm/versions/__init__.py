# SPDX-License-Identifier: Apache-2.0

"""Versions of charts and of what runs on a management cluster."""
