# SPDX-License-Identifier: Apache-2.0

"""Programs for the shell, with what they run played, and others asked.

A fresh Python and promtool take seconds, which unit tests have not.
"""
