# SPDX-License-Identifier: Apache-2.0

"""Tests of less common operations, side by side like those above.

``lab test --all`` runs them.
"""
