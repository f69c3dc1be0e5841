# SPDX-License-Identifier: Apache-2.0

"""Tests of programs for the shell, of pages, and of the whole checkout."""
